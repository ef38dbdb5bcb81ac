"""Attempts of agents (table ``agent_runs``): stamped at launch, settled at the end (ORCH-109)."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Row, func, select

from orchestrator.errors import Rejected
from orchestrator.pipeline.ids import Commit, RunId, TaskId
from orchestrator.ports.agent import RunView, Usage
from orchestrator.ports.queue import Job
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

    def start(
        self,
        job: Job,
        *,
        role: str,
        model: str | None,
        effort: str | None,
        log_path: str,
        start_commit: Commit,
    ) -> tuple[RunId, Commit]:
        """The run of this job and attempt, made if there is none; the commit it started from.

        A new attempt begins when the job is put back on purpose (`Queue.retry`, spent or not). A job that is
        queued again because its process died is still the same attempt, whose run may be alive.

        Raises:
            Rejected: the job is unknown, or belongs to no item.
        """
        attempt = self._unit.value(select(jobs.c.retries).where(jobs.c.id == job.id))
        if attempt is None or job.task_id is None:
            raise Rejected(f"job {job.id} has no work item that an agent could work on")
        insert = self._unit.insert(agent_runs).values(
            task_id=job.task_id,
            job_id=job.id,
            attempt=attempt,
            agent=role,
            stage=job.stage,
            model=model,
            effort=effort,
            log_path=log_path,
            start_commit=start_commit,
            started_at=self._unit.now(),
        )
        self._unit.write(insert.on_conflict_do_nothing(index_elements=["job_id", "attempt"]))
        this_attempt = (agent_runs.c.job_id == job.id, agent_runs.c.attempt == attempt)
        (row,) = self._unit.rows(select(agent_runs.c.id, agent_runs.c.start_commit).where(*this_attempt))
        return RunId(row.id), Commit(row.start_commit)

    def end(self, run_id: RunId, *, exit_code: int | None, outcome: str, usage: Usage) -> None:
        """Settle the run; one that is settled already stays as it is."""
        going = (agent_runs.c.id == run_id, agent_runs.c.finished_at.is_(None))
        started = self._unit.value(select(agent_runs.c.started_at).where(*going))
        if started is None:
            return
        now = self._unit.now()
        self._unit.write(
            agent_runs.update()
            .where(*going)
            .values(
                exit_code=exit_code,
                outcome=outcome,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cost_usd=usage.cost_usd,
                duration_s=(now - started).total_seconds(),
                finished_at=now,
            )
        )

    def get(self, run_id: RunId) -> RunView | None:
        """The attempt with this id; ``None`` when there is none."""
        rows = self._unit.rows(select(agent_runs).where(agent_runs.c.id == run_id))
        return _view(rows[0]) if rows else None

    def of_item(self, task_id: TaskId) -> Sequence[RunView]:
        """The attempts for the item, oldest first."""
        mine = select(agent_runs).where(agent_runs.c.task_id == task_id).order_by(agent_runs.c.id)
        return [_view(row) for row in self._unit.rows(mine)]

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
        usage=Usage(row.input_tokens, row.output_tokens, row.cost_usd),
        log_path=row.log_path,
    )
