"""What runs consumed and have reserved, added up: accounts for budgets, costs for people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, Select, case, func, select

from orchestrator.pipeline.budgets import Account, Measure, Scope
from orchestrator.pipeline.ids import TaskId
from orchestrator.ports.agent import Usage
from orchestrator.ports.queue import ACTIVE
from orchestrator.ports.store import NO_WORK, CostKey, CostRow
from orchestrator.store.ceilings import reserved_by
from orchestrator.store.tables import agent_runs, jobs, tasks
from orchestrator.store.unit import Unit

_RUN: Final = agent_runs.c
_TOKENS: Final = (
    _RUN.input_tokens + _RUN.output_tokens + _RUN.cache_read_tokens + _RUN.cache_write_tokens
).label("tokens")
_OF_TASK: Final = agent_runs.join(tasks, tasks.c.id == _RUN.task_id)


@dataclass(frozen=True, slots=True)
class _Open:
    """A run that is not settled: for how long it has gone on, and what it may consume beyond what it has."""

    task_id: TaskId
    role: str
    started_at: datetime
    seconds: float
    reserved: Mapping[Measure, float]


def alone_in(unit: Unit, project: str) -> None:
    """Of two transactions that reserve in a project the second has to see what the first one took.

    On SQLite one transaction at a time writes anyway.
    """
    if not unit.on_sqlite:
        unit.value(select(func.pg_advisory_xact_lock(func.hashtext(f"runs of {project}"))))


def accounts(
    unit: Unit, project: str, since: datetime, *, item: tuple[TaskId, str] | None
) -> Mapping[Scope, Account]:
    """The accounts of a project, its day since ``since``, and of an item and a role in it."""
    going = _open(unit, project)
    mine = tasks.c.repo == project
    today = [run for run in going if run.started_at >= since]
    found = {
        Scope.PROJECT: _account(unit, going, mine),
        Scope.DAY: _account(unit, today, mine, _RUN.started_at >= since),
    }
    if item is None:
        return found
    task_id, role = item
    going = [run for run in going if run.task_id == task_id]
    found[Scope.ITEM] = _account(unit, going, _RUN.task_id == task_id)
    if role:
        going = [run for run in going if run.role == role]
        found[Scope.ROLE] = _account(unit, going, _RUN.task_id == task_id, _RUN.agent == role)
    return found


def _account(unit: Unit, going: Sequence[_Open], *where: ColumnElement[bool]) -> Account:
    """What the runs of a scope consumed; ``going`` are those of them that are not settled."""
    sums = select(
        func.coalesce(func.sum(_TOKENS), 0).label("tokens"),
        func.coalesce(func.sum(_RUN.cost_usd), 0.0).label("cost"),
        func.coalesce(func.sum(case((_RUN.outcome.in_(NO_WORK), 0), else_=1)), 0).label("runs"),
        func.coalesce(func.sum(_RUN.duration_s), 0.0).label("seconds"),
    )
    (row,) = unit.rows(sums.select_from(_OF_TASK).where(*where))
    spent = {
        Measure.TOKENS: float(row.tokens),
        Measure.COST: float(row.cost),
        Measure.RUNS: float(row.runs),
        Measure.WALL: float(row.seconds) + sum(run.seconds for run in going),
    }
    reserved = {measure: sum(run.reserved.get(measure, 0.0) for run in going) for measure in Measure}
    return Account(spent, reserved)


def _open(unit: Unit, project: str) -> list[_Open]:
    what = (
        *(_RUN.task_id, _RUN.agent, _RUN.started_at, _RUN.cost_usd, _RUN.ceiling, _TOKENS),
        *(jobs.c.status, jobs.c.finished_at.label("job_ended_at")),
    )
    query = select(*what).select_from(_OF_TASK.join(jobs, jobs.c.id == _RUN.job_id))
    now = unit.now()
    rows = unit.rows(query.where(tasks.c.repo == project, _RUN.finished_at.is_(None)).order_by(_RUN.id))
    return [_opened(row, now) for row in rows]


def _opened(row: Row[Any], now: datetime) -> _Open:
    """A run whose job has ended goes on no longer; one whose job is queued may be found again."""
    under_way = row.status in ACTIVE
    ended = now if under_way else row.job_ended_at
    seconds = 0.0 if ended is None else max((ended - row.started_at).total_seconds(), 0.0)
    consumed = {Measure.TOKENS: float(row.tokens), Measure.COST: row.cost_usd, Measure.WALL: seconds}
    may = reserved_by(row.ceiling) if under_way else {}
    reserved = {measure: max(amount - consumed[measure], 0.0) for measure, amount in may.items()}
    return _Open(TaskId(row.task_id), row.agent, row.started_at, seconds, reserved)


_KEYS: Final[Mapping[CostKey, ColumnElement[Any]]] = {
    CostKey.ITEM: tasks.c.work_item_id,
    CostKey.ROLE: _RUN.agent,
    CostKey.MODEL: _RUN.model,
    CostKey.DAY: _RUN.started_at,
    CostKey.PROJECT: tasks.c.repo,
}


def costs(
    unit: Unit, by: CostKey, *, zone: tzinfo, project: str | None, since: datetime | None
) -> Sequence[CostRow]:
    """What runs consumed, by ``by``, its values in order.

    No two databases agree on days in time zones, so instants are put together here.
    """
    rows: dict[str, CostRow] = {}
    for row in unit.rows(_sums(by, project, since)):
        found = _cost_row(row, zone)
        rows[found.key] = _added(rows[found.key], found) if found.key in rows else found
    return [rows[key] for key in sorted(rows)]


def _sums(by: CostKey, project: str | None, since: datetime | None) -> Select[Any]:
    key = _KEYS[by]
    figures = (_RUN.input_tokens, _RUN.output_tokens, _RUN.cache_read_tokens, _RUN.cache_write_tokens)
    sums = select(
        key.label("key"),
        func.count().label("runs"),
        *(func.sum(figure).label(figure.name) for figure in figures),
        func.sum(_RUN.cost_usd).label("cost_usd"),
        func.coalesce(func.sum(_RUN.duration_s), 0.0).label("seconds"),
    )
    query = sums.select_from(_OF_TASK).group_by(key).order_by(key)
    if project is not None:
        query = query.where(tasks.c.repo == project)
    return query if since is None else query.where(_RUN.started_at >= since)


def _cost_row(row: Row[Any], zone: tzinfo) -> CostRow:
    key = row.key.astimezone(zone).date().isoformat() if isinstance(row.key, datetime) else row.key
    # PostgreSQL sums whole numbers to a decimal.
    usage = Usage(
        input_tokens=int(row.input_tokens),
        output_tokens=int(row.output_tokens),
        cost_usd=row.cost_usd,
        cache_read_tokens=int(row.cache_read_tokens),
        cache_write_tokens=int(row.cache_write_tokens),
    )
    return CostRow(key or "", row.runs, usage, row.seconds)


def _added(one: CostRow, other: CostRow) -> CostRow:
    return replace(
        one,
        runs=one.runs + other.runs,
        usage=one.usage + other.usage,
        seconds=one.seconds + other.seconds,
    )
