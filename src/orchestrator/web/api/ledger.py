"""Jobs, events, costs, and the stream that tells of changes."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from orchestrator.engine.item_view import job_view
from orchestrator.ports.store import CostKey
from orchestrator.web.services import Given
from orchestrator.web.shapes import CostReport, EventDetails, EventList, JobDetails, JobList
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


@router.get("/costs")
async def costs(
    services: Given, by: CostKey = CostKey.ITEM, project: str | None = None, since: date | None = None
) -> CostReport:
    """What agents consumed since a day, by item, role, model, day or project, and where the budgets stand."""
    return CostReport.model_validate(await services.costs.spent(by, project=project, since=since))


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
