"""The store on a database: the repositories of one transaction, and the way to them."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import TypeVar

from orchestrator.ports.clock import Clock
from orchestrator.ports.store import Transaction
from orchestrator.store import schema
from orchestrator.store.database import Database
from orchestrator.store.events import SqlEvents
from orchestrator.store.facts import SqlFacts
from orchestrator.store.items import SqlItems
from orchestrator.store.jobs import SqlJobs
from orchestrator.store.owners import Owner
from orchestrator.store.projects import SqlProjects
from orchestrator.store.runs import SqlRuns
from orchestrator.store.unit import Unit

Result = TypeVar("Result")


class SqlTransaction:
    """`ports.store.Transaction` over one unit."""

    def __init__(self, unit: Unit) -> None:
        """Everything works in ``unit``."""
        self.items = SqlItems(unit)
        self.facts = SqlFacts(unit)
        self.jobs = SqlJobs(unit)
        self.runs = SqlRuns(unit)
        self.events = SqlEvents(unit)
        self.projects = SqlProjects(unit)


class SqlStore:
    """`ports.store.Store` for one process; its queue and leases work on ``database``."""

    def __init__(self, url: str, clock: Clock, owner: Owner) -> None:
        """Open the database at ``url``, bringing its tables up to date first.

        Raises:
            BadInput: ``url`` is of no use, or the database is newer than this program.
            Malformed, Unavailable: it cannot be read, or does not answer.
        """
        self.database = Database(url, clock, owner)
        with ExitStack() as opened:
            opened.callback(self.database.close)
            schema.bring_up(self.database.engine)
            opened.pop_all()

    async def transact(self, action: Callable[[Transaction], Result]) -> Result:
        """Run ``action`` in one transaction: all of it is stored, or (when it raises) nothing.

        Raises:
            Conflict: a race was lost, or a constraint forbids what was asked.
            Unavailable: the database does not answer.
            RuntimeError: a transaction is under way already, or ``action`` wants to be awaited.
        """
        return await self.database.perform(lambda unit: action(SqlTransaction(unit)))

    def version(self) -> int:
        """How many commits of this process changed something."""
        return self.database.commits

    def close(self) -> None:
        """Give the connections back."""
        self.database.close()
