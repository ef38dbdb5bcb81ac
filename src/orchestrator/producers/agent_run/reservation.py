"""Reserving what a run may consume: its budgets are looked at and it is stamped in one transaction."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

from orchestrator.config.settings import Settings
from orchestrator.errors import Conflict
from orchestrator.pipeline.budgets import Exhausted, Granted, Occupied, day_start, grant
from orchestrator.pipeline.ids import Commit, RunId
from orchestrator.ports.clock import Clock
from orchestrator.ports.producer import Assignment
from orchestrator.ports.projects import ProjectRegistry
from orchestrator.ports.store import NewRun, StartedRun, Store, Transaction
from orchestrator.producers.agent_run.terms import Terms, terms_of

Refused: TypeAlias = Occupied | Exhausted
"""Why no run may start now."""

CliVersion: TypeAlias = Callable[[str, str], Awaitable[str]]
"""Tells the version of a kind of CLI, which the second argument may name the executable of."""


class Reservations:
    """Stamps runs, each with all that the budgets leave it.

    Without ``cli_version`` no CLI is asked for its version, and none is stamped.
    """

    def __init__(
        self,
        *,
        store: Store,
        projects: ProjectRegistry,
        settings: Settings,
        clock: Clock,
        cli_version: CliVersion | None = None,
    ) -> None:
        self._store = store
        self._projects = projects
        self._settings = settings
        self._clock = clock
        self._cli_version = cli_version

    async def terms(self, assignment: Assignment) -> Terms:
        """The terms of the assignment's role, as project and settings have them now.

        Raises:
            Rejected: the project is unknown.
        """
        project = await self._projects.project(assignment.item.project)
        return terms_of(assignment.role, project, self._settings)

    async def start(
        self, assignment: Assignment, terms: Terms, *, start_commit: Commit, log_path: str
    ) -> StartedRun | Refused:
        """The run of the assignment's job: stamped when the budgets grant it, or found as it was stamped.

        Raises:
            Rejected: the job is unknown, or the CLI cannot tell its version.
            Unavailable: the store cannot be reached.
        """
        new = NewRun(
            role=assignment.role.value,
            model=terms.model,
            effort=terms.effort,
            cli=terms.cli,
            cli_version=await self._version(terms),
            log_path=log_path,
            start_commit=start_commit,
            limit=terms.limit,
        )
        return await self._store.transact(lambda tx: self._reserve(tx, assignment, terms, new))

    async def withdraw(self, run_id: RunId) -> None:
        """End a run that was stamped and never started; what it reserved is free again."""
        await self._store.transact(
            lambda tx: tx.runs.end(run_id, exit_code=None, outcome="not started", usage=None)
        )

    async def found(self, run_id: RunId) -> StartedRun:
        """The run that goes on already, with the ceiling that it was granted.

        Raises:
            Conflict: the store has no such run.
        """
        run = await self._store.transact(lambda tx: tx.runs.stamped(run_id))
        if run is None:
            raise Conflict(f"run {run_id} is unknown")
        return run

    async def _version(self, terms: Terms) -> str:
        return "" if self._cli_version is None else await self._cli_version(terms.cli, terms.command)

    def _reserve(
        self, tx: Transaction, assignment: Assignment, terms: Terms, new: NewRun
    ) -> StartedRun | Refused:
        item, job = assignment.item, assignment.job
        found = tx.runs.resume(job)
        if found is not None:
            return found
        today = day_start(self._clock.now(), terms.zone)
        accounts = tx.runs.accounts(item.project, today, task_id=item.task_id, role=new.role)
        granted = grant(terms.budgets, accounts, wall=terms.limit)
        if not isinstance(granted, Granted):
            return granted
        return tx.runs.start(job, replace(new, ceiling=granted.ceiling))
