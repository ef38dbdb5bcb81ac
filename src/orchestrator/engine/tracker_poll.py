"""Polling the tracker (F-2, ORCH-053): a gesture that sent no message is noticed here."""

from datetime import datetime
from html import escape
from typing import Final

import structlog

from orchestrator.engine.desk import Desk
from orchestrator.engine.intake import Intake
from orchestrator.engine.orders import tracker
from orchestrator.engine.shown import known_states, settle
from orchestrator.errors import AdapterError, BadInput
from orchestrator.pipeline.commands import (
    Command,
    ConfirmDeploy,
    DecideAnalysis,
    HoldItem,
    RetryItem,
    StopItem,
)
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import TERMINAL
from orchestrator.ports.projects import ProjectRegistry
from orchestrator.ports.store import Store, Transaction
from orchestrator.ports.tracker import HUMAN_GESTURES, Ticket, Tracker, TrackerState

log = structlog.get_logger(__name__)

SOURCE: Final = "tracker"


class TrackerPoll:
    """Reads what changed in the tracker and carries out what people said there, once."""

    def __init__(
        self, *, tracker: Tracker, store: Store, intake: Intake, desk: Desk, projects: ProjectRegistry
    ) -> None:
        self._tracker = tracker
        self._store = store
        self._intake = intake
        self._desk = desk
        self._projects = projects

    async def poll(self) -> int:
        """Look at every project's changes since the last look; how many gestures were new.

        A tracker that does not answer for one project keeps nobody from looking at the others.
        """
        new = 0
        for project in await self._projects.all():
            try:
                new += await self._poll_project(project.name)
            except AdapterError as error:
                log.warning("project_not_polled", project=project.name, reason=str(error))
        return new

    async def _poll_project(self, project: str) -> int:
        key = f"tracker-cursor:{project}"
        since = await self._cursor(key)
        tickets = await self._tracker.changed_since(project, since)
        new = 0
        for ticket in tickets:
            new += await self._notice(ticket)
        if tickets:
            await self._remember(key, tickets[-1].updated_at)
        return new

    async def _cursor(self, key: str) -> datetime | None:
        told = await self._store.transact(lambda tx: tx.projects.recall(key))
        return datetime.fromisoformat(told) if told else None

    async def _remember(self, key: str, seen: datetime) -> None:
        await self._store.transact(lambda tx: tx.projects.remember(key, seen.isoformat()))

    async def _notice(self, ticket: Ticket) -> bool:
        """Carry out a person's gesture; a state that we know already is none."""
        item = await self._desk.note(ticket)
        if ticket.state not in HUMAN_GESTURES:
            return False
        if ticket.state in await self._store.transact(lambda tx: known_states(tx, ticket.ref)):
            return False
        if item is None:
            return await self._start(ticket)
        return await self._carry_out(ticket, item)

    async def _carry_out(self, ticket: Ticket, item: WorkItem) -> bool:
        """Known from then on: editing a ticket that still shows this state is not the same gesture again."""
        try:
            command = await self._command(ticket, item)
            if command is None:
                await self._store.transact(lambda tx: _put_right(tx, ticket, item))
                return False
            key = f"{SOURCE}:{ticket.ref}:{ticket.state}:{ticket.updated_at.isoformat()}"
            accepted = await self._intake.accept(command, source=SOURCE, content_key=key)
        except BadInput as error:
            log.info("gesture_ignored", ticket=ticket.number, state=ticket.state, reason=str(error))
            await self._store.transact(lambda tx: _put_right(tx, ticket, item))
            return False
        await self._store.transact(lambda tx: settle(tx, ticket.ref, ticket.state))
        return accepted.fresh

    async def _start(self, ticket: Ticket) -> bool:
        """Start the ticket's item; one that cannot start yet is told so, and tried again when it changes."""
        if ticket.state is not TrackerState.TODO:
            return False
        try:
            accepted = await self._desk.start(ticket, source=SOURCE)
        except BadInput as error:
            await self._tracker.put_comment(ticket.ref, "not-started", escape(f"Not started: {error}"))
            return False
        await self._store.transact(lambda tx: settle(tx, ticket.ref, ticket.state))
        return accepted.fresh

    async def _command(self, ticket: Ticket, item: WorkItem) -> Command | None:
        """What the person's state means for the item (status-only model, inventory §14)."""
        by = f"{SOURCE} user"
        if item.stage in TERMINAL:
            return None
        match ticket.state:
            case TrackerState.APPROVED | TrackerState.REJECTED as state:
                subject = await self._desk.analysis_subject(item)
                granted = state is TrackerState.APPROVED
                return DecideAnalysis(id=item.id, granted=granted, subject=subject, by=by)
            case TrackerState.CONFIRM_DEPLOY:
                return ConfirmDeploy(id=item.id, by=by)
            case TrackerState.CANCELLED:
                return StopItem(id=item.id, by=by)
            case TrackerState.BLOCKED | TrackerState.NEEDS_INPUT as state:
                return HoldItem(id=item.id, by=by, reason=f"set to {state} in the tracker")
            case TrackerState.TODO if await self._is_held(item):
                # Whoever wrote the text may have set the state: this is no sign that anybody read it.
                return RetryItem(id=item.id, by=by, has_read=False)
        return None

    async def _is_held(self, item: WorkItem) -> bool:
        return await self._store.transact(lambda tx: tx.facts.hold(item.task_id)) is not None


def _put_right(tx: Transaction, ticket: Ticket, item: WorkItem) -> None:
    """A gesture that means nothing now is read all the same, and the tracker is to show the truth again."""
    settle(tx, ticket.ref, ticket.state)
    tx.jobs.enqueue(tracker(item))
