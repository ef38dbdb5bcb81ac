"""One database: short transactions, one after the other on SQLite, in threads on PostgreSQL."""

import asyncio
import inspect
import sqlite3
import threading
from collections.abc import Callable, Collection
from contextlib import nullcontext
from datetime import timedelta
from typing import TypeVar, cast

from sqlalchemy import Connection

from orchestrator.ports.clock import Clock
from orchestrator.ports.queue import JobKind
from orchestrator.store.engines import READ, connect, translated, unsynchronised
from orchestrator.store.owners import Owner
from orchestrator.store.unit import Unit

Result = TypeVar("Result")


class Bell:
    """Wakes those who wait for jobs in this process; may be rung from any thread."""

    def __init__(self) -> None:
        """Nobody waits, nothing was rung."""
        self._lock = threading.Lock()
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._last: dict[JobKind, int] = {}
        self.rung = 0

    def ring(self, kinds: Collection[JobKind]) -> None:
        """Wake everybody: there may be jobs of these kinds."""
        with self._lock:
            self.rung += 1
            self._last.update(dict.fromkeys(kinds, self.rung))
            waiting, self._waiting = self._waiting, set()
        for loop, event in waiting:
            loop.call_soon_threadsafe(event.set)

    def last_for(self, kinds: Collection[JobKind]) -> int:
        """How often it had been rung when it last was for one of these kinds."""
        return max((self._last.get(kind, 0) for kind in kinds), default=0)

    async def heard(self, since: int) -> None:
        """Return once the bell was rung after it had been rung ``since`` times."""
        entry = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            if self.rung != since:
                return
            self._waiting.add(entry)
        try:
            await entry[1].wait()
        finally:
            with self._lock:
                self._waiting.discard(entry)


class _Turn(threading.local):
    """Whether this thread is inside a transaction (an attribute of each thread, hence no slot)."""

    taken = False


class Database:
    """Runs functions in transactions, for one process (``owner``)."""

    def __init__(self, url: str, clock: Clock, owner: Owner) -> None:
        """Connect to ``url``; the schema is taken as it is found.

        Raises:
            BadInput: ``url`` names no database that is supported.
            Malformed, Unavailable: as `translated`.
        """
        self.engine = connect(url)
        self.clock = clock
        self.owner = owner
        self.bell = Bell()
        self.commits = 0
        self._inline = self.engine.dialect.name == "sqlite"
        self._lock = threading.Lock()
        self._turn = _Turn()
        with translated():
            # SQLite keeps its one connection: opening costs more than a transaction does.
            self._connection: Connection | None = self.engine.connect() if self._inline else None

    @property
    def sees_all_changes(self) -> bool:
        """Whether `changes_elsewhere` and the bell together tell of every change there is."""
        return self._inline

    def close(self) -> None:
        """Give the connections back."""
        if self._connection is not None:
            self._connection.close()
        self.engine.dispose()

    async def perform(
        self, work: Callable[[Unit], Result], *, read: bool = False, durable: bool = True
    ) -> Result:
        """Run ``work`` in one transaction: all of it is stored, or (when it raises) nothing.

        ``read`` promises that it writes nothing; it then waits for no writer. Without ``durable`` a power cut
        may undo it, together with whatever came after it: right for what ends with this process anyway, such
        as its claims and leases, and for what is done again when its end was not noted.

        Raises:
            Conflict, Malformed, Unavailable: as `translated`.
            RuntimeError: a transaction is under way in this thread, or ``work`` wants to be awaited.
        """
        if self._inline or self._turn.taken:
            return self.run(work, read=read, durable=durable)
        return await asyncio.to_thread(self.run, work, read=read, durable=durable)

    def run(self, work: Callable[[Unit], Result], *, read: bool = False, durable: bool = True) -> Result:
        """The same, in this thread."""
        if self._turn.taken:
            raise RuntimeError("a transaction is under way: do the second thing in it, or after it")
        self._turn.taken = True
        try:
            if self._connection is None:
                with translated(), self.engine.connect() as connection:
                    return self._in(connection, work, read=read)
            with self._lock, nullcontext() if durable else unsynchronised(self._connection):
                return self._in(self._connection, work, read=read)
        finally:
            self._turn.taken = False

    def changes_elsewhere(self) -> int:
        """A number that differs once another connection has committed; always 0 where SQLite is not used."""
        if self._connection is None:
            return 0
        if self._turn.taken:
            raise RuntimeError("a transaction is under way: what others changed shows after it")
        # Straight to the driver: it is asked several times a second, for as long as the process lives.
        driver = cast("sqlite3.Connection", self._connection.connection.driver_connection)
        with self._lock, translated():
            return int(driver.execute("PRAGMA data_version").fetchone()[0])

    def _in(self, connection: Connection, work: Callable[[Unit], Result], *, read: bool) -> Result:
        unit = Unit(connection, self.clock.now, self.owner)
        if self._inline:
            connection.execution_options(**{READ: read})
        with translated(), connection.begin() as transaction:
            result = work(unit)
            if inspect.iscoroutine(result):
                result.close()
                raise RuntimeError("nothing can be awaited in a transaction: hand in a plain function")
            unit.vouch()
            transaction.commit()
        if unit.wrote:
            self.commits += 1
        if unit.enqueued:
            self.bell.ring(unit.enqueued)
        return result


async def first_of(bell: Bell, since: int, clock: Clock, timeout: timedelta) -> None:
    """Return when the bell was rung after ``since``, or when ``timeout`` is over."""
    if bell.rung != since:
        return
    tasks = [asyncio.ensure_future(bell.heard(since)), asyncio.ensure_future(clock.sleep(timeout))]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
