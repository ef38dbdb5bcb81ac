"""What may be asked for: filing an item, deciding about it, stopping it. Every request becomes an event."""

from typing import Annotated

from fastapi import APIRouter, Body
from pydantic import BaseModel, ConfigDict, Field

from orchestrator.engine.intake import Accepted
from orchestrator.web.api.items import FAILURES, Found
from orchestrator.web.services import Given
from orchestrator.web.shapes import Outcome

router = APIRouter(prefix="/api/v1/items", tags=["actions"], responses=FAILURES)

Text = Annotated[str, Field(max_length=20_000)]


class Request(BaseModel):
    """A request; ``by`` names the person for the audit trail."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    by: Annotated[str, Field(min_length=1, max_length=100)] = "api"


class NewItem(Request):
    """An item to be filed on the built-in board."""

    project: str
    title: Annotated[str, Field(min_length=1, max_length=500)]
    description: Text = ""
    labels: list[str] = Field(default_factory=list)
    blocked_by: list[str] = Field(default_factory=list)


class Approval(Request):
    """Approves the analysis; ``seen`` is the digest of the documents that the person looked at."""

    seen: str | None = None


class Rejection(Request):
    """Sends the analysis back; ``comment`` says what is missing."""

    comment: Annotated[Text, Field(min_length=1)]


class Stop(Request):
    """Cancels the item."""

    reason: Text = ""


@router.post("", status_code=201)
async def file_item(services: Given, body: NewItem) -> Outcome:
    """File an item and start it."""
    return _told(
        await services.desk.file_item(
            body.project,
            body.title,
            body.description,
            labels=body.labels,
            blocked_by=body.blocked_by,
            by=body.by,
        )
    )


@router.post("/{item_id}/approve")
async def approve(
    item: Found, services: Given, body: Annotated[Approval, Body(default_factory=Approval)]
) -> Outcome:
    """Approve the analysis; without ``seen``, the documents that the branch holds now."""
    return _told(await services.desk.decide_analysis(item.id, granted=True, by=body.by, seen=body.seen))


@router.post("/{item_id}/reject")
async def reject(item: Found, services: Given, body: Rejection) -> Outcome:
    """Send the analysis back with a comment."""
    return _told(
        await services.desk.decide_analysis(item.id, granted=False, by=body.by, comment=body.comment)
    )


@router.post("/{item_id}/confirm-deploy")
async def confirm_deploy(
    item: Found, services: Given, body: Annotated[Request, Body(default_factory=Request)]
) -> Outcome:
    """Let production change to the merged commit."""
    return _told(await services.desk.confirm_deploy(item.id, by=body.by))


@router.post("/{item_id}/stop")
async def stop(item: Found, services: Given, body: Annotated[Stop, Body(default_factory=Stop)]) -> Outcome:
    """Cancel the item: its processes end, its work is kept."""
    return _told(await services.desk.stop(item.id, by=body.by, reason=body.reason))


@router.post("/{item_id}/retry")
async def retry(
    item: Found, services: Given, body: Annotated[Request, Body(default_factory=Request)]
) -> Outcome:
    """Release the item's hold and try again."""
    return _told(await services.desk.retry(item.id, by=body.by))


def _told(accepted: Accepted) -> Outcome:
    item = accepted.item
    if item is None:
        raise LookupError("a request was accepted for no item")
    return Outcome(work_item=item.id, stage=item.stage, outcome=accepted.outcome, fresh=accepted.fresh)
