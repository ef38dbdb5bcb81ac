"""The job queue in the store's own table: enqueued with its cause, started within milliseconds."""

from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Executable, and_, bindparam, exists, false, func, or_, select

from orchestrator.errors import Conflict
from orchestrator.pipeline.stages import TERMINAL
from orchestrator.ports.queue import Job, JobKind, JobStatus
from orchestrator.store.columns import Instant
from orchestrator.store.database import Bell, Database, first_of
from orchestrator.store.jobs import end_held, held_by, job_of
from orchestrator.store.owners import Alive, Owner, is_alive
from orchestrator.store.tables import job_deps, jobs, tasks
from orchestrator.store.unit import Unit


@dataclass(slots=True)
class _Round:
    """What a worker did since it last waited: how often the bell had been rung when it first claimed."""

    bell: Bell
    since: int | None = None


@dataclass(frozen=True, slots=True)
class _Left:
    """What a claim left behind: what was known then, and when the earliest job was or becomes due."""

    rung: int
    elsewhere: int
    due: datetime | None


# Tasks started by a worker see what it claimed: a worker may wait in a task of its own.
_ROUND: Final[ContextVar[_Round | None]] = ContextVar("round", default=None)


class SqlQueue:
    """`ports.queue.Queue` for one process, on whichever database the store uses."""

    def __init__(self, database: Database, *, alive: Alive = is_alive) -> None:
        """Claim for the owner of ``database``; ``alive`` tells whether another owner is still there."""
        self._database = database
        self._alive = alive
        self._left: dict[frozenset[JobKind], _Left] = {}

    async def claim(self, kinds: Collection[JobKind]) -> Job | None:
        """Take the next due job of these kinds for this process; ``None`` when there is none.

        The higher priority first, then the older job. Work for an item that waits for another one is left
        alone (ORCH-026).
        """
        present = self._round()
        if present.since is None:
            present.since = present.bell.rung
        wanted = frozenset(kinds)
        # Read before the look, so that what is enqueued during it counts as news.
        rung, elsewhere = present.bell.last_for(wanted), self._database.changes_elsewhere()
        if self._is_known_to_be_empty(wanted, rung, elsewhere):
            return None
        job, due = await self._database.perform(lambda unit: _claim(unit, wanted), durable=False)
        if self._database.sees_all_changes:
            self._left[wanted] = _Left(rung, elsewhere, due)
        return job

    def _is_known_to_be_empty(self, kinds: frozenset[JobKind], rung: int, elsewhere: int) -> bool:
        """Whether nothing was enqueued since the last claim, and nothing that it left is due."""
        left = self._left.get(kinds)
        if left is None or (left.rung, left.elsewhere) != (rung, elsewhere):
            return False
        return left.due is None or self._database.clock.now() < left.due

    async def retry(self, job: Job, *, after: timedelta, error: str, spend: bool) -> None:
        """Put a running job back; ``spend`` counts an attempt.

        Its next run is a new one: `Runs.start` gives another run id. If a job with the same ``dedup`` key was
        queued meanwhile, that one goes on instead. A job that was cancelled stays cancelled.

        Raises:
            Conflict: the job is not running for this process any more.
        """
        back = {
            "available_at": self._database.clock.now() + after,
            "error": error,
            "attempts": jobs.c.attempts + int(spend),
            "retries": jobs.c.retries + 1,
        }
        await self._change(job, lambda unit: _put_back(unit, held_by(unit.owner, job), back))

    async def fail(self, job: Job, *, error: str) -> None:
        """End a running job as failed; a job that was cancelled stays cancelled.

        Raises:
            Conflict: as `retry`.
        """
        await self._end(job, status=JobStatus.FAILED, error=error)

    async def finish(self, job: Job, result: Mapping[str, object]) -> None:
        """End a running job as done; a job that was cancelled meanwhile stays cancelled.

        Raises:
            Conflict: as `retry`.
        """
        # A handler whose end was not noted is asked again, after a power cut as after a crash.
        await self._end(job, durable=False, status=JobStatus.DONE, error="", result=dict(result))

    async def requeue_dead(self) -> int:
        """Queue again the running jobs of processes that are gone; how many (inventory §6.4)."""
        return await self._database.perform(self._requeue)

    async def wait(self, timeout: timedelta) -> None:
        """Return when something was enqueued in this process, or when ``timeout`` is over.

        What was enqueued since the caller's first claim after its last wait counts, so that nothing is missed
        in between, whatever the kinds that were claimed.
        """
        present = self._round()
        since = present.bell.rung if present.since is None else present.since
        present.since = None
        await first_of(present.bell, since, self._database.clock, timeout)

    async def next_due(self, kinds: Collection[JobKind]) -> datetime | None:
        """When the earliest queued job of these kinds becomes due."""
        query = _statements(frozenset(kinds)).next_due
        found: datetime | None = await self._database.perform(lambda unit: unit.value(query), read=True)
        return found

    def _round(self) -> _Round:
        present = _ROUND.get()
        if present is None or present.bell is not self._database.bell:
            present = _Round(self._database.bell)
            _ROUND.set(present)
        return present

    async def _end(self, job: Job, *, durable: bool = True, **values: object) -> None:
        def end(unit: Unit) -> int:
            return end_held(unit, job, **values)

        await self._change(job, end, durable=durable)

    async def _change(self, job: Job, change: Callable[[Unit], int], *, durable: bool = True) -> None:
        def guarded(unit: Unit) -> None:
            if change(unit):
                return
            status = unit.value(select(jobs.c.status).where(jobs.c.id == job.id))
            if status != JobStatus.CANCELLED:
                raise Conflict(f"job {job.id} is not running for this process any more")

        await self._database.perform(guarded, durable=durable)

    def _requeue(self, unit: Unit) -> int:
        running = select(jobs.c.id, jobs.c.pid, jobs.c.owner_boot).where(jobs.c.status == JobStatus.RUNNING)
        rows = unit.rows(running.order_by(jobs.c.id))
        holders = {(row.pid, row.owner_boot) for row in rows}
        gone = {holder for holder in holders if not self._holds(unit, *holder)}
        # One by one: of two with the same dedup key the second has to find the first one queued.
        return sum(
            _put_back(unit, (jobs.c.id == row.id,), {"available_at": unit.now()})
            for row in rows
            if (row.pid, row.owner_boot) in gone
        )

    def _holds(self, unit: Unit, pid: int | None, boot: str | None) -> bool:
        if pid is None or boot is None:
            return False
        owner = Owner(pid, boot)
        return owner == unit.owner or self._alive(owner)


