"""The desk: everything that a person can ask for, for the command line, the API and the dashboard alike."""

from collections.abc import Sequence

from orchestrator.engine.authors import Authors, note_ticket
from orchestrator.engine.cases import branch_of
from orchestrator.engine.intake import Accepted, Intake, known_item
from orchestrator.engine.orders import look_at_waiting
from orchestrator.errors import BadInput, Rejected
from orchestrator.pipeline.commands import (
    Command,
    ConfirmDeploy,
    DecideAnalysis,
    RetryItem,
    StartItem,
    StopItem,
)
from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import Stage
from orchestrator.ports.clock import Clock, Ids
from orchestrator.ports.projects import ProjectRegistry
from orchestrator.ports.store import Store, Transaction
from orchestrator.ports.subjects import analysis_subject
from orchestrator.ports.tracker import Filing, Ticket
from orchestrator.ports.workspace import Workspace


class Desk:
    """Takes requests of people, one method each; every one is stored as an event before it has an effect.

    All methods raise ``BadInput`` with one clear line when the request cannot be carried out.
    """

    def __init__(
        self,
        *,
        store: Store,
        intake: Intake,
        filing: Filing,
        workspace: Workspace,
        projects: ProjectRegistry,
        ids: Ids,
        clock: Clock,
        authors: Authors,
    ) -> None:
        self._store = store
        self._intake = intake
        self._filing = filing
        self._workspace = workspace
        self._projects = projects
        self._ids = ids
        self._clock = clock
        self._authors = authors

    async def file_item(
        self,
        project: str,
        title: str,
        description: str = "",
        *,
        labels: Sequence[str] = (),
        blocked_by: Sequence[str] = (),
        by: str,
    ) -> Accepted:
        """File an item on the board and start it; a title that breaks QG-0 starts it as blocked."""
        registered = await self._known_project(project)
        for number in blocked_by:
            await self.item(number)
        await self._projects.refresh(registered)
        try:
            ticket = await self._filing.file(
                registered, title, description, author=by, labels=labels, blocked_by=blocked_by
            )
        except Rejected as error:
            raise BadInput(str(error)) from error
        return await self.start(ticket, source=by)

    async def edit_item(
        self, item_id: str, *, title: str | None = None, description: str | None = None, by: str
    ) -> Accepted:
        """Change what is asked for, before work on it has begun; later the documents say it.

        The new text is held when ``by`` is not among the project's authors.
        """
        item = await self.item(item_id)
        if item.stage is not Stage.CREATED:
            raise BadInput(f"{item.id} is in {item.stage}; its title can be changed before work begins only")
        try:
            ticket = await self._filing.edit(
                item.tracker_ref,
                title=title or item.title,
                description=description or item.description,
                by=by,
            )
        except Rejected as error:
            raise BadInput(str(error)) from error
        await self.note(ticket)
        return Accepted(await self.item(item_id), "changed")

    async def note(self, ticket: Ticket) -> WorkItem | None:
        """Take over what a ticket asks for, as long as work on it has not begun; its item."""
        stranger = await self._authors.stranger_behind(ticket)
        return await self._store.transact(lambda tx: note_ticket(tx, ticket, stranger, self._clock.now()))

    async def start(self, ticket: Ticket, *, source: str) -> Accepted:
        """Start the work item of a ticket; started already changes nothing."""
        command = StartItem(
            id=WorkItemId(ticket.number),
            project=ticket.project,
            title=ticket.title,
            description=ticket.description,
            tracker_ref=ticket.ref,
            labels=ticket.labels,
            blocked_by=ticket.blocked_by,
            author=ticket.author,
            edited_by=ticket.edited_by,
        )
        return await self._intake.accept(command, source=source, content_key=f"start:{ticket.ref}")

    async def decide_analysis(
        self, item_id: str, *, granted: bool, by: str, comment: str = "", seen: str | None = None
    ) -> Accepted:
        """Approve or reject the analysis; ``seen`` is the digest of the documents that the person looked at.

        Without ``seen`` the decision is about the documents that the branch holds now.
        """
        item = await self.item(item_id)
        subject = seen or await self.analysis_subject(item)
        return await self._gesture(
            DecideAnalysis(id=item.id, granted=granted, subject=subject, by=by, comment=comment), by
        )

    async def analysis_subject(self, item: WorkItem) -> str:
        """The digest of the analysis documents that the item's branch holds now."""
        head = await self._workspace.head(branch_of(item))
        return await analysis_subject(self._workspace, item.project, head.commit, item.id)

    async def confirm_deploy(self, item_id: str, *, by: str) -> Accepted:
        """Allow production to change to the item's merged commit."""
        return await self._gesture(ConfirmDeploy(id=WorkItemId(item_id), by=by), by)

    async def stop(self, item_id: str, *, by: str, reason: str = "") -> Accepted:
        """Cancel the item: its processes end, its work is kept, nothing of it moves again."""
        return await self._gesture(StopItem(id=WorkItemId(item_id), by=by, reason=reason), by)

    async def retry(self, item_id: str, *, by: str) -> Accepted:
        """Release the item's hold and try again, with what its owner has repaired on the base meanwhile."""
        await self._projects.refresh((await self.item(item_id)).project)
        return await self._gesture(RetryItem(id=WorkItemId(item_id), by=by), by)

    async def freeze(self, project: str, reason: str | None) -> None:
        """Let no new item of the project start (``None`` thaws it)."""
        name = await self._known_project(project)
        await self._store.transact(lambda tx: _freeze(tx, name, reason))

    async def item(self, item_id: str) -> WorkItem:
        """The item with that number, in any case of letters."""
        return await self._store.transact(lambda tx: known_item(tx, WorkItemId(item_id.upper())))

    async def _known_project(self, name: str) -> str:
        try:
            return (await self._projects.project(name)).name
        except Rejected as error:
            raise BadInput(str(error)) from error

    async def _gesture(self, command: Command, by: str) -> Accepted:
        """Every gesture is an event of its own: approving, rejecting and approving again are three facts."""
        return await self._intake.accept(command, source=by, content_key=f"gesture:{self._ids.new()}")


def _freeze(tx: Transaction, project: str, reason: str | None) -> None:
    tx.projects.freeze(project, reason)
    if reason is None:
        look_at_waiting(tx, project)
