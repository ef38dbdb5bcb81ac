"""The tracker: where people file work items and say what may happen (Plane, or the built-in board)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class TrackerState(StrEnum):
    """The states that steer or show the pipeline; values are the names on the board (inventory §14)."""

    BACKLOG = "Backlog"
    TODO = "Todo"
    IN_PROGRESS = "In Progress"
    NEEDS_APPROVAL = "Needs Approval"
    APPROVED = "Approved"
    REJECTED = "Rejected"
    AWAITING_CONFIRM = "Awaiting Confirm"
    CONFIRM_DEPLOY = "Confirm Deploy"
    BLOCKED = "Blocked"
    NEEDS_INPUT = "Needs Input"
    DONE = "Done"
    CANCELLED = "Cancelled"


HUMAN_GESTURES = frozenset(
    {
        TrackerState.TODO,
        TrackerState.APPROVED,
        TrackerState.REJECTED,
        TrackerState.CONFIRM_DEPLOY,
        TrackerState.BLOCKED,
        TrackerState.NEEDS_INPUT,
        TrackerState.CANCELLED,
    }
)
"""States that a person sets to tell us something; all others are only written by us."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A work item as its tracker has it; ``ref`` is the tracker's own key, ``number`` what people say.

    ``author`` filed it; ``edited_by`` is who last changed title or description, empty: the author.
    """

    ref: str
    number: str
    project: str
    title: str
    description: str
    state: TrackerState
    labels: tuple[str, ...]
    author: str
    updated_at: datetime
    blocked_by: tuple[str, ...] = ()
    edited_by: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment of ours or of a person; ``key`` is set on ours and recognises them again."""

    id: str
    author: str
    text: str
    at: datetime
    key: str = ""


class Tracker(Protocol):
    """What the orchestrator reads from and writes to a tracker.

    Every method raises ``Unavailable``, ``Rejected``, ``Malformed`` or ``Conflict``.
    """

    async def ticket(self, ref: str) -> Ticket:
        """The item as it is now; ``Rejected`` when there is none."""
        ...

    async def changed_since(self, project: str, since: datetime | None) -> Sequence[Ticket]:
        """Items of ``project`` that changed at or after ``since`` (all for ``None``), oldest change first."""
        ...

    async def set_state(self, ref: str, state: TrackerState) -> None:
        """Make ``state`` the item's state; writing the present state is no change."""
        ...

    async def put_comment(self, ref: str, key: str, text: str) -> None:
        """Write the comment ``key`` once; if it exists its text is replaced in place (ORCH-016)."""
        ...

    async def comments(self, ref: str) -> Sequence[Comment]:
        """All comments, oldest first."""
        ...

    async def set_labels(self, ref: str, labels: Sequence[str]) -> None:
        """Make ``labels`` the item's labels."""
        ...

    async def members(self, project: str) -> frozenset[str] | None:
        """Who belongs to ``project``, by the names that tickets give; ``None``: everybody who can write."""
        ...


class Filing(Protocol):
    """A tracker in which the orchestrator itself may file items for people (the built-in board)."""

    async def file(
        self,
        project: str,
        title: str,
        description: str = "",
        *,
        author: str,
        labels: Sequence[str] = (),
        state: TrackerState = TrackerState.TODO,
        blocked_by: Sequence[str] = (),
    ) -> Ticket:
        """File an item under the project's next number; ``Rejected`` for an unknown project or no title."""
        ...

    async def edit(self, ref: str, *, title: str, description: str, by: str) -> Ticket:
        """A person changes what an item asks for; ``Rejected`` for an unknown item or no title."""
        ...
