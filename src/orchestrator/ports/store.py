"""The store: facts, and one way to change them (a short synchronous transaction)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Final, Protocol, TypeVar

from orchestrator.pipeline.budgets import Account, Ceiling, Scope
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.ids import CodeId, Commit, Epoch, EventId, JobId, RunId, TaskId, WorkItemId
from orchestrator.pipeline.items import Approval, Hold, WorkItem
from orchestrator.pipeline.rounds import Round
from orchestrator.pipeline.stages import Stage, Track
from orchestrator.pipeline.verdicts import Verdict
from orchestrator.ports.agent import RunView, Usage
from orchestrator.ports.queue import Job, JobKind, NewJob

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class NewItem:
    """A work item that intake accepted."""

    id: WorkItemId
    project: str
    title: str
    description: str
    tracker_ref: str
    track: Track
    branch: str
    base: str
    labels: tuple[str, ...] = ()
    author: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """A fact that arrived from outside: a gesture in a tracker, a push, a command of a person."""

    id: EventId
    source: str
    kind: str
    received_at: datetime
    payload: Mapping[str, object]
    task_id: TaskId | None = None
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class TransitionRow:
    """One change of stage (or of epoch within a stage), for the audit trail."""

    at: datetime
    from_stage: Stage
    to_stage: Stage
    epoch: Epoch
    kind: str
    reason: str
    trigger: str
    commit: Commit | None
    evidence: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """A verdict as it is stored: bound to gate, epoch, code and the stage it was asked in."""

    gate: GateName
    verdict: Verdict
    epoch: Epoch
    stage: Stage
    at: datetime


@dataclass(frozen=True, slots=True)
class ProjectState:
    """What is stored of a project: its registration, and what its base branch is known to do."""

    name: str
    settings: Mapping[str, object]
    frozen: str | None = None
    coverage_baseline: float | None = None


@dataclass(frozen=True, slots=True)
class NewRun:
    """With what an agent's run is launched; it reserves up to ``ceiling`` and ``limit``, its time limit."""

    role: str
    model: str | None
    effort: str | None
    log_path: str
    start_commit: Commit
    cli: str = ""
    cli_version: str = ""
    ceiling: Ceiling = field(default_factory=Ceiling)
    limit: timedelta | None = None


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run that was stamped: the commit that it started from, and what it may consume."""

    id: RunId
    start_commit: Commit
    ceiling: Ceiling = field(default_factory=Ceiling)


NO_WORK: Final = frozenset({"limit", "lost", "not started"})
"""Outcomes of runs that never got to work: what they consumed counts, but they are no run of a budget."""


class CostKey(StrEnum):
    """By what costs are added up."""

    ITEM = "item"
    ROLE = "role"
    MODEL = "model"
    DAY = "day"
    PROJECT = "project"


@dataclass(frozen=True, slots=True)
class CostRow:
    """What the runs with one value of a key consumed; ``seconds`` are those of runs that have ended."""

    key: str
    runs: int
    usage: Usage
    seconds: float


class Items(Protocol):
    """Work items, and the one write that moves them."""

    def add(self, item: NewItem) -> WorkItem:
        """Store a new item in stage ``created``, epoch 1; ``Conflict`` when the number or ref is taken."""
        ...

    def get(self, task_id: TaskId) -> WorkItem | None: ...

    def by_id(self, item_id: WorkItemId) -> WorkItem | None: ...

    def by_ref(self, tracker_ref: str) -> WorkItem | None: ...

    def by_branch(self, project: str, branch: str) -> WorkItem | None: ...

    def all(self, project: str | None = None) -> Sequence[WorkItem]:
        """All items, oldest first."""
        ...

    def open(self, project: str | None = None) -> Sequence[WorkItem]:
        """Items that are neither done nor cancelled, oldest first."""
        ...

    def move(self, item: WorkItem, *, to: Stage, epoch: Epoch) -> WorkItem:
        """Compare-and-swap on (stage, epoch): ``Conflict`` when the stored pair is not the item's."""
        ...

    def note_head(self, task_id: TaskId, *, head: Commit, code: CodeId) -> None: ...

    def note_pull_request(self, task_id: TaskId, number: int) -> None: ...

    def note_merged(self, task_id: TaskId, commit: Commit | None) -> None: ...

    def note_branch(self, task_id: TaskId, branch: str, attempt: int) -> None:
        """The next round works on another branch: head, pull request and merged commit are forgotten."""
        ...

    def note_ticket(
        self, task_id: TaskId, *, title: str, description: str, labels: Sequence[str], track: Track
    ) -> None: ...

    def approve_text(self, task_id: TaskId, digest: str) -> None:
        """The title and description with this digest may be handed to agents; no other text of the item."""
        ...

    def blockers(self, task_id: TaskId) -> Sequence[WorkItem]:
        """Unfinished items that this one depends on (``job_deps``, ORCH-026)."""
        ...

    def depend(self, task_id: TaskId, on: TaskId) -> None:
        """Record a dependency; ``Rejected`` naming the cycle when it would close one."""
        ...


