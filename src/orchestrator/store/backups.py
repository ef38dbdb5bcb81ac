"""A copy of the database while it is in use."""

import os
from pathlib import Path

from sqlalchemy import text

from orchestrator.errors import BadInput
from orchestrator.store.engines import connect, translated


def backup(url: str, path: Path) -> None:
    """Write a consistent copy of the SQLite database at ``url`` to ``path``, which must not exist yet.

    The copy appears under its name only when it is complete and on disk.

    Raises:
        BadInput: ``path`` exists, its folder does not, or the database is no SQLite file.
        Malformed, Unavailable: the database cannot be read, or does not answer.
    """
    engine = connect(url)
    try:
        if engine.dialect.name != "sqlite":
            raise BadInput("this copies SQLite databases; back PostgreSQL up with pg_dump")
        if path.exists():
            raise BadInput(f"{path} exists already: name a file that does not")
        if not path.parent.is_dir():
            raise BadInput(f"there is no folder {path.parent}")
        unfinished = path.with_name(f"{path.name}.unfinished")
        unfinished.unlink(missing_ok=True)
        with translated(), engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM INTO :path"), {"path": str(unfinished)})
    finally:
        engine.dispose()
    with unfinished.open("rb") as copy:
        os.fsync(copy.fileno())
    unfinished.rename(path)
