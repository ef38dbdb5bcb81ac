"""Work items as the API and the pages read them: found by number, with the shapes of ``web.shapes``."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator.engine.cases import load_case
from orchestrator.engine.item_view import item_view, summary
from orchestrator.errors import BadInput
from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import TERMINAL, Stage
from orchestrator.ports.store import Transaction
from orchestrator.web.services import WebServices
from orchestrator.web.shapes import ItemDetails, ItemSummary


class Unknown(BadInput):
    """There is nothing of that name."""


@dataclass(frozen=True, slots=True)
class Sought:
    """Which items are asked for; ``None`` means any, ``open_only`` leaves out done and cancelled ones."""

    project: str | None = None
    stage: Stage | None = None
    open_only: bool = True
    limit: int = 200


async def find_item(services: WebServices, number: str) -> WorkItem:
    """The item with that number, in any case of letters.

    Raises:
        Unknown: there is none.
    """
    wanted = WorkItemId(number.upper())
    item = await services.store.transact(lambda tx: tx.items.by_id(wanted))
    if item is None:
        raise Unknown(f"unknown work item {number}")
    return item


async def read_item(services: WebServices, item: WorkItem) -> ItemDetails:
    """Everything about one item."""
    now = services.clock.now()
    view = await services.store.transact(lambda tx: item_view(tx, item.id, services.policy, now))
    return ItemDetails.model_validate(view)


async def list_items(services: WebServices, sought: Sought) -> list[ItemSummary]:
    """The items that are asked for, newest first."""

    def read(tx: Transaction) -> list[ItemSummary]:
        every = tx.items.open(sought.project) if sought.open_only else tx.items.all(sought.project)
        wanted = [item for item in every if sought.stage in (None, item.stage)]
        return _summaries(tx, services, reversed(wanted[-sought.limit :]))

    return await services.store.transact(read)


async def read_board(services: WebServices, project: str | None, *, ended: int) -> list[ItemSummary]:
    """All open items, oldest first, then the newest ``ended`` of the done and of the cancelled."""

    def read(tx: Transaction) -> list[ItemSummary]:
        shown = list(tx.items.open(project))
        closed = [item for item in tx.items.all(project) if item.stage in TERMINAL]
        closed.sort(key=lambda item: item.entered_at, reverse=True)
        for stage in sorted(TERMINAL):
            shown += [item for item in closed if item.stage is stage][:ended]
        return _summaries(tx, services, shown)

    return await services.store.transact(read)


async def count_by_stage(services: WebServices, project: str | None) -> dict[Stage, int]:
    """How many items stand in each stage."""

    def read(tx: Transaction) -> Sequence[WorkItem]:
        return tx.items.all(project)

    items = await services.store.transact(read)
    return {stage: sum(item.stage is stage for item in items) for stage in Stage}


def _summaries(tx: Transaction, services: WebServices, items: Iterable[WorkItem]) -> list[ItemSummary]:
    now = services.clock.now()
    cases = (load_case(tx, item.task_id, now) for item in items)
    return [ItemSummary.model_validate(summary(case, services.policy)) for case in cases if case is not None]
