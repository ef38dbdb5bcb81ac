"""Everything on the page of one item."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.errors import AdapterError
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import TERMINAL, Stage
from orchestrator.ports.subjects import ANALYSIS_DOCUMENTS, analysis_subject
from orchestrator.web.dashboard.progress import Entry, Step, told, way
from orchestrator.web.documents import Documents
from orchestrator.web.documents import Page as Document
from orchestrator.web.items import Unknown, read_item
from orchestrator.web.runs import Page, read_page
from orchestrator.web.services import WebServices
from orchestrator.web.shapes import ItemDetails, RunDetails


@dataclass(frozen=True, slots=True)
class Choices:
    """Which buttons make sense now; ``seen`` is what an approval is bound to."""

    decide: bool
    confirm: bool
    retry: bool
    stop: bool
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Papers:
    """The documents of the item, or why they cannot be shown at the moment."""

    pages: Sequence[Document] = ()
    seen: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run, and the last events of its log while it is going on; those of an ended one are read later."""

    run: RunDetails
    log: Page


@dataclass(frozen=True, slots=True)
class ItemPage:
    """The item with its way, its story, its documents and its buttons."""

    item: ItemDetails
    steps: Sequence[Step]
    story: Sequence[Entry]
    papers: Papers
    runs: Sequence[RunRow]
    choices: Choices

    @property
    def tokens(self) -> int:
        """Tokens of all runs, read and written."""
        return sum(run.tokens for run in self.item.runs)

    def is_open(self, page: Document) -> bool:
        """Whether a document stands open: those that a person is asked to approve."""
        return self.choices.decide and page.ref.row is not None and page.ref.row.number in ANALYSIS_DOCUMENTS


async def open_item(services: WebServices, documents: Documents, item: WorkItem) -> ItemPage:
    """Read what the page of ``item`` shows."""
    details = await read_item(services, item)
    papers = await _papers(services, documents, item)
    return ItemPage(
        item=details,
        steps=way(details, services.clock.now()),
        story=told(details.timeline),
        papers=papers,
        runs=[await _run_row(services, run) for run in reversed(details.runs)],
        choices=_choices(details, papers),
    )


async def _papers(services: WebServices, documents: Documents, item: WorkItem) -> Papers:
    """A workspace that does not answer costs the documents, not the page."""
    try:
        refs = await documents.listing(item)
        pages = [await documents.page(item, ref) for ref in refs]
        if item.stage is not Stage.ANALYSIS or not refs:
            return Papers(pages)
        # The digest is that of the very commit whose documents are on the page.
        seen = await analysis_subject(services.workspace, item.project, refs[0].commit, item.id)
        return Papers(pages, seen)
    except AdapterError as error:
        return Papers(problem=str(error))


def _choices(item: ItemDetails, papers: Papers) -> Choices:
    asks_person = item.explanation.waits_for == "person" and item.hold is None
    return Choices(
        decide=asks_person and item.stage is Stage.ANALYSIS and bool(papers.seen),
        confirm=asks_person and item.stage is Stage.DEPLOY and item.merged is not None,
        retry=item.hold is not None and item.stage not in TERMINAL,
        stop=item.stage not in TERMINAL,
        seen=papers.seen,
    )


async def _run_row(services: WebServices, run: RunDetails) -> RunRow:
    if run.finished_at is not None:
        return RunRow(run, Page())
    return RunRow(run, await read_page(services, run.id, None, ended=False))


@dataclass(frozen=True, slots=True)
class RunPage:
    """One run of an item, with the events at the end of its log or before some place in it."""

    item: ItemDetails
    run: RunDetails
    log: Page
    before: int | None


async def open_run(services: WebServices, item: WorkItem, run_id: int, before: int | None) -> RunPage:
    """Read what the page of a run shows.

    Raises:
        Unknown: the item has no such run.
    """
    details = await read_item(services, item)
    for run in details.runs:
        if run.id == run_id:
            log = await read_page(services, run_id, before, ended=run.finished_at is not None)
            return RunPage(details, run, log, before)
    raise Unknown(f"{item.id} has no run {run_id}")
