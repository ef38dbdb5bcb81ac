"""Following along: what happens to an item as it happens, and the log of a run as it is written."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from orchestrator.cli.item_text import timeline_line
from orchestrator.cli.output import Json, print_json, remark, say
from orchestrator.engine.intake import known_item
from orchestrator.engine.item_view import item_view
from orchestrator.errors import BadInput
from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.stages import TERMINAL, Stage
from orchestrator.plumbing.processes import follow as growing
from orchestrator.plumbing.redaction import LineRedactor

if TYPE_CHECKING:
    from orchestrator.bootstrap import App
    from orchestrator.ports.agent import RunView
    from orchestrator.ports.store import Transaction

PAUSE: Final = timedelta(milliseconds=300)


async def follow_item(app: "App", item: str, *, json: bool) -> bool:
    """Print transitions, finished work and holds until the item ends; whether it ended as done.

    Raises:
        BadInput: there is no such item.
    """
    told: set[tuple[object, ...]] = set()
    held: object = None
    while True:
        view = await app.store.transact(lambda tx: item_view(tx, item, app.policy, app.clock.now()))
        for row in _fresh(view["timeline"], told):
            if json:
                print_json(row)
            else:
                say(timeline_line(row))
        if view["hold"] != held:
            held = view["hold"]
            _tell_hold(held, json=json)
        if view["stage"] in TERMINAL:
            return view["stage"] == Stage.DONE
        await app.clock.sleep(PAUSE)


def _fresh(timeline: object, told: set[tuple[object, ...]]) -> list[Json]:
    """Entries that were not there at the last look; one that is told later may stand before others."""
    fresh = []
    for row in timeline if isinstance(timeline, list) else []:
        key = (row["kind"], row["at"], row.get("stage"), row.get("gate"), row.get("to"))
        if row["kind"] != "verdict" and key not in told:
            told.add(key)
            fresh.append(row)
    return fresh


def _tell_hold(hold: object, *, json: bool) -> None:
    if json:
        print_json({"kind": "hold", "hold": hold})
    elif isinstance(hold, dict):
        say(f"on hold: {hold['reason']}; who can unblock it: {hold['who_can_unblock']}")
    else:
        say("the hold is released")


async def print_log(app: "App", item: str, number: int | None, *, follow: bool, json: bool) -> None:
    """Print the log of a run, the newest by default; with ``follow`` until that run ends.

    Raises:
        BadInput: there is no such item, or no such run of it.
    """
    run = await _run(app, item, number)
    if run is None:
        raise BadInput(
            f"{item} has no run{'' if number is None else f' {number}'} yet; 'orch item show' lists them"
        )
    if not json:
        remark(f"run {run.id} of the {run.role} ({run.stage}), {run.outcome or 'running'}: {run.log_path}")
    lines: list[str] | None = [] if json else None
    async for line in _lines(_pieces(app, item, run, follow=follow)):
        if lines is None:
            say(line)
        else:
            lines.append(line)
    if lines is not None:
        print_json({"work_item": item, "run": run.id, "role": run.role, "stage": run.stage, "lines": lines})


async def _run(app: "App", item: str, number: int | None) -> "RunView | None":
    def find(tx: "Transaction") -> "RunView | None":
        runs = tx.runs.of_item(known_item(tx, WorkItemId(item)).task_id)
        wanted = [run for run in runs if number is None or run.id == number]
        return wanted[-1] if wanted else None

    return await app.store.transact(find)


def _pieces(app: "App", item: str, run: "RunView", *, follow: bool) -> AsyncIterator[str]:
    ended = not follow or run.finished_at is not None

    async def look_again() -> None:
        nonlocal ended
        await app.clock.sleep(PAUSE)
        now = await _run(app, item, run.id)
        ended = now is None or now.finished_at is not None

    return growing(Path(run.log_path), lambda: ended, look_again)


async def _lines(pieces: AsyncIterator[str]) -> AsyncIterator[str]:
    """Whole lines, masked; a line is masked as a whole, however it arrived."""
    masked = LineRedactor()
    rest = ""
    async for piece in pieces:
        *whole, rest = (rest + piece).split("\n")
        for line in whole:
            yield masked.redact(line.rstrip("\r"))
    if rest:
        yield masked.redact(rest)
