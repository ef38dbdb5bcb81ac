"""Jobs within a transaction: enqueueing them, looking at them, ending them together with what they caused."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Executable,
    Row,
    Select,
    bindparam,
    case,
    func,
    select,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite

from orchestrator.pipeline.ids import Epoch, JobId, TaskId
from orchestrator.pipeline.stages import Stage
from orchestrator.ports.queue import ACTIVE, Job, JobKind, JobStatus, NewJob
from orchestrator.store.owners import Owner
from orchestrator.store.tables import QUEUED, jobs
from orchestrator.store.unit import Unit


class SqlJobs:
    """`ports.store.Jobs` within one transaction."""

    def __init__(self, unit: Unit) -> None:
        """Work in ``unit``."""
        self._unit = unit

    def enqueue(self, job: NewJob) -> JobId:
        """Queue ``job``; with a ``dedup`` key that is queued already, that job is made due earlier instead.

        Raises:
            Conflict: work of this visit to the stage is queued or running already.
        """
        (row,) = self._unit.written(_insert(self._unit.on_sqlite), _values(job, self._unit))
        self._unit.enqueued.add(job.kind)
        return JobId(row.id)

    def finish(self, job: Job, result: Mapping[str, object]) -> bool:
        """End a running job as done; ``False`` when it is not running for us any more."""
        return self._end(job, status=JobStatus.DONE, error="", result=dict(result))

    def fail(self, job: Job, error: str, result: Mapping[str, object]) -> bool:
        """End a running job as failed; ``False`` when it is not running for us any more."""
        return self._end(job, status=JobStatus.FAILED, error=error, result=dict(result))

    def of_visit(self, task_id: TaskId, stage: Stage, epoch: Epoch) -> Sequence[Job]:
        """The ``produce`` jobs of one visit to a stage, oldest first."""
        visit = {"item": task_id, "in_stage": stage, "in_epoch": epoch, "of_kind": JobKind.PRODUCE}
        return [job_of(row) for row in self._unit.rows(_OF_VISIT, visit)]

    def of_item(self, task_id: TaskId) -> Sequence[Job]:
        """All jobs of the item, oldest first."""
        return self._many(_every().where(jobs.c.task_id == task_id))

    def count_marker(self, task_id: TaskId, marker: str, epoch: Epoch) -> int:
        """How many jobs of the item carry ``marker`` in their content in this epoch (inventory §6.3)."""
        carries = jobs.c.task_content.contains(marker, autoescape=True)
        mine = (jobs.c.task_id == task_id, jobs.c.epoch == epoch, carries)
        return int(self._unit.value(select(func.count()).select_from(jobs).where(*mine)))

    def cancel(self, task_id: TaskId, kinds: Sequence[JobKind]) -> Sequence[Job]:
        """Cancel the item's queued and running jobs of these kinds; those that were running are returned."""
        mine = (jobs.c.task_id == task_id, jobs.c.kind.in_(kinds))
        running = self._many(_every().where(*mine, jobs.c.status == JobStatus.RUNNING).with_for_update())
        ended = {"status": JobStatus.CANCELLED, "finished_at": self._unit.now()}
        self._unit.write(jobs.update().where(*mine, jobs.c.status.in_(ACTIVE)).values(ended))
        return running

    def recent(self, limit: int = 20) -> Sequence[Job]:
        """The newest jobs first."""
        return self._many(select(jobs).order_by(jobs.c.id.desc()).limit(limit))

    def counts(self) -> Mapping[str, int]:
        """Jobs by status; a status without jobs counts 0."""
        rows = self._unit.rows(select(jobs.c.status, func.count()).group_by(jobs.c.status))
        return {status.value: 0 for status in JobStatus} | dict(map(tuple, rows))

    def _end(self, job: Job, **values: object) -> bool:
        return end_held(self._unit, job, **values) > 0

    def _many(self, query: Select[Any]) -> Sequence[Job]:
        return [job_of(row) for row in self._unit.rows(query)]


def held_by(owner: Owner, job: Job) -> tuple[ColumnElement[bool], ...]:
    """Holds for the row of ``job`` while it runs under the claim by which ``owner`` got it.

    The moment of the claim tells it from a later claim of the same process.
    """
    return (
        jobs.c.id == job.id,
        jobs.c.status == JobStatus.RUNNING,
        jobs.c.pid == owner.pid,
        jobs.c.owner_boot == owner.boot,
        jobs.c.started_at == job.started_at,
    )


def end_held(unit: Unit, job: Job, **values: object) -> int:
    """End a job that runs under the claim by which it was got; how many rows that were."""
    held = {"job": job.id, "by_pid": unit.owner.pid, "by_boot": unit.owner.boot, "since": job.started_at}
    return unit.write(_ending(tuple(values)), {**held, **values, "finished_at": unit.now()})


@cache
def _ending(columns: tuple[str, ...]) -> Executable:
    """Built once: building a statement takes longer than executing it does."""
    mine = (
        jobs.c.id == bindparam("job"),
        jobs.c.status == JobStatus.RUNNING,
        jobs.c.pid == bindparam("by_pid"),
        jobs.c.owner_boot == bindparam("by_boot"),
        jobs.c.started_at == bindparam("since"),
    )
    worth: dict[str, BindParameter[object]] = {name: bindparam(name) for name in (*columns, "finished_at")}
    return jobs.update().where(*mine).values(worth).execution_options(preserve_rowcount=True)


def _every() -> Select[Any]:
    return select(jobs).order_by(jobs.c.id)


# Built once: building a query takes longer than executing it does.
_OF_VISIT = _every().where(
    jobs.c.task_id == bindparam("item"),
    jobs.c.stage == bindparam("in_stage"),
    jobs.c.epoch == bindparam("in_epoch"),
    jobs.c.kind == bindparam("of_kind"),
)


@cache
def _insert(on_sqlite: bool) -> Executable:
    """Built once: building a statement takes longer than executing it does."""
    insert = (sqlite.insert if on_sqlite else postgresql.insert)(jobs)
    due = insert.excluded.available_at
    sooner = case((due < jobs.c.available_at, due), else_=jobs.c.available_at)
    # The condition holds constants, no parameters: only so does PostgreSQL find the partial index.
    earlier = insert.on_conflict_do_update(
        index_elements=[jobs.c.dedup], index_where=text(QUEUED), set_={"available_at": sooner}
    )
    return earlier.returning(jobs.c.id)


def _values(job: NewJob, unit: Unit) -> dict[str, object]:
    now = unit.now()
    return {
        "kind": job.kind,
        "agent": job.agent,
        "repo": job.project,
        "task_id": job.task_id,
        "task_content": job.content,
        "status": JobStatus.QUEUED,
        "attempts": job.attempts,
        "max_attempts": job.max_attempts,
        "available_at": now + job.delay,
        "stage": job.stage,
        "epoch": job.epoch,
        "commit": job.commit,
        "code": job.code,
        "data": dict(job.data),
        "dedup": job.dedup,
        "priority": job.priority,
        "created_at": now,
    }


def job_of(row: Row[Any]) -> Job:
    """A row of ``jobs`` as the domain knows it."""
    return Job(
        id=JobId(row.id),
        kind=JobKind(row.kind),
        status=JobStatus(row.status),
        task_id=row.task_id,
        project=row.repo,
        agent=row.agent,
        stage=None if row.stage is None else Stage(row.stage),
        epoch=row.epoch,
        commit=row.commit,
        code=row.code,
        content=row.task_content,
        data=row.data,
        attempts=row.attempts,
        max_attempts=row.max_attempts,
        available_at=row.available_at,
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        error=row.error,
        result=row.result,
    )
