"""Which revision of the tables a database has, and bringing it to the one this program needs."""

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, inspect, text

from orchestrator import __version__
from orchestrator.errors import BadInput
from orchestrator.store.engines import connect, translated

REVISIONS: Final = ("0001", "0002")
"""All revisions, the oldest first; a test compares them with those that Alembic finds."""

HEAD: Final = REVISIONS[-1]
MIGRATIONS: Final = Path(__file__).parent / "migrations"

_VERSION_TABLE: Final = "alembic_version"
_UPGRADE_LOCK: Final = 0x6F726368
"""Key of the advisory lock on PostgreSQL: two processes that start together migrate one after the other."""


def upgrade(url: str) -> None:
    """Bring the database at ``url`` up to date; an empty one gets all tables.

    Raises:
        BadInput: as `check`.
        Malformed, Unavailable: it cannot be read, or does not answer.
    """
    engine = connect(url)
    try:
        bring_up(engine)
    finally:
        engine.dispose()


def current(url: str) -> str | None:
    """The revision of the database at ``url``; ``None`` for one that has no tables of ours."""
    engine = connect(url)
    try:
        with translated(), engine.connect() as connection:
            return _revision(connection)
    finally:
        engine.dispose()


def check(url: str) -> None:
    """Make sure that this program understands the database at ``url``, which may be older.

    Raises:
        BadInput: the database is newer than this program.
    """
    _refuse_newer(current(url))


def bring_up(engine: Engine) -> None:
    """Bring the database of ``engine`` up to date.

    Raises:
        BadInput: as `check`.
        Malformed, Unavailable: as `upgrade`.
    """
    with translated(), engine.connect() as connection:
        revision = _revision(connection)
    _refuse_newer(revision)
    if revision == HEAD:
        return
    with translated(), engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _UPGRADE_LOCK})
        _migrate(connection)


def _migrate(connection: Connection) -> None:
    # Only a database that is behind pays for the 0.1 s that importing Alembic takes.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(_VERSION_TABLE):
        return None
    revision: str | None = connection.execute(text(f"SELECT version_num FROM {_VERSION_TABLE}")).scalar()  # noqa: S608
    return revision


def _refuse_newer(revision: str | None) -> None:
    if revision is None or revision in REVISIONS:
        return
    raise BadInput(
        f"the database is at revision {revision}, and orchestrator {__version__} knows none after {HEAD}: "
        "install the newer version that made it, or restore a backup from before"
    )
