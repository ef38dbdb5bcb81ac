"""Reading work items: lists, details, explanations, documents, runs and their logs."""

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import PlainTextResponse

from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import Stage
from orchestrator.web.documents import Documents
from orchestrator.web.items import Sought, Unknown, find_item, list_items, read_item
from orchestrator.web.logs import read_log
from orchestrator.web.services import Given
from orchestrator.web.shapes import (
    ArtifactEntry,
    ArtifactList,
    Explanation,
    ItemDetails,
    ItemList,
    Problem,
    RunList,
)

FAILURES: Final[dict[int | str, dict[str, Any]]] = {
    status: {"model": Problem} for status in (400, 404, 409, 503)
}
router = APIRouter(prefix="/api/v1", tags=["items"], responses=FAILURES)


async def _found(item_id: WorkItemId, services: Given) -> WorkItem:
    return await find_item(services, item_id)


def documents_of(request: Request) -> Documents:
    """The reader of documents of the application that serves ``request``."""
    documents: Documents = request.app.state.documents
    return documents


Found = Annotated[WorkItem, Depends(_found)]
Reader = Annotated[Documents, Depends(documents_of)]


@router.get("/items")
async def items(
    services: Given,
    *,
    project: str | None = None,
    stage: Stage | None = None,
    state: Literal["open", "all"] = "open",
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> ItemList:
    """Items, newest first; ended ones only with ``state=all`` or when their stage is asked for."""
    ended = stage in (Stage.DONE, Stage.CANCELLED)
    sought = Sought(project=project, stage=stage, open_only=state == "open" and not ended, limit=limit)
    return ItemList(items=await list_items(services, sought))


@router.get("/items/{item_id}")
async def details(item: Found, services: Given) -> ItemDetails:
    """Everything about one item."""
    return await read_item(services, item)


@router.get("/items/{item_id}/explain")
async def explain(item: Found, services: Given) -> Explanation:
    """Why the item is where it is, since when, what happens next, and who can unblock it."""
    return (await read_item(services, item)).explanation


@router.get("/items/{item_id}/artifacts")
async def artifacts(item: Found, documents: Reader) -> ArtifactList:
    """The documents that are committed for the item."""
    return ArtifactList(
        artifacts=[
            ArtifactEntry(
                path=ref.path,
                commit=ref.commit,
                stage=ref.row.stage if ref.row else None,
                writer=ref.row.writer if ref.row else "",
            )
            for ref in await documents.listing(item)
        ]
    )


@router.get("/items/{item_id}/artifacts/{path:path}", response_class=PlainTextResponse)
async def artifact(item: Found, path: str, documents: Reader) -> PlainTextResponse:
    """One document as it is committed."""
    return PlainTextResponse(await documents.text(item, path))


@router.get("/items/{item_id}/runs")
async def runs(item: Found, services: Given) -> RunList:
    """The attempts of agents for the item, oldest first."""
    return RunList(runs=(await read_item(services, item)).runs)


@router.get("/runs/{run_id}/log", response_class=PlainTextResponse, tags=["runs"])
async def log(
    run_id: int, services: Given, offset: Annotated[int, Query(ge=0)] = 0, whole: bool = False
) -> Response:
    """Lines of a run's log from byte ``offset`` on, secrets masked; ``X-Next-Offset`` says where to go on.

    A last line without end is held back unless ``whole`` is given.
    """
    path = services.log_of(run_id)
    if path is None:
        raise Unknown(f"run {run_id} has no log")
    chunk = read_log(services, path, offset, whole=whole)
    return PlainTextResponse(chunk.text, headers={"X-Next-Offset": str(chunk.next)})
