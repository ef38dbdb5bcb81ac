"""Facts from outside, stored before they are acted on."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Row, func, select

from orchestrator.pipeline.ids import EventId, TaskId
from orchestrator.ports.store import Event
from orchestrator.store.tables import events
from orchestrator.store.unit import Unit


class SqlEvents:
    """`ports.store.Events` within one transaction."""

    def __init__(self, unit: Unit) -> None:
        """Work in ``unit``."""
        self._unit = unit

    def add(
        self, *, source: str, kind: str, payload: Mapping[str, object], content_key: str
    ) -> EventId | None:
        """Store an event; ``None`` when one with this content key is stored already."""
        insert = self._unit.insert(events).values(
            source=source,
            kind=kind,
            payload=dict(payload),
            content_key=content_key,
            received_at=self._unit.now(),
        )
        fresh = insert.on_conflict_do_nothing(index_elements=["content_key"]).returning(events.c.id)
        rows = self._unit.written(fresh)
        return EventId(rows[0].id) if rows else None

    def get(self, event_id: EventId) -> Event | None:
        """The event of a row id."""
        row = self._unit.row(select(events).where(events.c.id == event_id))
        return None if row is None else _event(row)

    def settle(self, event_id: EventId, *, outcome: str, task_id: TaskId | None) -> None:
        """Note what became of it."""
        settled = events.update().where(events.c.id == event_id)
        self._unit.write(settled.values(outcome=outcome, task_id=task_id))

    def of_item(self, task_id: TaskId) -> Sequence[Event]:
        """The events of the item, oldest first."""
        mine = select(events).where(events.c.task_id == task_id).order_by(events.c.id)
        return [_event(row) for row in self._unit.rows(mine)]

    def recent(self, limit: int = 50) -> Sequence[Event]:
        """The newest first."""
        newest = select(events).order_by(events.c.id.desc()).limit(limit)
        return [_event(row) for row in self._unit.rows(newest)]

    def count(self) -> int:
        """How many there are."""
        return int(self._unit.value(select(func.count()).select_from(events)))


def _event(row: Row[Any]) -> Event:
    return Event(
        id=EventId(row.id),
        source=row.source,
        kind=row.kind,
        received_at=row.received_at,
        payload=row.payload,
        task_id=row.task_id,
        outcome=row.outcome,
    )
