"""The buttons: each is a form that works without scripts, and ends on the item's page."""

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse, Response

from orchestrator.errors import BadInput
from orchestrator.web.api.items import Found
from orchestrator.web.dashboard.pages import form
from orchestrator.web.forms import own_form
from orchestrator.web.services import Given

router = APIRouter(prefix="/items", dependencies=[Depends(own_form)])

Field = Annotated[str, Form(max_length=20_000)]


@router.post("/new")
async def file_item(
    request: Request,
    services: Given,
    *,
    project: Field = "",
    title: Field = "",
    description: Field = "",
    labels: Field = "",
    blocked_by: Field = "",
) -> Response:
    """File an item and start it; what cannot be used comes back with the reason."""
    try:
        accepted = await services.desk.file_item(
            project,
            title,
            description,
            labels=_listed(labels),
            blocked_by=[number.upper() for number in _listed(blocked_by)],
            by=services.person,
        )
    except BadInput as problem:
        entered = {
            "project": project,
            "title": title,
            "description": description,
            "labels": labels,
            "blocked_by": blocked_by,
        }
        return await form(request, services, entered, problem)
    return _back_to(accepted.item.id if accepted.item else "", "filed")


@router.post("/{item_id}/approve")
async def approve(item: Found, services: Given, seen: Field) -> Response:
    """Approve the analysis as the page showed it."""
    await services.desk.decide_analysis(item.id, granted=True, by=services.person, seen=seen)
    return _back_to(item.id, "approved")


@router.post("/{item_id}/reject")
async def reject(item: Found, services: Given, seen: Field, comment: Field = "") -> Response:
    """Send the analysis back with a comment."""
    if not comment.strip():
        raise BadInput("say in a comment what the analysis lacks: the analyst works from it")
    await services.desk.decide_analysis(
        item.id, granted=False, by=services.person, comment=comment.strip(), seen=seen
    )
    return _back_to(item.id, "rejected")


@router.post("/{item_id}/confirm-deploy")
async def confirm_deploy(item: Found, services: Given, commit: Field) -> Response:
    """Let production change to the merged commit that the page showed."""
    if commit != item.merged:
        raise BadInput("another commit was merged since the page was made; look at it first")
    await services.desk.confirm_deploy(item.id, by=services.person)
    return _back_to(item.id, "confirmed")


@router.post("/{item_id}/retry")
async def retry(item: Found, services: Given) -> Response:
    """Release the hold and try again."""
    await services.desk.retry(item.id, by=services.person)
    return _back_to(item.id, "retried")


@router.post("/{item_id}/stop")
async def stop(item: Found, services: Given, reason: Field = "") -> Response:
    """Cancel the item."""
    await services.desk.stop(item.id, by=services.person, reason=reason.strip())
    return _back_to(item.id, "stopped")


def _back_to(item_id: str, said: str) -> Response:
    return RedirectResponse(f"/items/{item_id}?said={said}" if item_id else "/", 303)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
