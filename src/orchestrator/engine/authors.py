"""Whose words reach an agent: who may write what an item asks for, and which text was let in.

An item is a text that a model will read. What somebody wrote who is not on the project's list waits, before
any work begins, until a person has read it.
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from orchestrator.engine.orders import look_at_waiting, notify, tracker
from orchestrator.pipeline.items import Hold, WorkItem
from orchestrator.pipeline.policies import track_of
from orchestrator.pipeline.stages import Stage
from orchestrator.pipeline.untrusted import text_digest
from orchestrator.ports.projects import ProjectRegistry
from orchestrator.ports.store import Transaction
from orchestrator.ports.tracker import Ticket, Tracker

NAMELESS: Final = "somebody whom the tracker does not name"


class Authors:
    """Tells who may write what is handed to agents unread."""

    def __init__(self, *, projects: ProjectRegistry, tracker: Tracker) -> None:
        self._projects = projects
        self._tracker = tracker

    async def stranger(self, project: str, *writers: str) -> str | None:
        """The first of ``writers`` whose words a person has to read first; ``None`` when there is none.

        Raises:
            Rejected: there is no such project.
            Unavailable: the tracker does not tell who its members are.
        """
        known: frozenset[str] | None = frozenset((await self._projects.project(project)).authors)
        if not known:
            known = await self._tracker.members(project)
        if known is None:
            return None
        return next((writer.strip() or NAMELESS for writer in writers if writer.strip() not in known), None)

    async def stranger_behind(self, ticket: Ticket) -> str | None:
        """The stranger among those who wrote the ticket's present text."""
        return await self.stranger(ticket.project, ticket.edited_by or ticket.author)


def approve(tx: Transaction, item: WorkItem) -> WorkItem:
    """The text that ``item`` shows may be handed to agents; the item with this noted."""
    digest = text_digest(item.title, item.description)
    tx.items.approve_text(item.task_id, digest)
    return replace(item, text_approved=digest)


def is_approved(item: WorkItem) -> bool:
    """Whether the item's present text is the one that was let in."""
    return item.text_approved == text_digest(item.title, item.description)


def keep_out(tx: Transaction, item: WorkItem, stranger: str, now: datetime) -> None:
    """Hold an item whose text a person has to read first, and tell people once."""
    who = " ".join(stranger.split())
    reason = (
        f"the text is by {who}, who is not among the authors of {item.project}; read it, then "
        f"'orch item retry {item.id}' lets it in as it stands"
    )
    tx.facts.put_on_hold(
        item.task_id,
        Hold(
            reason=reason, since=now, who_can_unblock="an operator who has read it (orch item retry, or stop)"
        ),
    )
    tx.jobs.enqueue(tracker(item))
    tx.jobs.enqueue(notify(item, key=f"hold:{item.epoch}:{item.stage}", text=f"{item.id}: {reason}"))
    look_at_waiting(tx, item.project)


def note_ticket(tx: Transaction, ticket: Ticket, stranger: str | None, now: datetime) -> WorkItem | None:
    """The ticket's item, with what the ticket asks for now: that may be changed before work begins.

    A changed text of ``stranger`` is held, unless the item is on hold already; anybody else's is let in.
    """
    item = tx.items.by_ref(ticket.ref)
    if item is None or item.stage is not Stage.CREATED:
        return item
    if (item.title, item.description, item.labels) == (ticket.title, ticket.description, ticket.labels):
        return item
    tx.items.note_ticket(
        item.task_id,
        title=ticket.title,
        description=ticket.description,
        labels=ticket.labels,
        track=track_of(ticket.labels),
    )
    noted = tx.items.get(item.task_id) or item
    if (noted.title, noted.description) != (item.title, item.description):
        if stranger is None:
            return approve(tx, noted)
        if tx.facts.hold(item.task_id) is None:
            keep_out(tx, noted, stranger, now)
    return noted
