"""Attempts of agents (table ``agent_runs``): stamped at launch, settled at the end (ORCH-109)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, tzinfo
from typing import Any, Final

from sqlalchemy import Row, case, func, select

from orchestrator.errors import Conflict, Rejected
from orchestrator.pipeline.budgets import Account, Scope
from orchestrator.pipeline.ids import Commit, RunId, TaskId
from orchestrator.ports.agent import RunView, Usage
from orchestrator.ports.queue import Job
from orchestrator.ports.store import CostKey, CostRow, NewRun, StartedRun
from orchestrator.store.ceilings import read_ceiling, stored_ceiling
from orchestrator.store.ledger import accounts, alone_in, costs
from orchestrator.store.tables import agent_runs, jobs
from orchestrator.store.unit import Unit


class SqlRuns:
    """`ports.store.Runs` within one transaction."""

    def __init__(self, unit: Unit) -> None:
        """Work in ``unit``."""
        self._unit = unit

    def log_path(self, run_id: RunId) -> str | None:
        """Where the run's log is; ``None`` for an unknown run."""
        path: str | None = self._unit.value(select(agent_runs.c.log_path).where(agent_runs.c.id == run_id))
        return path

    def resume(self, job: Job) -> StartedRun | None:
        """The run of this job and attempt; ``None`` when it has none yet and one may be started.

        A new attempt begins when the job is put back on purpose (`Queue.retry`, spent or not). A job that is
        queued again because its process died is still the same attempt, whose run may be alive.

        Raises:
            Rejected: the job is unknown, or belongs to no item.
        """
        alone_in(self._unit, job.project)
        attempt = self._attempt(job)
        earlier = (agent_runs.c.job_id == job.id, agent_runs.c.attempt < attempt)
        # Nobody knows how long they went on, so their duration stays unknown.
        lost = {"outcome": "lost", "finished_at": self._unit.now()}
        self._unit.write(agent_runs.update().where(*earlier, agent_runs.c.finished_at.is_(None)).values(lost))
        run = self._run_of(job, attempt)
        if run is None or not self._is_over(run.id):
            return run
        # It ended, and its job was not put back before we died: what follows is another attempt.
        self._unit.write(jobs.update().where(jobs.c.id == job.id).values(retries=jobs.c.retries + 1))
        return None

    def start(self, job: Job, new: NewRun) -> StartedRun:
        """The run of this job and attempt, stamped if there is none: one that is found keeps its stamp.

        Raises:
            Rejected: the job is unknown, or belongs to no item.
        """
        attempt = self._attempt(job)
        insert = self._unit.insert(agent_runs).values(
            task_id=job.task_id,
            job_id=job.id,
            attempt=attempt,
            agent=new.role,
            stage=job.stage,
            model=new.model,
            effort=new.effort,
            cli=new.cli,
            cli_version=new.cli_version,
            log_path=new.log_path,
            start_commit=new.start_commit,
            ceiling=stored_ceiling(new.ceiling, new.limit),
            started_at=self._unit.now(),
        )
        self._unit.write(insert.on_conflict_do_nothing(index_elements=["job_id", "attempt"]))
        run = self._run_of(job, attempt)
        if run is None:
            raise Conflict(f"the run of job {job.id} was taken away")
        return run

    def _attempt(self, job: Job) -> int:
        attempt: int | None = self._unit.value(select(jobs.c.retries).where(jobs.c.id == job.id))
        if attempt is None or job.task_id is None:
            raise Rejected(f"job {job.id} has no work item that an agent could work on")
        return attempt

    def _run_of(self, job: Job, attempt: int) -> StartedRun | None:
        mine = (agent_runs.c.job_id == job.id, agent_runs.c.attempt == attempt)
        row = self._unit.row(select(*_STAMP).where(*mine))
        return None if row is None else _started(row)

    def _is_over(self, run_id: RunId) -> bool:
        ended = self._unit.value(select(agent_runs.c.finished_at).where(agent_runs.c.id == run_id))
        return ended is not None

    def stamped(self, run_id: RunId) -> StartedRun | None:
        """A run as it was stamped; ``None`` when it is unknown."""
        row = self._unit.row(select(*_STAMP).where(agent_runs.c.id == run_id))
        return None if row is None else _started(row)

    def note_usage(self, run_id: RunId, usage: Usage) -> None:
        """What a run under way has consumed so far: no figure is lowered, a settled run stays as it is."""
        higher = {
            name: case((agent_runs.c[name] < figure, figure), else_=agent_runs.c[name])
            for name, figure in _figures(usage).items()
        }
        going = (agent_runs.c.id == run_id, agent_runs.c.finished_at.is_(None))
        self._unit.write(agent_runs.update().where(*going).values(higher))

    def end(self, run_id: RunId, *, exit_code: int | None, outcome: str, usage: Usage | None) -> None:
        """Settle the run; a settled one stays as it is. Without ``usage`` what was noted counts."""
        going = (agent_runs.c.id == run_id, agent_runs.c.finished_at.is_(None))
        started = self._unit.value(select(agent_runs.c.started_at).where(*going))
        if started is None:
            return
        now = self._unit.now()
        settled = {
            "exit_code": exit_code,
            "outcome": outcome,
            "duration_s": (now - started).total_seconds(),
            "finished_at": now,
        }
        figures = {} if usage is None else _figures(usage)
        self._unit.write(agent_runs.update().where(*going).values(settled | figures))

    def get(self, run_id: RunId) -> RunView | None:
        """The attempt with this id; ``None`` when there is none."""
        rows = self._unit.rows(select(agent_runs).where(agent_runs.c.id == run_id))
        return _view(rows[0]) if rows else None

    def of_item(self, task_id: TaskId) -> Sequence[RunView]:
        """The attempts for the item, oldest first."""
        mine = select(agent_runs).where(agent_runs.c.task_id == task_id).order_by(agent_runs.c.id)
        return [_view(row) for row in self._unit.rows(mine)]

    def accounts(
        self, project: str, since: datetime, *, task_id: TaskId | None = None, role: str = ""
    ) -> Mapping[Scope, Account]:
        """What was consumed and is reserved in each scope (`ports.store.Runs.accounts`)."""
        return accounts(self._unit, project, since, item=None if task_id is None else (task_id, role))

    def costs(
        self, by: CostKey, *, zone: tzinfo, project: str | None = None, since: datetime | None = None
    ) -> Sequence[CostRow]:
        """What runs consumed, by ``by``, its values in order; a day is one of ``zone``."""
        return costs(self._unit, by, zone=zone, project=project, since=since)

    def totals(self) -> Sequence[Mapping[str, object]]:
        """Per ``role`` and ``model``, also: runs, input_tokens, output_tokens, cost_usd, seconds."""
        columns = agent_runs.c
        group = (columns.agent, columns.model)
        sums = select(
            columns.agent.label("role"),
            columns.model,
            func.count().label("runs"),
            func.sum(columns.input_tokens).label("input_tokens"),
            func.sum(columns.output_tokens).label("output_tokens"),
            func.sum(columns.cost_usd).label("cost_usd"),
            func.coalesce(func.sum(columns.duration_s), 0.0).label("seconds"),
        )
        rows = self._unit.rows(sums.group_by(*group).order_by(*group))
        # PostgreSQL sums whole numbers to a decimal, which JSON does not know.
        whole = ("input_tokens", "output_tokens")
        return [dict(row._mapping) | {name: int(row._mapping[name]) for name in whole} for row in rows]


_STAMP: Final = (agent_runs.c.id, agent_runs.c.start_commit, agent_runs.c.ceiling)


def _started(row: Row[Any]) -> StartedRun:
    return StartedRun(RunId(row.id), Commit(row.start_commit), read_ceiling(row.ceiling))


def _figures(usage: Usage) -> dict[str, float]:
    """What was consumed, by the columns that hold it."""
    return asdict(usage)


def _view(row: Row[Any]) -> RunView:
    return RunView(
        id=row.id,
        role=row.agent,
        stage=row.stage or "",
        started_at=row.started_at,
        finished_at=row.finished_at,
        exit_code=row.exit_code,
        outcome=row.outcome,
        model=row.model,
        effort=row.effort,
        usage=Usage(
            input_tokens=row.input_tokens,
            output_tokens=row.output_tokens,
            cost_usd=row.cost_usd,
            cache_read_tokens=row.cache_read_tokens,
            cache_write_tokens=row.cache_write_tokens,
        ),
        log_path=row.log_path,
        cli=row.cli,
        cli_version=row.cli_version,
    )