class Facts(Protocol):
    """What was observed and decided about items: verdicts, rounds, holds, approvals, transitions, lessons."""

    def add_verdict(self, task_id: TaskId, row: VerdictRow) -> None: ...

    def verdicts(self, task_id: TaskId, epoch: Epoch | None = None) -> Sequence[VerdictRow]:
        """Oldest first; all epochs for ``None``."""
        ...

    def add_round(self, task_id: TaskId, round_: Round) -> None: ...

    def rounds(self, task_id: TaskId) -> Sequence[Round]: ...

    def put_on_hold(self, task_id: TaskId, hold: Hold) -> None:
        """Open a hold; an open hold with the same reason is left as it is."""
        ...

    def release_hold(self, task_id: TaskId, *, by: str) -> bool: ...

    def hold(self, task_id: TaskId) -> Hold | None: ...

    def add_approval(self, task_id: TaskId, approval: Approval) -> None: ...

    def approvals(self, task_id: TaskId) -> Sequence[Approval]: ...

    def add_transition(self, task_id: TaskId, row: TransitionRow) -> None: ...

    def transitions(self, task_id: TaskId) -> Sequence[TransitionRow]: ...

    def add_lesson(self, task_id: TaskId | None, *, type: str, status: str, text: str) -> None: ...

    def lessons(self, limit: int = 20) -> Sequence[Mapping[str, object]]: ...


class Jobs(Protocol):
    """Enqueueing and looking at jobs within the caller's transaction."""

    def enqueue(self, job: NewJob) -> JobId:
        """Queue ``job``; one with its ``dedup`` key that is queued already is made due earlier instead."""
        ...

    def finish(self, job: Job, result: Mapping[str, object]) -> bool:
        """End a running job as done; ``False`` when it is not running for us any more."""
        ...

    def fail(self, job: Job, error: str, result: Mapping[str, object]) -> bool: ...

    def of_visit(self, task_id: TaskId, stage: Stage, epoch: Epoch) -> Sequence[Job]:
        """The ``produce`` jobs of one visit to a stage, oldest first."""
        ...

    def of_item(self, task_id: TaskId) -> Sequence[Job]: ...

    def count_marker(self, task_id: TaskId, marker: str, epoch: Epoch) -> int:
        """How many jobs of the item carry ``marker`` in their content in this epoch (inventory §6.3)."""
        ...

    def cancel(self, task_id: TaskId, kinds: Sequence[JobKind]) -> Sequence[Job]:
        """Cancel the item's queued and running jobs of these kinds; those that were running are returned."""
        ...

    def recent(self, limit: int = 20) -> Sequence[Job]: ...

    def counts(self) -> Mapping[str, int]:
        """Jobs by status."""
        ...


