"""A neighbour's own SQLite file: opened in WAL mode, guarded by a schema version, its errors translated."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import Connection as SqliteConnection

from sqlalchemy import Connection, Dialect, MetaData, String, TypeDecorator, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError

from orchestrator.errors import BadInput, Conflict, Malformed, Unavailable


class Instant(TypeDecorator[datetime]):
    """An aware datetime as ISO text in UTC with microseconds, so that text order is time order."""

    impl = String(32)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        """The text of an instant."""
        return None if value is None else value.astimezone(UTC).isoformat(timespec="microseconds")

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:
        """The instant of a text."""
        return None if value is None else datetime.fromisoformat(value)


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of a file, their version, and what people call the file (``board``, ``forge``)."""

    name: str
    version: int
    metadata: MetaData


class SqliteFile:
    """Short transactions on one SQLite file that several processes may open at once."""

    def __init__(self, url: str, schema: Schema) -> None:
        """Open the file, making it and its tables when missing; `?timeout=` says how long to wait for a lock.

        Raises:
            BadInput: the file was written by a newer version, or is no database.
        """
        self._url = make_url(url)
        self._schema = schema
        if self._url.database:
            Path(self._url.database).parent.mkdir(parents=True, exist_ok=True)
        self._engine = create_engine(self._url)
        event.listen(self._engine, "connect", _prepare)
        event.listen(self._engine, "begin", _begin)
        try:
            self._upgrade()
        except DatabaseError as error:
            self.close()
            raise BadInput(
                f"{self._url.database} cannot be used as the {schema.name}: {error.orig}"
            ) from error

    def _upgrade(self) -> None:
        with self._engine.begin() as connection:
            found = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            if found > self._schema.version:
                self._engine.dispose()
                raise BadInput(
                    f"{self._url.database} has schema {found}, this version knows {self._schema.version}: "
                    "use the newer version that wrote it, or restore a backup"
                )
            self._schema.metadata.create_all(connection)
            connection.exec_driver_sql(f"PRAGMA user_version = {self._schema.version}")

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction that holds the write lock from its start; an error leaves nothing behind.

        Raises:
            Unavailable: the file is locked for too long, or the disk does not answer.
            Conflict: somebody else wrote the same key first.
            Malformed: the file is damaged.
        """
        try:
            with self._engine.begin() as connection:
                yield connection
        except OperationalError as error:
            raise Unavailable(f"the {self._schema.name} does not answer: {error.orig}") from error
        except IntegrityError as error:
            raise Conflict(f"the {self._schema.name} was changed meanwhile: {error.orig}") from error
        except DatabaseError as error:
            raise Malformed(f"the {self._schema.name}'s file cannot be read: {error.orig}") from error


def _prepare(connection: SqliteConnection, _record: object) -> None:
    # The driver would begin transactions by itself, and too late to hold the lock while reading.
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
