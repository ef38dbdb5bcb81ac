"""What must never happen is forbidden by the database, whoever writes to it."""

import sqlite3

import pytest

from tests.unit.store import rigs

NEW = "INSERT INTO tasks (plane_id, work_item_id, repo, branch, stage) VALUES (?, ?, 'tally', 'b', ?)"
JOB = "INSERT INTO jobs (task_id, stage, epoch, status, kind) VALUES (1, 'review', 1, ?, ?)"


@pytest.fixture
def connection(tmp_path):
    with rigs.opened("sqlite", tmp_path):
        connection = sqlite3.connect(tmp_path / "orch.db", isolation_level=None)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(NEW, ("ref-1", "ORCH-1", "created"))
        yield connection
        connection.close()


async def test_five_columns_make_a_work_item(tmp_path):
    with rigs.opened("sqlite", tmp_path) as rig:
        connection = sqlite3.connect(tmp_path / "orch.db", isolation_level=None)
        connection.execute(NEW, ("ref-1", "ORCH-1", "development"))
        connection.close()
        item = await rig.store.transact(lambda tx: tx.items.by_ref("ref-1"))
    assert item is not None
    assert (item.stage, item.epoch, item.track, item.base, item.labels) == (
        "development",
        1,
        "full",
        "main",
        (),
    )
    assert item.created_at.tzinfo is not None
    assert item.created_at == item.entered_at


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        (NEW, ("ref-2", "ORCH-2", "somewhere")),
        (NEW, ("ref-1", "ORCH-2", "created")),
        (NEW, ("ref-2", "ORCH-1", "created")),
        (JOB, ("paused", "look")),
        (JOB, ("queued", "dance")),
        ("UPDATE tasks SET track = ?", ("scenic",)),
        ("INSERT INTO job_deps VALUES (1, ?)", (1,)),
        ("INSERT INTO job_deps VALUES (1, ?)", (99,)),
        (
            "INSERT INTO verdicts (task_id, gate, epoch, stage, answer) VALUES (1, 'g', 1, 'review', ?)",
            ("maybe",),
        ),
        (
            "INSERT INTO verdicts (task_id, gate, epoch, stage, answer) VALUES (1, 'g', 1, 'review', ?)",
            ("passed",),
        ),
    ],
)
def test_a_row_that_makes_no_sense_is_refused(connection, statement, values):
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement, values)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO holds (task_id, reason) VALUES (1, 'why')",
        "INSERT INTO jobs (kind, dedup) VALUES ('look', 'look:1')",
        "INSERT INTO jobs (task_id, stage, epoch) VALUES (1, 'review', 1)",
        "INSERT INTO transition_lease (task_id, owner, stage, epoch, owner_pid, owner_boot_id, fence)"
        " VALUES (1, 'w', 'deploy', 1, 2, 'b', 3)",
    ],
)
def test_a_second_open_one_is_refused(connection, statement):
    connection.execute(statement)
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)


def test_ended_ones_do_not_stand_in_the_way(connection):
    for _ in range(2):
        connection.execute("INSERT INTO holds (task_id, released_at) VALUES (1, CURRENT_TIMESTAMP)")
        connection.execute("INSERT INTO jobs (kind, dedup, status) VALUES ('look', 'look:1', 'done')")
        connection.execute(JOB, ("failed", "produce"))
    assert connection.execute("SELECT count(*) FROM jobs").fetchone() == (4,)
