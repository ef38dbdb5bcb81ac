"""Recovery: what a start does about the last end, and what is asked again when a message was lost."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from orchestrator.engine.cases import load_case
from orchestrator.engine.orders import cleanup, look_at, notify, tracker
from orchestrator.pipeline.decisions import WHO_CAN_RETRY, Policy, Wait, decide
from orchestrator.pipeline.items import Hold, Waiter, WorkItem
from orchestrator.pipeline.stages import TERMINAL
from orchestrator.pipeline.verdicts import FailureClass
from orchestrator.ports.clock import Clock
from orchestrator.ports.leases import Leases
from orchestrator.ports.queue import ACTIVE, JobKind, JobStatus, Queue
from orchestrator.ports.store import Store, Transaction

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a start found: jobs of dead owners, leases of dead owners, and items that were asked about."""

    jobs: int
    leases: int
    items: int


class Recovery:
    """Brings the installation back to a state in which everything that can move moves."""

    def __init__(self, *, store: Store, queue: Queue, leases: Leases, clock: Clock, policy: Policy) -> None:
        self._store = store
        self._queue = queue
        self._leases = leases
        self._clock = clock
        self._policy = policy

    async def on_start(self) -> Recovered:
        """Queue the jobs of dead owners again, void their leases, and ask the door about every open item.

        A run that outlived its orchestrator is found by its directory when its job is tried again.
        """
        jobs = await self._queue.requeue_dead()
        leases = await self._leases.recover_on_startup()
        items = await self._store.transact(_ask_about_open_items)
        recovered = Recovered(jobs=jobs, leases=leases, items=items)
        log.info("recovered", jobs=jobs, leases=leases, items=items)
        return recovered

    async def sweep(self, grace: timedelta) -> int:
        """F-1: ask about items that have had no job and no change for ``grace`` (ORCH-053); how many.

        The door decides from the gates, so asking too often is harmless. An item that waits for a person is
        left alone: only that person can move it (ORCH-060).
        """
        now = self._clock.now()

        def ask(tx: Transaction) -> int:
            quiet = [
                item
                for item in tx.items.open()
                if now - item.entered_at >= grace
                and not _has_active_job(tx, item)
                and not self._waits_for_a_person(tx, item, now)
            ]
            for item in quiet:
                _ask_again(tx, item, now)
            return len(quiet)

        return await self._store.transact(ask)

    def _waits_for_a_person(self, tx: Transaction, item: WorkItem, now: datetime) -> bool:
        case = load_case(tx, item.task_id, now)
        decision = decide(case, self._policy) if case is not None else None
        return isinstance(decision, Wait) and decision.waiter is Waiter.PERSON


def _ask_again(tx: Transaction, item: WorkItem, now: datetime) -> None:
    """Ask the door; but looks that ended in an error of ours would only fail again, so a person is called."""
    looks = [job for job in tx.jobs.of_item(item.task_id) if job.kind is JobKind.LOOK]
    if not looks or looks[-1].status is not JobStatus.FAILED or tx.facts.hold(item.task_id) is not None:
        tx.jobs.enqueue(look_at(item.task_id, trigger="reconciler"))
        return
    reason = f"looking at it failed: {looks[-1].error}"
    hold = Hold(reason=reason, since=now, who_can_unblock=WHO_CAN_RETRY, failure=FailureClass.BUG)
    tx.facts.put_on_hold(item.task_id, hold)
    tx.jobs.enqueue(tracker(item))
    tx.jobs.enqueue(notify(item, key=f"bug:{looks[-1].id}", text=f"{item.id} is on hold: {reason}"))


def _ask_about_open_items(tx: Transaction) -> int:
    open_items = tx.items.open()
    for item in open_items:
        tx.jobs.enqueue(look_at(item.task_id, trigger="start"))
    for item in tx.items.all():
        if item.stage in TERMINAL and _is_left_lying(tx, item):
            tx.jobs.enqueue(cleanup(item))
    return len(open_items)


def _has_active_job(tx: Transaction, item: WorkItem) -> bool:
    return any(
        job.status in ACTIVE and job.kind in (JobKind.PRODUCE, JobKind.LOOK)
        for job in tx.jobs.of_item(item.task_id)
    )


def _is_left_lying(tx: Transaction, item: WorkItem) -> bool:
    """A terminal item that nobody cleaned up after, and whose production is not being watched any more."""
    jobs = tx.jobs.of_item(item.task_id)
    if any(job.kind is JobKind.WATCH and job.status in ACTIVE for job in jobs):
        return False
    cleanups = [job.status for job in jobs if job.kind is JobKind.CLEANUP]
    return not cleanups or cleanups[-1] is JobStatus.FAILED
