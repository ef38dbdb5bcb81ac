"""Jobs: queued pieces of work, delivered at least once and soon."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol, TypeAlias

from orchestrator.pipeline.ids import CodeId, Commit, Epoch, JobId, TaskId
from orchestrator.pipeline.stages import Stage


class JobKind(StrEnum):
    """What a job asks for; rows carry a kind and additive JSON, never a code version."""

    INTAKE = "intake"
    LOOK = "look"
    PRODUCE = "produce"
    WATCH = "watch"
    TRACKER = "tracker"
    NOTIFY = "notify"
    CLEANUP = "cleanup"


WORK_KINDS = frozenset({JobKind.PRODUCE, JobKind.WATCH})
"""Kinds that occupy one of the ``max_concurrency`` slots; the others are short and always served."""


class JobStatus(StrEnum):
    """Inventory §6.1, plus the end of a job that its item has moved past."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


ACTIVE = (JobStatus.QUEUED, JobStatus.RUNNING)
"""The statuses of a job that has not ended."""


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to be queued.

    ``agent`` is the role (or reserved role) for whom the work is, ``dedup`` a key of which at most one job
    is queued at a time (a second one only moves the first one earlier), ``content`` the task text whose
    marker lines count defers (inventory §6.3), ``data`` additive JSON for the handler, ``attempts`` those
    that an earlier job for the same work has spent already.
    """

    kind: JobKind
    task_id: TaskId | None = None
    project: str = ""
    agent: str = ""
    stage: Stage | None = None
    epoch: Epoch | None = None
    commit: Commit | None = None
    code: CodeId | None = None
    content: str = ""
    data: Mapping[str, object] = field(default_factory=dict)
    dedup: str | None = None
    delay: timedelta = timedelta()
    priority: int = 0
    max_attempts: int = 3
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it is stored; ``attempts`` counts failed attempts only (waiting costs none)."""

    id: JobId
    kind: JobKind
    status: JobStatus
    task_id: TaskId | None
    project: str
    agent: str
    stage: Stage | None
    epoch: Epoch | None
    commit: Commit | None
    code: CodeId | None
    content: str
    data: Mapping[str, object]
    attempts: int
    max_attempts: int
    available_at: datetime
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    error: str = ""
    result: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Done:
    """The handler is through; the worker ends the job with this result."""

    result: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Later:
    """The handler waits for something; the job comes back after this pause and no attempt is spent."""

    after: timedelta
    reason: str


@dataclass(frozen=True, slots=True)
class Settled:
    """The handler ended the job itself, in the transaction that stored its effect."""


Ending: TypeAlias = Done | Later | Settled


class Handler(Protocol):
    """Does the work of one kind of job."""

    async def __call__(self, job: Job) -> Ending: ...


class Queue(Protocol):
    """Claiming and ending jobs; enqueueing happens inside a transaction (``Transaction.jobs``)."""

    async def claim(self, kinds: Collection[JobKind]) -> Job | None:
        """Take the next due job of these kinds for this process; ``None`` when there is none."""
        ...

    async def retry(self, job: Job, *, after: timedelta, error: str, spend: bool) -> None:
        """Put a running job back; ``spend`` counts an attempt."""
        ...

    async def fail(self, job: Job, *, error: str) -> None:
        """End a running job as failed."""
        ...

    async def finish(self, job: Job, result: Mapping[str, object]) -> None:
        """End a running job as done; a job that was cancelled meanwhile stays cancelled."""
        ...

    async def requeue_dead(self) -> int:
        """Queue again the running jobs of processes that are gone; how many (inventory §6.4)."""
        ...

    async def wait(self, timeout: timedelta) -> None:
        """Return when something was enqueued here, when a queued job becomes due, or after ``timeout``."""
        ...

    async def next_due(self, kinds: Collection[JobKind]) -> datetime | None:
        """When the earliest queued job of these kinds becomes due."""
        ...
