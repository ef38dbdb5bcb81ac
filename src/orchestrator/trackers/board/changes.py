"""What happened on the board, and who did it: the ledger that tells our writes from people's gestures."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.sql import ColumnElement

from orchestrator.trackers.board.tables import board_changes, board_items

Worth: TypeAlias = str | list[str]


class ChangeKind(StrEnum):
    """Which part of an item was changed."""

    FILED = "filed"
    STATE = "state"
    LABELS = "labels"
    COMMENT = "comment"
    TITLE = "title"
    DESCRIPTION = "description"


@dataclass(frozen=True, slots=True)
class Change:
    """One change: ``who`` is the board's actor for our own writes, a person's name otherwise.

    ``id`` grows with every change of the whole board, so that a reader can go on where it stopped.
    """

    id: int
    ref: str
    kind: ChangeKind
    old: Worth
    new: Worth
    who: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Edit:
    """A change that is to be recorded."""

    kind: ChangeKind
    old: Worth
    new: Worth
    who: str
    at: datetime


def record(connection: Connection, ref: str, edit: Edit) -> None:
    """Write the change down and mark the item as changed at that instant."""
    written = connection.execute(
        insert(board_changes).values(
            ref=ref, kind=edit.kind, old=edit.old, new=edit.new, who=edit.who, at=edit.at
        )
    )
    number = written.inserted_primary_key[0] if written.inserted_primary_key else 0
    connection.execute(
        update(board_items).where(board_items.c.ref == ref).values(updated_at=edit.at, last_change=number)
    )


def find(connection: Connection, *conditions: ColumnElement[bool]) -> Sequence[Change]:
    """The changes that meet all conditions, oldest first."""
    rows = connection.execute(
        select(board_changes)
        .join(board_items, board_items.c.ref == board_changes.c.ref)
        .where(*conditions)
        .order_by(board_changes.c.id)
    )
    return [Change(row.id, row.ref, ChangeKind(row.kind), row.old, row.new, row.who, row.at) for row in rows]
