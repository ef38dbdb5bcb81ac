"""Watching a run: its events by index, and the stream of them."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Query
from fastapi.responses import StreamingResponse

from orchestrator.ports.agent import RunView
from orchestrator.web.api.items import FAILURES
from orchestrator.web.runs import LARGEST_INDEX, find_run, read_events, stream_events
from orchestrator.web.services import Given
from orchestrator.web.shapes import RunEnd, RunEvent, RunEvents

router = APIRouter(prefix="/api/v1", tags=["runs"], responses=FAILURES)

After = Annotated[
    int, Query(ge=-1, le=LARGEST_INDEX, description="Index of the last event that is known already.")
]

_STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "model": RunEvent | RunEnd,
        "description": "Messages `entry` with a RunEvent each, and one `end` with a RunEnd as the last.",
        "content": {"text/event-stream": {}},
    }
}


async def _watched(run_id: int, services: Given) -> RunView:
    return await find_run(services, run_id)


Watched = Annotated[RunView, Depends(_watched)]


@router.get("/runs/{run_id}/events")
async def events(run: Watched, services: Given, after: After = -1) -> RunEvents:
    """Some readable events of a run's log after an index, secrets masked; ``next`` says where to go on.

    There may be more although none is told: ask again until ``next`` does not grow.
    """
    return await read_events(services, run, after)


@router.get("/runs/{run_id}/stream", response_class=StreamingResponse, responses=_STREAM)
async def stream(
    run: Watched, services: Given, *, after: After = -1, last_event_id: Annotated[str, Header()] = ""
) -> StreamingResponse:
    """Server-sent events: each event of the run as it happens; ends when the run has ended.

    ``Last-Event-ID`` goes on where a broken stream ended, whatever ``after`` says.
    """
    return StreamingResponse(
        stream_events(services, run, _known(last_event_id, after)), media_type="text/event-stream"
    )


def _known(last_event_id: str, after: int) -> int:
    said = last_event_id.strip()
    number = int(said) if said.isascii() and said.isdecimal() and len(said) <= 16 else after
    return min(number, LARGEST_INDEX)
