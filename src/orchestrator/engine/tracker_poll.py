"""Polling the tracker (F-2, ORCH-053): a gesture that sent no message is noticed here."""

from datetime import datetime
from typing import Final

import structlog

from orchestrator.engine.desk import Desk
from orchestrator.engine.intake import Intake
from orchestrator.engine.orders import tracker
from orchestrator.engine.outward import shown_key
from orchestrator.errors import BadInput
from orchestrator.pipeline.commands import (
    Command,
    ConfirmDeploy,
    DecideAnalysis,
    HoldItem,
    RetryItem,
    StopItem,
)
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import TERMINAL, Stage
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
        """Look at every project's changes since the last look; how many gestures were new."""
        new = 0
        for project in await self._projects.all():
            key = f"tracker-cursor:{project.name}"
            since = await self._cursor(key)
            tickets = await self._tracker.changed_since(project.name, since)
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
        """Carry out a person's gesture; the state that we wrote ourselves is no gesture."""
        await self._note_edits(ticket)
        if ticket.state not in HUMAN_GESTURES:
            return False
        shown = await self._store.transact(lambda tx: tx.projects.recall(shown_key(ticket.ref)))
        if shown == ticket.state:
            return False
        item = await self._store.transact(lambda tx: tx.items.by_ref(ticket.ref))
        # Known from here on: editing a ticket that still shows this state is not the same gesture again.
        await self._store.transact(lambda tx: tx.projects.remember(shown_key(ticket.ref), ticket.state))
        try:
            if item is None:
                return await self._start(ticket)
            command = await self._command(ticket, item)
            if command is None:
                return False
            key = f"{SOURCE}:{ticket.ref}:{ticket.state}:{ticket.updated_at.isoformat()}"
            accepted = await self._intake.accept(command, source=SOURCE, content_key=key)
        except BadInput as error:
            log.info("gesture_ignored", ticket=ticket.number, state=ticket.state, reason=str(error))
            if item is not None:
                await self._store.transact(lambda tx: tx.jobs.enqueue(tracker(item)))
            return False
        return accepted.fresh

    async def _note_edits(self, ticket: Ticket) -> None:
        """Before work begins, the author may still change what is asked for (a title that QG-0 refused)."""

        def note(tx: Transaction) -> None:
            item = tx.items.by_ref(ticket.ref)
            known = item is not None and (item.title, item.description) == (ticket.title, ticket.description)
            if item is None or known or item.stage is not Stage.CREATED:
                return
            tx.items.note_ticket(
                item.task_id,
                title=ticket.title,
                description=ticket.description,
                labels=ticket.labels,
                track=item.track,
            )

        await self._store.transact(note)

    async def _start(self, ticket: Ticket) -> bool:
        if ticket.state is not TrackerState.TODO:
            return False
        return (await self._desk.start(ticket, source=SOURCE)).fresh

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
                return RetryItem(id=item.id, by=by)
        return None

    async def _is_held(self, item: WorkItem) -> bool:
        return await self._store.transact(lambda tx: tx.facts.hold(item.task_id)) is not None
