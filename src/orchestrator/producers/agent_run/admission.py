"""Whether a run may start: the machine is fit for it, and the provider serves (product §4, resilience)."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeAlias

from orchestrator.config.settings import Settings
from orchestrator.pipeline.breaker import (
    Breaker,
    Report,
    Rules,
    State,
    Wait,
    admit,
    after,
    from_text,
    to_text,
)
from orchestrator.ports.agent import (
    AgentFailed,
    AgentOutcome,
    BudgetReached,
    Finished,
    LimitKind,
    LimitReached,
)
from orchestrator.ports.clock import Clock
from orchestrator.ports.producer import Assignment
from orchestrator.ports.queue import JobKind, NewJob
from orchestrator.ports.store import Store, Transaction

MEGABYTE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Unfit:
    """This machine cannot run an agent now, and why."""

    reason: str


Held: TypeAlias = Wait | Unfit


class Admission:
    """Asks the machine and the breaker of a kind of CLI; one breaker for each kind, kept in the store."""

    def __init__(self, *, store: Store, clock: Clock, settings: Settings) -> None:
        self._store = store
        self._clock = clock
        self._enabled = settings.breaker_enabled
        self._rules = Rules(
            refusals=settings.breaker_failures,
            delay=timedelta(seconds=settings.breaker_delay_s),
            longest=timedelta(seconds=settings.breaker_max_delay_s),
        )
        self._home: Path = settings.home
        self._min_free_mb = settings.disk_min_free_mb

    async def ask(self, assignment: Assignment, cli: str, limit: timedelta) -> Held | None:
        """Why the run of the assignment's job may not start now; ``None`` when it may.

        ``limit`` is the time limit of the run: a run that tries a provider again is given up after it.
        """
        free = _free_mb(self._home)
        if free < self._min_free_mb:
            return Unfit(
                f"only {free} MB are free at {self._home}; ORCH_DISK_MIN_FREE_MB={self._min_free_mb}"
            )
        if not self._enabled:
            return None
        now, job = self._clock.now(), assignment.job.id

        def decide(tx: Transaction) -> Wait | None:
            answer, breaker = admit(_read(tx, cli), now=now, run=job, limit=limit)
            _keep(tx, cli, breaker)
            return answer if isinstance(answer, Wait) else None

        return await self._store.transact(decide)

    async def report(self, assignment: Assignment, cli: str, outcome: AgentOutcome | None) -> None:
        """Tell the breaker what the run came to; ``None`` when it was not started in the end.

        When the breaker opens, people are told once.
        """
        if not self._enabled:
            return
        now, job = self._clock.now(), assignment.job.id
        report = _report(outcome)
        limited = outcome if isinstance(outcome, LimitReached) else None

        def note(tx: Transaction) -> None:
            before = _read(tx, cli)
            breaker = after(
                before,
                report,
                now=now,
                run=job,
                rules=self._rules,
                reason=limited.reason if limited is not None else "",
                retry_at=limited.retry_at if limited is not None else None,
            )
            _keep(tx, cli, breaker)
            if breaker.state is State.OPEN and before.state is State.CLOSED:
                tx.jobs.enqueue(_alert(cli, breaker))

        await self._store.transact(note)

    def snapshot(self, cli: str, kept: str | None) -> Mapping[str, object]:
        """The block ``breaker`` of ``GET /queue``, from what the store keeps under `breaker_key`."""
        breaker = from_text(kept)
        return {
            "enabled": self._enabled,
            "cli": cli,
            "state": breaker.state,
            "refusals": breaker.refusals,
            "reason": breaker.reason,
            "opened_at": breaker.opened_at,
            "until": breaker.until,
        }


def _free_mb(home: Path) -> int:
    """Free megabytes where the data directory is, or will be."""
    existing = next(place for place in (home, *home.parents) if place.exists())
    return shutil.disk_usage(existing).free // MEGABYTE


def _report(outcome: AgentOutcome | None) -> Report:
    match outcome:
        case LimitReached(kind=LimitKind.ASKED):
            return Report.SILENT
        case LimitReached():
            return Report.REFUSED
        case Finished() | BudgetReached():
            return Report.SERVED
        case AgentFailed(usage=usage) if usage.tokens:
            return Report.SERVED
    return Report.SILENT


def breaker_key(cli: str) -> str:
    """Under what the store keeps the breaker of a kind of CLI."""
    return f"breaker:{cli}"


def _read(tx: Transaction, cli: str) -> Breaker:
    return from_text(tx.projects.recall(breaker_key(cli)))


def _keep(tx: Transaction, cli: str, breaker: Breaker) -> None:
    text = to_text(breaker)
    if text != to_text(_read(tx, cli)):
        tx.projects.remember(breaker_key(cli), text)


def _alert(cli: str, breaker: Breaker) -> NewJob:
    until = f" until {breaker.until:%Y-%m-%d %H:%M} UTC" if breaker.until is not None else ""
    key = f"breaker:{cli}:{breaker.opened_at}"
    text = f"agents pause{until}: the provider of {cli} refused {breaker.refusals} times: {breaker.reason}"
    return NewJob(kind=JobKind.NOTIFY, dedup=key, data={"key": key, "text": text}, priority=-1)
