"""Runs of agents as they are watched: their readable events, asked for or sent as they happen."""

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.engine.run_log import IndexedEvent, LogPage, RunLog, read_back
from orchestrator.pipeline.ids import RunId
from orchestrator.ports.agent import RunView
from orchestrator.web.items import Unknown
from orchestrator.web.services import WebServices
from orchestrator.web.shapes import RunEnd, RunEvent, RunEvents, Shape
from orchestrator.web.stream import TICK, TICKS_PER_HEARTBEAT, TICKS_PER_LOOK

TEXT: Final = 2_000
"""Characters of an event's line that are sent."""

DETAIL: Final = 16_000
"""Characters of an event's detail that are sent; the log has the rest."""

LARGEST_INDEX: Final = 2**53 - 1
"""The largest whole number that a script in a browser can name."""


@dataclass(frozen=True, slots=True)
class Page:
    """Events as a page shows them: those at the end of a log, or before an index of it."""

    events: Sequence[RunEvent] = ()
    next: int = -1
    earlier: int | None = None


async def find_run(services: WebServices, run_id: int) -> RunView:
    """The run with that id.

    Raises:
        Unknown: there is none.
    """
    run = await services.store.transact(lambda tx: tx.runs.get(RunId(run_id)))
    if run is None:
        raise Unknown(f"there is no run {run_id}")
    return run


async def read_events(services: WebServices, run: RunView, after: int) -> RunEvents:
    """Some events after that index, from a part of the log that is read at once."""
    ended = run.finished_at is not None
    log = _log(services, run, after)
    events = await asyncio.to_thread(log.read, whole=ended)
    return RunEvents(
        run=run.id, events=[_shown(told) for told in events], next=log.next, over=ended and log.at_end
    )


async def read_page(services: WebServices, run_id: int, before: int | None, *, ended: bool) -> Page:
    """The last events of the run, or the last ones before that index."""
    run = await find_run(services, run_id)
    transcript = services.transcripts(run.cli)

    def read() -> LogPage:
        return read_back(_path(services, run_id), transcript, before=before, whole=ended)

    page = await asyncio.to_thread(read)
    return Page([_shown(told) for told in page.events], page.next, page.earlier)


async def stream_events(services: WebServices, run: RunView, after: int) -> AsyncGenerator[str, None]:
    """Each event after that index as it happens (``entry``), then how the run ended (``end``).

    It ends earlier when the server closes; the id of each message is what to go on after.
    """
    yield "retry: 1000\n\n"
    log, version, ticks = _log(services, run, after), services.store.version(), 0
    while not services.closing():
        # Looked at before reading, so that what was written until the end is read.
        if ticks % TICKS_PER_LOOK == 0 or services.store.version() != version:
            version = services.store.version()
            run = await find_run(services, run.id)
        ended = run.finished_at is not None
        events = await asyncio.to_thread(log.read, whole=ended)
        if events:
            yield "".join(_message("entry", _shown(told), told.index) for told in events)
        if log.at_end and ended:
            yield _message("end", _end(run), log.next)
            return
        if log.at_end:
            await services.clock.sleep(TICK)
            ticks += 1
            if ticks % TICKS_PER_HEARTBEAT == 0:
                yield ": still here\n\n"


def _log(services: WebServices, run: RunView, after: int) -> RunLog:
    return RunLog(_path(services, run.id), services.transcripts(run.cli), after=after)


def _path(services: WebServices, run_id: int) -> Path:
    """Where the log is; of a run that has none yet, a place where nothing is."""
    return services.log_of(run_id) or Path(os.devnull)


def _shown(told: IndexedEvent) -> RunEvent:
    """Shortened after it was masked: half a secret would not be recognised."""
    text, detail = told.event.text, told.event.detail
    more = max(len(text) - TEXT, 0) + max(len(detail) - DETAIL, 0)
    return RunEvent(
        index=told.index, kind=told.event.kind, text=text[:TEXT], detail=detail[:DETAIL], more=more
    )


def _end(run: RunView) -> RunEnd:
    took = (run.finished_at or run.started_at) - run.started_at
    return RunEnd(
        run=run.id,
        outcome=run.outcome,
        exit_code=run.exit_code,
        tokens=run.usage.tokens,
        cost_usd=run.usage.cost_usd,
        seconds=round(took.total_seconds(), 3),
    )


def _message(event: str, data: Shape, index: int) -> str:
    # JSON has no line breaks of its own, so that nothing within it can end the message.
    return f"id: {index}\nevent: {event}\ndata: {data.model_dump_json()}\n\n"