class Runs(Protocol):
    """Attempts of agents (table ``agent_runs``): stamped at launch, settled at the end (ORCH-109)."""

    def resume(self, job: Job) -> StartedRun | None:
        """The run of this job and attempt; ``None`` when it has none yet and one may be started.

        What earlier attempts of the job left open is ended as ``lost``: nobody works on them any more. From
        here to the end of the transaction nobody else starts a run in the job's project, so that what the
        accounts say still holds when the run is stamped.
        """
        ...

    def start(self, job: Job, new: NewRun) -> StartedRun:
        """The run of this job and attempt, stamped if there is none: one that is found keeps its stamp."""
        ...

    def stamped(self, run_id: RunId) -> StartedRun | None:
        """A run as it was stamped; ``None`` when it is unknown."""
        ...

    def note_usage(self, run_id: RunId, usage: Usage) -> None:
        """What a run under way has consumed so far: no figure is lowered, a settled run stays as it is."""
        ...

    def end(self, run_id: RunId, *, exit_code: int | None, outcome: str, usage: Usage | None) -> None:
        """Settle the run; one that is settled already stays as it is.

        ``usage`` is what it consumed in the end, which may be less than what was noted on the way. ``None``
        is for a run that says nothing about it: then what was noted counts.
        """
        ...

    def get(self, run_id: RunId) -> RunView | None: ...

    def of_item(self, task_id: TaskId) -> Sequence[RunView]: ...

    def accounts(
        self, project: str, since: datetime, *, task_id: TaskId | None = None, role: str = ""
    ) -> Mapping[Scope, Account]:
        """What was consumed and is reserved in the project, and by its runs of the day, since ``since``.

        The scopes ``item`` and ``role`` (the role's runs for it) are there if ``task_id`` and ``role`` are.
        A run reserves up to its ceiling and time limit while it is not settled and its job is running, or
        queued to find it again.
        """
        ...

    def costs(
        self, by: CostKey, *, zone: tzinfo, project: str | None = None, since: datetime | None = None
    ) -> Sequence[CostRow]:
        """What runs consumed, by ``by``, its values in order; a day is one of ``zone``."""
        ...

    def totals(self) -> Sequence[Mapping[str, object]]:
        """Per role and model: runs, tokens in and out, cost, seconds; for ``GET /metrics``."""
        ...


class Events(Protocol):
    """Facts from outside, stored before they are acted on."""

    def add(
        self, *, source: str, kind: str, payload: Mapping[str, object], content_key: str
    ) -> EventId | None:
        """Store an event; ``None`` when one with this content key is stored already."""
        ...

    def get(self, event_id: EventId) -> Event | None: ...

    def settle(self, event_id: EventId, *, outcome: str, task_id: TaskId | None) -> None: ...

    def of_item(self, task_id: TaskId) -> Sequence[Event]: ...

    def recent(self, limit: int = 50) -> Sequence[Event]: ...

    def count(self) -> int: ...


class Projects(Protocol):
    """Registered projects and their state."""

    def put(self, name: str, settings: Mapping[str, object]) -> None: ...

    def get(self, name: str) -> ProjectState | None: ...

    def all(self) -> Sequence[ProjectState]: ...

    def remove(self, name: str) -> None:
        """Forget a project; forgetting what is not there is no change."""
        ...

    def freeze(self, name: str, reason: str | None) -> None: ...

    def raise_coverage(self, name: str, percent: float) -> None:
        """Raise the baseline; it is never lowered here (ORCH-027)."""
        ...

    def remember(self, key: str, value: str) -> None:
        """A named value of the installation (poll cursors, the stop switch)."""
        ...

    def recall(self, key: str) -> str | None: ...


class Transaction(Protocol):
    """One short transaction; nothing in it can be awaited."""

    @property
    def items(self) -> Items: ...
    @property
    def facts(self) -> Facts: ...
    @property
    def jobs(self) -> Jobs: ...
    @property
    def runs(self) -> Runs: ...
    @property
    def events(self) -> Events: ...
    @property
    def projects(self) -> Projects: ...


class Store(Protocol):
    """The unit of work."""

    async def transact(self, action: Callable[[Transaction], Result]) -> Result:
        """Run ``action`` in one transaction: all of it is stored, or (when it raises) nothing.

        Raises ``Conflict`` for a lost race and ``Unavailable`` when the database does not answer.
        """
        ...

    def version(self) -> int:
        """A number that grows with every commit of this process, for pages that follow along."""
        ...
