"""The work item and the facts that a decision about it rests on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.ids import CodeId, Commit, Epoch, JobId, TaskId, WorkItemId
from orchestrator.pipeline.rounds import Round
from orchestrator.pipeline.stages import Stage, Track
from orchestrator.pipeline.verdicts import FailureClass, Verdict


@dataclass(frozen=True, slots=True)
class WorkItem:
    """One work item as it is stored; ``head`` and ``code`` are what its branch was last seen to hold.

    ``merged`` is the commit that the base branch got from it, ``branch_attempt`` counts branches (a new one
    is cut when the old one is merged already), ``author`` is who filed it, ``text_approved`` the digest of
    the title and description that somebody let in (`untrusted.text_digest`); empty while nobody did.
    """

    task_id: TaskId
    id: WorkItemId
    project: str
    title: str
    description: str
    tracker_ref: str
    track: Track
    stage: Stage
    epoch: Epoch
    branch: str
    base: str
    created_at: datetime
    entered_at: datetime
    head: Commit | None = None
    code: CodeId | None = None
    pull_request: int | None = None
    merged: Commit | None = None
    branch_attempt: int = 1
    labels: tuple[str, ...] = ()
    author: str = ""
    text_approved: str = ""


class Waiter(StrEnum):
    """Who or what an item waits for."""

    PERSON = "person"
    TIME = "time"
    WORK = "work"
    ITEM = "item"


@dataclass(frozen=True, slots=True)
class Hold:
    """The item waits for a person; nothing moves it but that person."""

    reason: str
    since: datetime
    who_can_unblock: str
    failure: FailureClass | None = None


class WorkState(StrEnum):
    """How far the work of a stage is in this epoch."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Work:
    """The producer's work of one visit to a stage.

    ``ordered_at`` is the head when the work was ordered, ``delivered`` the head that the producer left,
    ``code`` the code id of that head. ``tool_error`` says why a deterministic producer could not judge
    although its defer budget is spent: such work fails closed without blaming the code (ORCH-110).
    """

    job_id: JobId
    state: WorkState
    producer: str
    ordered_at: Commit | None = None
    delivered: Commit | None = None
    code: CodeId | None = None
    summary: str = ""
    tool_error: str = ""
    failure: FailureClass | None = None


class ApprovalKind(StrEnum):
    """The two decisions that only a person takes (inventory §3.5)."""

    ANALYSIS = "analysis"
    DEPLOY = "deploy"


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's decision, bound to what that person saw (architecture §2a).

    ``subject`` is the digest of the analysis documents, or the merged commit that may be deployed.
    """

    kind: ApprovalKind
    subject: str
    granted: bool
    by: str
    at: datetime
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Queueing:
    """Why an item that has not started may have to wait: serial gate, freeze, dependencies (ORCH-026/088)."""

    frozen: str | None = None
    place_taken_by: WorkItemId | None = None
    blocked_by: tuple[WorkItemId, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """Everything that is known about one item when the door looks at it.

    ``verdicts`` holds the newest verdict of each gate that was given in the item's present epoch,
    ``doubted_for`` how long the oldest unanswered gate of this visit has been inconclusive.
    """

    item: WorkItem
    work: Work | None = None
    verdicts: Mapping[GateName, Verdict] = field(default_factory=dict)
    rounds: tuple[Round, ...] = ()
    hold: Hold | None = None
    approvals: tuple[Approval, ...] = ()
    queueing: Queueing = Queueing()
    doubted_for: timedelta = timedelta()

    def approval(self, kind: ApprovalKind, subject: str) -> Approval | None:
        """The newest decision of ``kind`` on exactly ``subject``."""
        matching = [a for a in self.approvals if a.kind is kind and a.subject == subject]
        return sorted(matching, key=lambda a: a.at)[-1] if matching else None
