"""How many items a minute the orchestrator brings from filed to done when agents take no time."""

import time
from pathlib import Path

from figures import Figure, Part
from ground import installation, make_repository, settings_below
from instant import instant_producers
from road import TITLE, arrival, working

RATE = 60.0
PROJECTS = 4
AT_ONCE = 4


async def measure(root: Path, items: int) -> Part:
    """File ``items`` items over several projects at once: within a project they go one after the other."""
    repositories = {f"flow{n}": make_repository(root / f"upstream{n}") for n in range(PROJECTS)}
    settings = settings_below(root / "home", max_concurrency=AT_ONCE)
    async with installation(settings, repositories, producers=instant_producers) as app, working(app):
        names = list(repositories)
        began = app.clock.now()
        burnt = time.process_time()
        filed = [
            await app.desk.file_item(names[number % PROJECTS], TITLE, by="bench") for number in range(items)
        ]
        ended = [await arrival(app, accepted.item) for accepted in filed if accepted.item is not None]
        minutes = (max(ended) - began).total_seconds() / 60
        burnt = time.process_time() - burnt
    part = Part("Items a minute with instant agents")
    part.notes.append(f"{items} items over {PROJECTS} projects, ORCH_MAX_CONCURRENCY={AT_ONCE}, one process")
    costs = f"{burnt / items * 1000:.0f} ms of our own CPU an item, the rest are git and test processes"
    part.add(Figure("items a minute", len(ended) / minutes, "", RATE, at_least=True, costs=costs))
    part.add(Figure("CPU of the orchestrator itself an item", burnt / items * 1000, "ms"))
    return part
