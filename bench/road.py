"""One item through all stages with instant producers, beside the bare commands for the same steps."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

from bare import CONTENTS, BareRoad
from figures import Figure, Part, median
from ground import installation, make_repository, settings_below
from instant import instant_producers

from orchestrator.bootstrap import App
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import Stage
from orchestrator.plumbing.git import Git

LOOK = 0.02
DEADLINE = timedelta(seconds=30)
RATIO = 1.5
BUDGET_S = 35.0
TITLE = "Answer the question of everything"


async def measure(root: Path, rounds: int) -> Part:
    """Alternate between the product and the bare commands, so that a noisy machine disturbs both alike."""
    upstream = make_repository(root / "upstream")
    bare = BareRoad(root / "bare", make_repository(root / "bare-upstream"))
    bare.go("WARM-1")
    plain: list[float] = []
    ours: list[float] = []
    processes: list[int] = []
    settings = settings_below(root / "home")
    opened = installation(settings, {"road": upstream}, producers=instant_producers)
    async with opened as app, working(app):
        await travel(app, "road")
        until = time.monotonic() + BUDGET_S
        for number in range(rounds):
            plain.append(await asyncio.to_thread(_timed, bare, f"BARE-{number}"))
            with counted() as count:
                ours.append(await travel(app, "road"))
            processes.append(len(count))
            if time.monotonic() > until:
                break
    return _part(bare, plain, ours, median(processes))


def _part(bare: BareRoad, plain: list[float], ours: list[float], processes: float) -> Part:
    rounds = len(plain)
    part = Part("One item through all stages, instant producers", [f"{rounds} items each, alternating"])
    part.notes += [f"the bare commands are {line}" for line in CONTENTS]
    commands = bare.commands // (rounds + 1)
    ratio = median([mine / theirs for mine, theirs in zip(ours, plain, strict=True)])
    extra = median(ours) - median(plain)
    costs = f"{extra:.0f} ms more than the bare commands, which are {commands} where ours are {processes:.0f}"
    part.add(Figure("orchestrator, ticket filed → done", median(ours), "ms"))
    part.add(Figure(f"bare git and process commands ({commands})", median(plain), "ms"))
    part.add(Figure("git processes that the orchestrator started", processes, ""))
    part.add(Figure("ratio (median of the pairs)", ratio, "", aim=RATIO, costs=costs))
    part.add(Figure("ratio of the fastest of each", min(ours) / min(plain), ""))
    return part


def _timed(bare: BareRoad, item: str) -> float:
    began = time.perf_counter()
    bare.go(item)
    took = (time.perf_counter() - began) * 1000
    bare.tidy(item)
    return took


@asynccontextmanager
async def working(app: App) -> AsyncIterator[None]:
    """The worker at work for the time of the block, as `orch serve` has it."""
    worker = asyncio.create_task(app.worker.run())
    try:
        yield
    finally:
        app.worker.stop()
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)


@contextlib.contextmanager
def counted():
    """The git commands that are started within the block."""
    commands: list[tuple[str, ...]] = []
    start = Git._start

    async def noted(self, args, *others, **named):
        commands.append(args)
        return await start(self, args, *others, **named)

    Git._start = noted
    try:
        yield commands
    finally:
        Git._start = start


async def travel(app: App, project: str) -> float:
    """File an item and see it done; milliseconds from the call to the transition to done."""
    began = app.clock.now()
    accepted = await app.desk.file_item(project, TITLE, by="bench")
    if accepted.item is None:
        raise RuntimeError(accepted.outcome)
    ended = await arrival(app, accepted.item)
    return (ended - began).total_seconds() * 1000


async def arrival(app: App, item: WorkItem) -> datetime:
    """When the item was done; returns when nothing of it is left to do.

    It is looked for seldom, so that looking costs nothing: the transition carries the time itself.
    """
    async with asyncio.timeout(DEADLINE.total_seconds()):
        while True:
            await asyncio.sleep(LOOK)
            now = await app.store.transact(lambda tx: tx.items.get(item.task_id))
            if now is None or now.stage is not Stage.DONE:
                continue
            jobs = await app.store.transact(lambda tx: tx.jobs.of_item(item.task_id))
            if all(job.finished_at is not None for job in jobs):
                return now.entered_at
