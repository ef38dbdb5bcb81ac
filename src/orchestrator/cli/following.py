"""Following along: what happens to an item as it happens, and what its agents do while they do it."""

import os
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from orchestrator.cli.item_text import timeline_line
from orchestrator.cli.output import Json, print_json, remark, say
from orchestrator.engine.intake import known_item
from orchestrator.engine.item_view import item_view
from orchestrator.engine.run_log import RunLog
from orchestrator.errors import BadInput
from orchestrator.pipeline.ids import RunId, WorkItemId
from orchestrator.pipeline.stages import TERMINAL, Stage
from orchestrator.plumbing.processes import follow as growing
from orchestrator.plumbing.redaction import LineRedactor

if TYPE_CHECKING:
    from orchestrator.bootstrap import App
    from orchestrator.cli.event_text import Shown
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


async def print_events(
    app: "App", shown: "Shown", item: str | None, number: int | None, *, follow: bool
) -> None:
    """Print the events of a run, the newest by default.

    With ``follow`` those of later runs come after it, until the item ends; a run that is named is followed to
    its own end.

    Raises:
        BadInput: there is no such item, no such run of it, or no run at all.
    """
    wanted = await _item(app, item)
    if not follow or number is not None:
        await _print_run(app, shown, wanted, await _run(app, wanted, number), follow=follow)
        return
    before = await _runs(app, wanted)
    last = before[-2].id if len(before) > 1 else 0
    if not before:
        remark(f"no agent has worked on {wanted} yet; its first run is waited for")
    held = ""
    while True:
        # Looked at before the runs, so that all runs are told that there were until its end.
        over = await _is_over(app, wanted)
        for run in [run for run in await _runs(app, wanted) if run.id > last]:
            await _print_run(app, shown, wanted, run, follow=True)
            last = run.id
        if over:
            return
        held = await _remark_hold(app, wanted, held)
        await app.clock.sleep(PAUSE)


async def _print_run(app: "App", shown: "Shown", item: WorkItemId, run: "RunView", *, follow: bool) -> None:
    """Print what the run does until it ends; the run of an item that was stopped may have no end."""
    shown.began(run)
    log = RunLog(_path(run), app.transcripts(run.cli))
    while True:
        over = not follow or await _is_over(app, item)
        run = await _again(app, run)
        over = over or run.finished_at is not None
        for told in log.read(whole=over):
            shown.happened(run, told)
        if log.at_end and over:
            break
        if log.at_end:
            await app.clock.sleep(PAUSE)
    if run.finished_at is not None:
        shown.ended(run)


async def _remark_hold(app: "App", item: WorkItemId, told: str) -> str:
    """Say why no further run comes, once for each reason; the reason that stands now, empty without one."""
    hold = await app.store.transact(lambda tx: tx.facts.hold(known_item(tx, item).task_id))
    if hold is None:
        return ""
    if hold.reason != told:
        remark(f"{item} is on hold: {hold.reason}; who can unblock it: {hold.who_can_unblock}")
    return hold.reason


async def _is_over(app: "App", item: WorkItemId) -> bool:
    return (await app.store.transact(lambda tx: known_item(tx, item))).stage in TERMINAL


async def print_raw(app: "App", item: str | None, number: int | None, *, follow: bool) -> None:
    """Print the log of a run as it was written, masked; with ``follow`` until the run ends.

    Raises:
        BadInput: as `print_events`.
    """
    run = await _run(app, await _item(app, item), number)
    remark(f"run {run.id} of the {run.role} ({run.stage}), {run.outcome or 'running'}: {run.log_path}")
    async for line in _lines(_pieces(app, run, follow=follow)):
        say(line)


async def _item(app: "App", item: str | None) -> WorkItemId:
    """The item that is named, or the one that has the newest run."""
    if item is not None:
        return WorkItemId(item.upper())

    def newest(tx: "Transaction") -> WorkItemId | None:
        runs = [(run.id, one.id) for one in tx.items.all() for run in tx.runs.of_item(one.task_id)[-1:]]
        return max(runs)[1] if runs else None

    found = await app.store.transact(newest)
    if found is None:
        raise BadInput("no agent has run yet; 'orch item list' shows what there is")
    return found


async def _runs(app: "App", item: WorkItemId) -> Sequence["RunView"]:
    return await app.store.transact(lambda tx: tx.runs.of_item(known_item(tx, item).task_id))


async def _run(app: "App", item: WorkItemId, number: int | None) -> "RunView":
    wanted = [run for run in await _runs(app, item) if number is None or run.id == number]
    if not wanted:
        raise BadInput(
            f"{item} has no run{'' if number is None else f' {number}'} yet; 'orch item show' lists them"
        )
    return wanted[-1]


async def _again(app: "App", run: "RunView") -> "RunView":
    """The run as it is now."""
    return await app.store.transact(lambda tx: tx.runs.get(RunId(run.id))) or run


def _path(run: "RunView") -> Path:
    return Path(run.log_path or os.devnull)


def _pieces(app: "App", run: "RunView", *, follow: bool) -> AsyncIterator[str]:
    ended = not follow or run.finished_at is not None

    async def look_again() -> None:
        nonlocal ended
        await app.clock.sleep(PAUSE)
        ended = (await _again(app, run)).finished_at is not None

    return growing(_path(run), lambda: ended, look_again)


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
