"""A store with its queue and leases on each kind of database, and other processes on the same one."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import create_engine, text

from orchestrator.pipeline.ids import TaskId, WorkItemId
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import Track
from orchestrator.pipeline.untrusted import text_digest
from orchestrator.ports.queue import JobKind, NewJob
from orchestrator.ports.store import NewItem, Transaction
from orchestrator.store import Owner, SqlLeases, SqlQueue, SqlStore
from orchestrator.store.adapter import SqlTransaction
from orchestrator.store.schema import upgrade
from orchestrator.store.tables import METADATA
from orchestrator.store.unit import Unit
from orchestrator.testing.clock import ManualClock

START = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
POSTGRES = os.environ.get("ORCH_TEST_POSTGRES_URL", "")
DATABASES = ("sqlite", "postgres") if POSTGRES else ("sqlite",)


@dataclass
class Process:
    """What one process has on the database."""

    store: SqlStore
    queue: SqlQueue
    leases: SqlLeases

    async def item(self, number: int = 1, **changes) -> WorkItem:
        item = new_item(number)
        return await self.store.transact(lambda tx: _let_in(tx, replace(item, **changes)))

    async def enqueue(self, job: NewJob | None = None, **changes):
        new = replace(job or NewJob(JobKind.LOOK), **changes)
        return await self.store.transact(lambda tx: tx.jobs.enqueue(new))


def new_item(number: int) -> NewItem:
    return NewItem(
        id=WorkItemId(f"ORCH-{number}"),
        project="tally",
        title="Count twice",
        description="Once is not enough",
        tracker_ref=f"ref-{number}",
        track=Track.FULL,
        branch=f"feature/orch-{number}",
        base="main",
    )


def _let_in(tx: Transaction, new: NewItem) -> WorkItem:
    """An item whose text may be handed to agents."""
    item = tx.items.add(new)
    tx.items.approve_text(item.task_id, text_digest(item.title, item.description))
    stored = tx.items.get(item.task_id)
    assert stored is not None
    return stored


@dataclass
class Rig(Process):
    """The process under test, and the means to start others."""

    url: str
    clock: ManualClock
    dead: set[Owner] = field(default_factory=set)
    others: list[Process] = field(default_factory=list)

    def another(self, pid: int, boot: str = "other") -> Process:
        process = _process(self.url, self.clock, Owner(pid, boot), self.dead)
        self.others.append(process)
        return process

    def kill(self, process: Process) -> None:
        self.dead.add(process.store.database.owner)

    def pass_time(self, **amount: float) -> None:
        self.clock.advance(timedelta(**amount))


@contextmanager
def opened(kind: str, folder: Path) -> Iterator[Rig]:
    """A fresh database of this kind, used by one process."""
    url = _fresh_sqlite(folder) if kind == "sqlite" else _fresh_postgres()
    clock, dead = ManualClock(START), set[Owner]()
    first = _process(url, clock, Owner(1000, "ours"), dead)
    rig = Rig(first.store, first.queue, first.leases, url, clock, dead)
    try:
        yield rig
    finally:
        for process in (rig, *rig.others):
            process.store.close()


def _process(url: str, clock: ManualClock, owner: Owner, dead: set[Owner]) -> Process:
    store = SqlStore(url, clock, owner)

    def alive(owner: Owner) -> bool:
        return owner not in dead

    database = store.database
    return Process(store, SqlQueue(database, alive=alive), SqlLeases(database, alive=alive))


def _fresh_sqlite(folder: Path) -> str:
    path = folder / "orch.db"
    path.write_bytes(_migrated())
    return f"sqlite:///{path}"


@cache
def _migrated() -> bytes:
    folder = Path(tempfile.mkdtemp())
    upgrade(f"sqlite:///{folder / 'template.db'}")
    content = (folder / "template.db").read_bytes()
    shutil.rmtree(folder)
    return content


def _fresh_postgres() -> str:
    url = _postgres_schema()
    upgrade(url)
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        names = ", ".join(table.name for table in METADATA.sorted_tables)
        connection.execute(text(f"TRUNCATE {names} RESTART IDENTITY CASCADE"))
    engine.dispose()
    return url


@cache
def _postgres_schema() -> str:
    """A namespace for each process of the test runner."""
    schema = f"orch_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    engine = create_engine(POSTGRES.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.execute(text(f"DROP SCHEMA IF EXISTS {schema} CASCADE"))
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    engine.dispose()
    return f"{POSTGRES}{'&' if '?' in POSTGRES else '?'}options={quote(f'-csearch_path={schema}')}"


def produce(item: WorkItem, **changes) -> NewJob:
    """Work of the item's present visit to its stage."""
    job = NewJob(
        JobKind.PRODUCE,
        task_id=item.task_id,
        project=item.project,
        agent="developer",
        stage=item.stage,
        epoch=item.epoch,
    )
    return replace(job, **changes)


NOBODY = TaskId(987654)


def count_up(unit: Unit) -> None:
    """Change something."""
    projects = SqlTransaction(unit).projects
    projects.remember("count", str(int(projects.recall("count") or "0") + 1))
