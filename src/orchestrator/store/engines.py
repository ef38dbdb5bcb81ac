"""Connecting to the database: what SQLite and PostgreSQL have to be told, what their errors mean."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn, cast

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.pool import StaticPool

from orchestrator.errors import BadInput, Conflict, Malformed, Unavailable

BUSY_TIMEOUT_S: Final = 5.0
"""How long SQLite waits for another process that is writing; ``?timeout=`` in the address says otherwise."""

_BROKEN_FILE: Final = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT})
_OWN_FAULT: Final = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_RANGE})
_SYNCHRONOUS_FULL: Final = 2
READ: Final = "read"
"""Execution option of a connection whose next transaction writes nothing."""


def parse(url: str) -> URL:
    """The address of a database; PostgreSQL is spoken to by psycopg.

    Raises:
        BadInput: it is no address, or one of another database.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise BadInput(
            "the database address is not of the form sqlite:///path or postgresql://host/name"
        ) from error
    match parsed.get_backend_name():
        case "sqlite":
            return parsed.set(drivername="sqlite+pysqlite")
        case "postgresql" | "postgres":
            return parsed.set(drivername="postgresql+psycopg")
    raise BadInput(
        f"the database {parsed.get_backend_name()} is not supported: use sqlite:///path or postgresql://"
    )


def connect(url: str) -> Engine:
    """An engine for ``url``; nothing is opened yet.

    Raises:
        BadInput: as `parse`.
    """
    parsed = parse(url)
    if parsed.get_backend_name() != "sqlite":
        return create_engine(parsed, pool_pre_ping=True)
    if "timeout" not in parsed.query:
        parsed = parsed.update_query_dict({"timeout": str(BUSY_TIMEOUT_S)})
    # Whoever uses the connection holds the lock of `Database`, whichever thread that is.
    engine = create_engine(parsed, poolclass=StaticPool, connect_args={"check_same_thread": False})
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: sqlite3.Connection, _record: Any) -> None:
    """Durable, with readers that do not wait for writers; transactions are begun by us."""
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin(connection: Connection) -> None:
    """Take the write lock at once: a reader that becomes a writer midway could not wait for it."""
    options = connection.get_execution_options()
    if options.get("isolation_level") != "AUTOCOMMIT":
        # Straight to the driver: a statement's way through SQLAlchemy costs more than all of it does here.
        driver = cast("sqlite3.Connection", connection.connection.driver_connection)
        driver.execute("BEGIN" if options.get(READ) else "BEGIN IMMEDIATE")


@contextmanager
def unsynchronised(connection: Connection) -> Iterator[None]:
    """Do not wait for the disk at the commits of SQLite in the block; the first one after it does for all."""
    driver = cast("sqlite3.Connection", connection.connection.driver_connection)
    if driver.execute("PRAGMA synchronous").fetchone()[0] != _SYNCHRONOUS_FULL:
        yield
        return
    driver.execute("PRAGMA synchronous = NORMAL")
    try:
        yield
    finally:
        driver.execute("PRAGMA synchronous = FULL")


@contextmanager
def translated() -> Iterator[None]:
    """Turn the errors of drivers into ours; a mistake in a statement of ours is a bug and goes up as it is.

    Raises:
        Conflict: a constraint of the database forbids what was asked.
        Malformed: the file is no database, or a broken one.
        Unavailable: the database is locked, full, or gone.
    """
    try:
        yield
    except IntegrityError as error:
        raise Conflict(f"the database refused: {_line(error.orig)}") from error
    except DBAPIError as error:
        if getattr(error.orig, "sqlite_errorcode", None) is None:
            answered = not isinstance(error, OperationalError | InterfaceError)
            if answered and not error.connection_invalidated:
                raise
        _explain(error.orig, error)
    except sqlite3.Error as error:
        _explain(error, error)


def _explain(told: BaseException | None, error: Exception) -> NoReturn:
    """Raise what ``error`` means, in the words of the driver."""
    code = getattr(told, "sqlite_errorcode", None)
    if code is not None and code & 0xFF in _BROKEN_FILE:
        raise Malformed(f"the database file cannot be read: {_line(told)}") from error
    if code is not None and code & 0xFF in _OWN_FAULT:
        raise error
    raise Unavailable(f"the database does not answer: {_line(told)}") from error


def _line(told: BaseException | None) -> str:
    """The driver's own first line, without our statement and its parameters."""
    lines = str(told).splitlines()
    return lines[0] if lines else type(told).__name__