def _claim(unit: Unit, kinds: frozenset[JobKind]) -> tuple[Job | None, datetime | None]:
    """The job that was claimed, and when the earliest of the others was or becomes due."""
    owner, now = unit.owner, unit.now()
    mine = {"owner_pid": owner.pid, "boot": owner.boot, "now": now}
    statements = _statements(kinds)
    claimed = unit.written(statements.claim, mine)
    return job_of(claimed[0]) if claimed else None, unit.value(statements.next_due)


def _claimable(kinds: frozenset[JobKind]) -> ColumnElement[bool]:
    """Queued, of one of the ``kinds``, and not work for an item with an unfinished dependency.

    Alternatives are written out: a list in a parameter would be put into the text at each execution.
    """
    needed = tasks.alias("needed")
    waits = exists().where(
        job_deps.c.task_id == jobs.c.task_id,
        needed.c.id == job_deps.c.depends_on_id,
        *(needed.c.stage != stage for stage in sorted(TERMINAL)),
    )
    free = or_(jobs.c.kind != JobKind.PRODUCE, ~waits)
    wanted = or_(false(), *(jobs.c.kind == kind for kind in sorted(kinds)))
    return and_(jobs.c.status == JobStatus.QUEUED, wanted, free)


def _claiming(kinds: frozenset[JobKind]) -> Executable:
    now = bindparam("now", type_=Instant)
    due = select(jobs.c.id).where(_claimable(kinds), jobs.c.available_at <= now)
    first = due.order_by(jobs.c.priority.desc(), jobs.c.id).limit(1).with_for_update(skip_locked=True)
    return (
        jobs.update()
        .where(jobs.c.id == first.scalar_subquery(), jobs.c.status == JobStatus.QUEUED)
        .values(
            status=JobStatus.RUNNING,
            pid=bindparam("owner_pid"),
            owner_boot=bindparam("boot"),
            started_at=now,
        )
        .returning(*jobs.c)
    )


@dataclass(frozen=True, slots=True)
class _Statements:
    """What is asked of the jobs of some kinds."""

    claim: Executable
    next_due: Executable


@cache
def _statements(kinds: frozenset[JobKind]) -> _Statements:
    """Built once: building them takes longer than executing them does."""
    return _Statements(_claiming(kinds), select(func.min(jobs.c.available_at)).where(_claimable(kinds)))


def _put_back(unit: Unit, held: tuple[ColumnElement[bool], ...], values: dict[str, Any]) -> int:
    """Queue a running job again; one with the same ``dedup`` key that is queued already goes on instead."""
    newer = jobs.alias("newer")
    replaced = exists().where(newer.c.dedup == jobs.c.dedup, newer.c.status == JobStatus.QUEUED)
    unit.enqueued.update(JobKind)
    superseded = jobs.update().where(*held, replaced)
    ended = {"status": JobStatus.CANCELLED, "finished_at": unit.now(), "error": "a newer job does the same"}
    if unit.write(superseded.values(ended)):
        return 1
    nobody = {"status": JobStatus.QUEUED, "pid": None, "owner_boot": None}
    return unit.write(jobs.update().where(*held).values(nobody | values))
