"""What agents cost, and how much of each budget is used, as scripts and pages read it."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, tzinfo
from functools import reduce
from operator import add
from typing import TypeAlias

from orchestrator.config.budgets import Amounts
from orchestrator.config.projects import Project
from orchestrator.errors import BadInput
from orchestrator.pipeline.budgets import Limits, Scope, Standing, day_start, limits_of, standings
from orchestrator.ports.agent import Usage
from orchestrator.ports.clock import Clock
from orchestrator.ports.projects import ProjectRegistry
from orchestrator.ports.store import CostKey, CostRow, Store, Transaction

Json: TypeAlias = dict[str, object]


class Costs:
    """Answers what was spent; ``budgets`` and ``zone`` are those of the installation."""

    def __init__(
        self, *, store: Store, projects: ProjectRegistry, clock: Clock, budgets: Amounts, zone: tzinfo
    ) -> None:
        self._store = store
        self._projects = projects
        self._clock = clock
        self._budgets = budgets
        self._zone = zone

    async def spent(self, by: CostKey, *, project: str | None = None, since: date | None = None) -> Json:
        """What runs consumed by item, role, model, day or project, all together, and where the budgets stand.

        ``since`` is the first day that counts. Days are those of the project's time zone, of all projects
        together those of the installation's.

        Raises:
            BadInput: the project is unknown.
        """
        chosen = await self._chosen(project)
        zone = self._zone if project is None else _zone_of(chosen[0], self._zone)
        begin = None if since is None else datetime.combine(since, time(), zone).astimezone(UTC)

        def read(tx: Transaction) -> Json:
            rows = tx.runs.costs(by, zone=zone, project=project, since=begin)
            return {
                "by": by,
                "project": project,
                "since": None if since is None else since.isoformat(),
                "rows": [_row_view(row) for row in rows],
                "total": _row_view(_total(rows)),
                "budgets": self._standings(tx, chosen),
            }

        return await self._store.transact(read)

    async def budgets(self) -> list[Json]:
        """Where each budget in force stands, in every project."""
        chosen = await self._chosen(None)
        return await self._store.transact(lambda tx: self._standings(tx, chosen))

    async def _chosen(self, name: str | None) -> Sequence[Project]:
        known = await self._projects.all()
        if name is None:
            return known
        chosen = [project for project in known if project.name == name]
        if not chosen:
            raise BadInput(f"unknown project {name}; 'orch project list' shows the registered ones")
        return chosen

    def _standings(self, tx: Transaction, projects: Sequence[Project]) -> list[Json]:
        now = self._clock.now()
        rows: list[Json] = []
        for project in projects:
            limits = limits_of(self._budgets, project.limits)
            today = day_start(now, _zone_of(project, self._zone))
            for of, standing in _of_project(tx, project.name, limits, today):
                rows.append({"project": project.name, "of": of, **_standing_view(standing)})
        return rows


def _of_project(
    tx: Transaction, project: str, limits: Limits, today: datetime
) -> Iterator[tuple[str, Standing]]:
    """Each budget and what it is for: project and day as a whole, open items and their roles one by one."""
    yield from (("each run", row) for row in standings(_only(limits, Scope.RUN), {}))
    wide = {scope: limits[scope] for scope in (Scope.PROJECT, Scope.DAY) if scope in limits}
    if wide:
        yield from (("", row) for row in standings(wide, tx.runs.accounts(project, today)))
    if not limits.keys() & {Scope.ITEM, Scope.ROLE}:
        return
    for item in tx.items.open(project):
        accounts = tx.runs.accounts(project, today, task_id=item.task_id)
        yield from ((item.id, row) for row in standings(_only(limits, Scope.ITEM), accounts))
        for role in sorted({run.role for run in tx.runs.of_item(item.task_id)}):
            accounts = tx.runs.accounts(project, today, task_id=item.task_id, role=role)
            of = f"{item.id}/{role}"
            yield from ((of, row) for row in standings(_only(limits, Scope.ROLE), accounts))


def _only(limits: Limits, scope: Scope) -> Limits:
    return {scope: limits[scope]} if scope in limits else {}


def _zone_of(project: Project, default: tzinfo) -> tzinfo:
    return project.zone or default


def _total(rows: Sequence[CostRow]) -> CostRow:
    return CostRow(
        key="",
        runs=sum(row.runs for row in rows),
        usage=reduce(add, (row.usage for row in rows), Usage()),
        seconds=sum(row.seconds for row in rows),
    )


def _row_view(row: CostRow) -> Json:
    return {
        "key": row.key,
        "runs": row.runs,
        "input_tokens": row.usage.input_tokens,
        "output_tokens": row.usage.output_tokens,
        "cache_read_tokens": row.usage.cache_read_tokens,
        "cache_write_tokens": row.usage.cache_write_tokens,
        "cost_usd": round(row.usage.cost_usd, 6),
        "seconds": round(row.seconds, 3),
    }


def _standing_view(row: Standing) -> Json:
    return {
        "scope": row.scope,
        "measure": row.measure,
        "limit": row.limit,
        "spent": round(row.spent, 6),
        "reserved": round(row.reserved, 6),
        "left": round(row.left, 6),
    }
