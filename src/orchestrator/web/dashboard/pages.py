"""The pages: board, item, run, form for a new item, queue."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from orchestrator.errors import BadInput
from orchestrator.web.api.items import Found, Reader
from orchestrator.web.dashboard.board import ENDED_SHOWN, lay_out
from orchestrator.web.dashboard.item_page import open_item, open_run
from orchestrator.web.dashboard.views import render
from orchestrator.web.items import Unknown, count_by_stage, read_board
from orchestrator.web.runs import LARGEST_INDEX
from orchestrator.web.services import Given

router = APIRouter(default_response_class=HTMLResponse)


@router.get("/")
async def board(request: Request, services: Given, project: str = "") -> HTMLResponse:
    """All items, a column for each stage."""
    names = [registered.name for registered in await services.projects.all()]
    chosen = project or None
    if chosen is not None and chosen not in names:
        raise Unknown(f"there is no project {chosen}")
    items = await read_board(services, chosen, ended=ENDED_SHOWN)
    totals = await count_by_stage(services, chosen)
    return render(request, "board.html", board=lay_out(items, totals, project=chosen, projects=names))


@router.get("/items/new")
async def new_item(request: Request, services: Given, project: str = "") -> HTMLResponse:
    """The form that files an item."""
    return await form(request, services, {"project": project})


async def form(
    request: Request, services: Given, entered: dict[str, str], problem: BadInput | None = None
) -> HTMLResponse:
    """The form with what was entered, and what is wrong with it."""
    blank = {"project": "", "title": "", "description": "", "labels": "", "blocked_by": ""}
    names = [registered.name for registered in await services.projects.all()]
    return render(
        request,
        "new_item.html",
        status=400 if problem else 200,
        projects=names,
        entered=blank | entered,
        problem=str(problem) if problem else "",
    )


@router.get("/items/{item_id}")
async def item_page(request: Request, item: Found, services: Given, documents: Reader) -> HTMLResponse:
    """One item: why it is here, what may be done, and everything that happened."""
    return render(request, "item.html", page=await open_item(services, documents, item))


@router.get("/items/{item_id}/runs/{run_id}")
async def run_page(
    request: Request,
    item: Found,
    services: Given,
    *,
    run_id: int,
    before: Annotated[int | None, Query(ge=0, le=LARGEST_INDEX)] = None,
) -> HTMLResponse:
    """One run of an agent with the events of its log."""
    return render(request, "run.html", page=await open_run(services, item, run_id, before))


@router.get("/dashboard/queue")
async def queue(request: Request, services: Given) -> HTMLResponse:
    """Jobs, leases, and the state of each mechanism."""
    return render(request, "queue.html", blocks=await services.overview.queue())
