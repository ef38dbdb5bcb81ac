"""Within one transaction: statements in, rows out, and a note of what has to follow the commit."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection, CursorResult, Executable, Row, Table, bindparam
from sqlalchemy.dialects import postgresql, sqlite

from orchestrator.errors import Conflict, Rejected
from orchestrator.pipeline.ids import TaskId
from orchestrator.ports.queue import JobKind
from orchestrator.store.engines import translated
from orchestrator.store.owners import Owner


@cache
def _insertion(table: Table, columns: tuple[str, ...]) -> Executable:
    """Built once: building a statement takes longer than executing it does."""
    return table.insert().values({name: bindparam(name) for name in columns}).returning(table.c.id)


class Unit:
    """One transaction that is under way in ``owner``."""

    __slots__ = ("_connection", "_failed", "enqueued", "now", "owner", "wrote")

    def __init__(self, connection: Connection, now: Callable[[], datetime], owner: Owner) -> None:
        """Work on ``connection``, which has begun a transaction."""
        self._connection = connection
        self._failed = False
        self.now = now
        self.owner = owner
        self.wrote = False
        self.enqueued: set[JobKind] = set()

    @property
    def on_sqlite(self) -> bool:
        """Whether one transaction at a time writes, so that rows need no locks."""
        return self._connection.dialect.name == "sqlite"

    def rows(self, statement: Executable, values: Mapping[str, object] | None = None) -> Sequence[Row[Any]]:
        """All rows of a query; ``values`` fills in one that was built before."""
        return self._execute(statement, values).all()

    def row(self, statement: Executable, values: Mapping[str, object] | None = None) -> Row[Any] | None:
        """The first row of a query."""
        return self._execute(statement, values).first()

    def value(self, statement: Executable, values: Mapping[str, object] | None = None) -> Any:
        """The first value of the first row, or ``None``."""
        return self._execute(statement, values).scalar()

    def write(self, statement: Executable, values: Mapping[str, object] | None = None) -> int:
        """Change rows; how many. ``values`` fills in a statement that was built before."""
        # Without the option the count of an insert is lost with its cursor.
        counting = statement.execution_options(preserve_rowcount=True) if values is None else statement
        affected = self._execute(counting, values).rowcount
        self.wrote = self.wrote or affected > 0
        return affected

    def written(
        self, statement: Executable, values: Mapping[str, object] | None = None
    ) -> Sequence[Row[Any]]:
        """Change rows by a statement that returns them; ``values`` fills in one that was built before."""
        rows = self._execute(statement, values).all()
        self.wrote = self.wrote or bool(rows)
        return rows

    def add(self, table: Table, **values: object) -> int:
        """Insert a row; its id.

        Raises:
            Conflict: a constraint forbids it.
        """
        (row,) = self.written(_insertion(table, tuple(values)), values)
        return int(row[0])

    def change(self, table: Table, task_id: TaskId, **values: object) -> None:
        """Change the row of a work item.

        Raises:
            Rejected: there is no such item.
        """
        if not self.write(table.update().where(table.c.id == task_id).values(**values)):
            raise Rejected(f"there is no work item with the row id {task_id}")

    def insert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        """An insert that may say what happens on a conflict."""
        return sqlite.insert(table) if self.on_sqlite else postgresql.insert(table)

    def vouch(self) -> None:
        """Before the commit: a transaction in which a statement failed stores nothing on any database.

        Raises:
            Conflict: a statement failed and its error was dropped.
        """
        if self._failed:
            raise Conflict("a statement of this transaction failed, so nothing of it was stored")

    def _execute(
        self, statement: Executable, values: Mapping[str, object] | None = None
    ) -> CursorResult[Any]:
        self._failed = True
        with translated():
            result: CursorResult[Any] = self._connection.execute(statement, values)
        self._failed = False
        return result
