"""Jobs, events, and the stream that tells of changes."""

from collections.abc import Callable, Mapping
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from orchestrator.engine.item_view import job_view
from orchestrator.web.services import Given
from orchestrator.web.shapes import EventDetails, EventList, JobDetails, JobList
from orchestrator.web.stream import changes

router = APIRouter(prefix="/api/v1", tags=["ledger"])

Limit = Annotated[int, Query(ge=1, le=500)]


@router.get("/jobs")
async def jobs(services: Given, limit: Limit = 50) -> JobList:
    """The newest jobs."""
    rows = await services.store.transact(lambda tx: tx.jobs.recent(limit))
    return JobList(jobs=[JobDetails.model_validate(job_view(job)) for job in rows])


@router.get("/events")
async def events(services: Given, limit: Limit = 50) -> EventList:
    """The newest facts from outside, secrets masked."""
    rows = await services.store.transact(lambda tx: tx.events.recent(limit))
    return EventList(
        events=[
            EventDetails(
                id=event.id,
                source=event.source,
                kind=event.kind,
                received_at=event.received_at,
                payload={name: _masked(value, services.redact) for name, value in event.payload.items()},
                outcome=event.outcome,
            )
            for event in rows
        ]
    )


@router.get("/stream", response_class=StreamingResponse)
async def stream(services: Given) -> StreamingResponse:
    """Server-sent events: ``hello`` at once, ``changed`` after each change."""
    return StreamingResponse(changes(services), media_type="text/event-stream")


def _masked(value: object, redact: Callable[[str], str]) -> object:
    match value:
        case str():
            return redact(value)
        case Mapping():
            return {str(name): _masked(inner, redact) for name, inner in value.items()}
        case list() | tuple():
            return [_masked(inner, redact) for inner in value]
    return value
