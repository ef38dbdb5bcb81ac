"""Registered projects and their state, and the named values of the installation."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, bindparam, case, select

from orchestrator.ports.store import ProjectState
from orchestrator.store.tables import keyvalue, project_state
from orchestrator.store.unit import Unit


class SqlProjects:
    """`ports.store.Projects` within one transaction.

    A row without settings is a project that has a state (a merge lease, a freeze) but is not registered.
    """

    def __init__(self, unit: Unit) -> None:
        """Work in ``unit``."""
        self._unit = unit

    def put(self, name: str, settings: Mapping[str, object]) -> None:
        """Register the project, or change its settings; its state stays."""
        self._set(name, settings=dict(settings))

    def get(self, name: str) -> ProjectState | None:
        """The registered project of this name."""
        row = self._unit.row(_OF_NAME, {"called": name})
        return None if row is None else _state(row)

    def all(self) -> Sequence[ProjectState]:
        """The registered projects by name."""
        return [_state(row) for row in self._unit.rows(_registered().order_by(project_state.c.name))]

    def remove(self, name: str) -> None:
        """Forget a project; forgetting what is not there is no change. Its merge lease stays."""
        known = project_state.update().where(project_state.c.name == name)
        self._unit.write(known.values(settings=None, frozen=None, coverage_baseline=None))

    def freeze(self, name: str, reason: str | None) -> None:
        """Start no further items of the project; ``None`` lets them start again."""
        self._set(name, frozen=reason)

    def raise_coverage(self, name: str, percent: float) -> None:
        """Raise the baseline; it is never lowered here (ORCH-027)."""
        stored = project_state.c.coverage_baseline
        higher = case((stored > percent, stored), else_=percent)
        self._set(name, {"coverage_baseline": higher}, coverage_baseline=percent)

    def remember(self, key: str, value: str) -> None:
        """A named value of the installation (poll cursors, the stop switch)."""
        values = {"value": value, "updated_at": self._unit.now()}
        insert = self._unit.insert(keyvalue).values(key=key, **values)
        self._unit.write(insert.on_conflict_do_update(index_elements=["key"], set_=values))

    def recall(self, key: str) -> str | None:
        """The value of this name."""
        value: str | None = self._unit.value(_VALUE, {"named": key})
        return value

    def _set(self, name: str, update: dict[str, ColumnElement[Any]] | None = None, **values: object) -> None:
        insert = self._unit.insert(project_state).values(name=name, **values)
        changed: dict[str, Any] = values if update is None else update
        self._unit.write(insert.on_conflict_do_update(index_elements=["name"], set_=changed))


def _registered() -> Select[Any]:
    return select(project_state).where(project_state.c.settings.is_not(None))


# Asked for each look at an item. Built once: building a query takes longer than executing it does.
_OF_NAME = _registered().where(project_state.c.name == bindparam("called"))
_VALUE = select(keyvalue.c.value).where(keyvalue.c.key == bindparam("named"))


def _state(row: Row[Any]) -> ProjectState:
    return ProjectState(
        name=row.name,
        settings=row.settings,
        frozen=row.frozen,
        coverage_baseline=row.coverage_baseline,
    )
