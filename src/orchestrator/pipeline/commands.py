"""What may be asked of the pipeline; each is a fact that somebody recorded, never a stage write."""

from dataclasses import dataclass
from typing import TypeAlias

from orchestrator.pipeline.ids import WorkItemId


@dataclass(frozen=True, slots=True)
class StartItem:
    """A tracker says that work on this item shall begin.

    ``author`` filed it; ``edited_by`` wrote the text as it is now, when that was somebody else.
    """

    id: WorkItemId
    project: str
    title: str
    description: str
    tracker_ref: str
    labels: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    author: str = ""
    edited_by: str = ""


@dataclass(frozen=True, slots=True)
class DecideAnalysis:
    """A person approved or rejected the analysis documents; ``subject`` is the digest of what was seen."""

    id: WorkItemId
    granted: bool
    subject: str
    by: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class ConfirmDeploy:
    """A person allows production to change to the commit that was merged."""

    id: WorkItemId
    by: str


@dataclass(frozen=True, slots=True)
class StopItem:
    """The item is cancelled: its processes end and it never moves again."""

    id: WorkItemId
    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RetryItem:
    """A person releases the hold and asks for another try.

    ``has_read`` says that this person answers for the item's text as it stands. Whoever sets a state in the
    tracker may be the text's own author, and answers for nothing.
    """

    id: WorkItemId
    by: str
    has_read: bool = True


@dataclass(frozen=True, slots=True)
class HoldItem:
    """A person stops the item for now (Blocked, Needs Input)."""

    id: WorkItemId
    by: str
    reason: str


Command: TypeAlias = StartItem | DecideAnalysis | ConfirmDeploy | StopItem | RetryItem | HoldItem
