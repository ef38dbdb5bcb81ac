"""One way to change things: all or nothing, never nested, never awaited, errors in our own words."""

import asyncio
import sqlite3
import threading

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from orchestrator.errors import BadInput, Conflict, Malformed, Unavailable
from orchestrator.ports.queue import JobKind, NewJob
from orchestrator.store import Owner, SqlQueue, SqlStore
from orchestrator.store.adapter import SqlTransaction
from orchestrator.testing.clock import ManualClock
from tests.unit.store import rigs


@pytest.fixture(params=rigs.DATABASES)
def rig(request, tmp_path):
    with rigs.opened(request.param, tmp_path) as rig:
        yield rig


def opened(url):
    return SqlStore(url, ManualClock(rigs.START), Owner(1, "boot"))


async def test_only_a_commit_that_changed_something_counts(rig):
    start = rig.store.version()
    await rig.store.transact(lambda tx: tx.projects.recall("cursor"))
    await rig.store.transact(lambda tx: tx.items.all())
    assert rig.store.version() == start
    await rig.store.transact(lambda tx: tx.projects.remember("cursor", "1"))
    await rig.enqueue()
    assert rig.store.version() == start + 2
    assert await rig.queue.claim([JobKind.LOOK]) is not None
    assert rig.store.version() == start + 3


async def test_a_failure_stores_nothing_and_the_next_transaction_works(rig):
    def fail(tx):
        tx.projects.remember("cursor", "1")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await rig.store.transact(fail)
    assert await rig.store.transact(lambda tx: tx.projects.recall("cursor")) is None


async def test_a_transaction_inside_a_transaction_is_a_mistake(rig):
    def nest(tx):
        rig.store.transact(lambda inner: None).send(None)

    with pytest.raises(RuntimeError, match="a transaction is under way"):
        await rig.store.transact(nest)
    assert await rig.store.transact(lambda tx: tx.projects.recall("x")) is None


async def test_a_function_that_wants_to_be_awaited_is_refused(rig):
    async def later(tx):
        tx.projects.remember("cursor", "1")

    with pytest.raises(RuntimeError, match="nothing can be awaited"):
        await rig.store.transact(later)


async def test_nothing_is_stored_once_a_statement_failed_even_if_its_error_is_dropped(rig):
    item = await rig.item()

    def drop(tx):
        tx.jobs.enqueue(rigs.produce(item))
        with pytest.raises(Conflict):
            tx.jobs.enqueue(rigs.produce(item))

    with pytest.raises(Conflict, match="nothing of it was stored"):
        await rig.store.transact(drop)
    assert await rig.store.transact(lambda tx: tx.jobs.of_item(item.task_id)) == []


async def test_transactions_of_many_tasks_do_not_mix(rig):
    def count_up(tx):
        tx.projects.remember("count", str(int(tx.projects.recall("count") or "0") + 1))

    await rig.store.transact(count_up)
    if rig.url.startswith("sqlite"):
        await asyncio.gather(*(rig.store.transact(count_up) for _ in range(20)))
        assert await rig.store.transact(lambda tx: tx.projects.recall("count")) == "21"
    await asyncio.gather(*(rig.enqueue() for _ in range(20)))
    assert (await rig.store.transact(lambda tx: tx.jobs.counts()))["queued"] == 20


def test_other_threads_wait_their_turn(tmp_path):
    with rigs.opened("sqlite", tmp_path) as rig:
        database, barrier = rig.store.database, threading.Barrier(3)

        def work():
            barrier.wait()
            for _ in range(20):
                database.run(lambda unit: rigs.count_up(unit))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert database.commits == 60


async def test_a_database_in_memory_is_as_good(tmp_path):
    store = opened("sqlite://")
    queue = SqlQueue(store.database)
    await store.transact(lambda tx: tx.jobs.enqueue(NewJob(JobKind.LOOK)))
    assert await queue.claim([JobKind.LOOK]) is not None
    store.close()


async def test_a_database_that_stays_locked_is_unavailable(tmp_path):
    with rigs.opened("sqlite", tmp_path) as rig:
        store = opened(f"{rig.url}?timeout=0.01")
        writer = sqlite3.connect(tmp_path / "orch.db", isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="database is locked"):
            await store.transact(lambda tx: None)
        writer.execute("ROLLBACK")
        writer.close()
        assert await store.transact(lambda tx: tx.projects.recall("x")) is None
        store.close()


async def test_pages_are_read_while_somebody_writes(tmp_path):
    with rigs.opened("sqlite", tmp_path) as rig:
        await rig.item()
        writer = sqlite3.connect(tmp_path / "orch.db", isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE tasks SET title = 'unfinished'")
        read = rig.store.database.run(lambda unit: SqlTransaction(unit).items.all(), read=True)
        assert [item.title for item in read] == ["Count twice"]
        writer.close()


def test_a_folder_that_does_not_exist_is_unavailable(tmp_path):
    with pytest.raises(Unavailable, match="unable to open database file"):
        opened(f"sqlite:///{tmp_path / 'missing' / 'orch.db'}")


def test_a_file_that_is_no_database_is_malformed(tmp_path):
    (tmp_path / "orch.db").write_text("these are notes, not a database\n" * 100)
    with pytest.raises(Malformed, match="file is not a database"):
        opened(f"sqlite:///{tmp_path / 'orch.db'}")


def test_a_server_that_is_not_there_is_unavailable():
    with pytest.raises(Unavailable, match="does not answer"):
        opened("postgresql://somebody:s3cret@127.0.0.1:9/orch")


@pytest.mark.parametrize("url", ["mysql://host/name", "no address", ""])
def test_an_address_of_no_use_is_bad_input(url):
    with pytest.raises(BadInput, match="sqlite:///path"):
        opened(url)


async def test_a_mistake_in_a_statement_goes_up_as_it_is(tmp_path):
    with rigs.opened("sqlite", tmp_path) as rig:
        work = rig.store.database.perform(lambda unit: unit.rows(text("SELECT * FROM missing")))
        with pytest.raises(OperationalError, match="no such table"):
            await work
