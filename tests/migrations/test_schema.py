"""The tables of a migrated database are the tables of the program, and a newer database is refused."""

import re
import sqlite3
import subprocess
import sys

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect

from orchestrator.errors import BadInput
from orchestrator.store import Owner, SqlStore, schema
from orchestrator.store.engines import connect
from orchestrator.store.tables import METADATA
from orchestrator.testing.clock import ManualClock
from tests.unit.store import rigs


@pytest.fixture(params=rigs.DATABASES)
def url(request, tmp_path):
    with rigs.opened(request.param, tmp_path) as rig:
        yield rig.url


@pytest.fixture
def fresh(tmp_path):
    return f"sqlite:///{tmp_path / 'fresh.db'}"


def sql_of(path):
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    connection.close()
    named = {
        name: re.sub(r"\s+", " ", sql) for name, sql in rows if not name.startswith(("sqlite_", "alembic_"))
    }
    # The order of columns and constraints means nothing: a column that came later stands last.
    return {name: sorted(parts_of(sql)) for name, sql in named.items()}


def parts_of(sql):
    """The columns and constraints of a table, and what stands before them."""
    head, _, body = sql.partition("(")
    parts, depth = [""], 0
    for sign in body.rstrip().removesuffix(")"):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [head.strip(), *(part.strip().replace('"', "") for part in parts)]


def test_the_constants_name_the_revisions_that_alembic_finds():
    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    directory = ScriptDirectory.from_config(config)
    found = [script.revision for script in directory.walk_revisions()]
    assert tuple(reversed(found)) == schema.REVISIONS
    assert directory.get_current_head() == schema.HEAD


def test_a_migrated_database_has_the_tables_of_the_program(url):
    engine = connect(url)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    engine.dispose()


def test_a_migrated_database_has_the_constraints_and_defaults_of_the_program(tmp_path, fresh):
    schema.upgrade(fresh)
    engine = create_engine(f"sqlite:///{tmp_path / 'made.db'}")
    METADATA.create_all(engine)
    engine.dispose()
    assert sql_of(tmp_path / "fresh.db") == sql_of(tmp_path / "made.db")


def test_an_empty_database_gets_all_tables_once(fresh):
    assert schema.current(fresh) is None
    schema.check(fresh)
    schema.upgrade(fresh)
    schema.upgrade(fresh)
    assert schema.current(fresh) == schema.HEAD


def test_a_migration_that_fails_leaves_nothing_behind(tmp_path, fresh):
    connection = sqlite3.connect(tmp_path / "fresh.db")
    connection.execute("CREATE TABLE keyvalue (x)")
    connection.close()
    with pytest.raises(Exception, match="table keyvalue already exists"):
        schema.upgrade(fresh)
    engine = create_engine(fresh)
    assert inspect(engine).get_table_names() == ["keyvalue"]
    engine.dispose()


def test_every_revision_can_be_taken_back(tmp_path, fresh):
    schema.upgrade(fresh)
    engine = connect(fresh)
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(schema.MIGRATIONS))
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
    engine.dispose()
    assert sql_of(tmp_path / "fresh.db") == {}


def test_a_newer_database_is_refused_in_one_clear_line(tmp_path, fresh):
    schema.upgrade(fresh)
    connection = sqlite3.connect(tmp_path / "fresh.db")
    connection.execute("UPDATE alembic_version SET version_num = '0999'")
    connection.commit()
    connection.close()
    for refuse in (
        lambda: schema.check(fresh),
        lambda: schema.upgrade(fresh),
        lambda: SqlStore(fresh, ManualClock(rigs.START), Owner(1, "boot")),
    ):
        with pytest.raises(BadInput, match=r"at revision 0999.* install the newer version") as caught:
            refuse()
        assert "\n" not in str(caught.value)


def test_opening_a_database_that_is_up_to_date_does_not_load_alembic(fresh):
    schema.upgrade(fresh)
    program = (
        "import sys; from orchestrator.plumbing.clock import *; from orchestrator.store import *;"
        "SqlStore(sys.argv[1], SystemClock(), this_process(RandomIds())).close();"
        "print('alembic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program, fresh], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
