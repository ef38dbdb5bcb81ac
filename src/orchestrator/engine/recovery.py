"""Recovery: what a start does about the last end, and what is asked again when a message was lost."""

from dataclasses import dataclass
from datetime import timedelta

import structlog

from orchestrator.engine.orders import cleanup, look_at
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import TERMINAL
from orchestrator.ports.clock import Clock
from orchestrator.ports.leases import Leases
from orchestrator.ports.queue import JobKind, JobStatus, Queue
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

    def __init__(self, *, store: Store, queue: Queue, leases: Leases, clock: Clock) -> None:
        self._store = store
        self._queue = queue
        self._leases = leases
        self._clock = clock

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

        The door decides from the gates, so asking too often is harmless; an item that waits for a person
        is answered without asking any gate.
        """
        now = self._clock.now()

        def ask(tx: Transaction) -> int:
            quiet = [
                item
                for item in tx.items.open()
                if now - item.entered_at >= grace and not _has_active_job(tx, item)
            ]
            for item in quiet:
                tx.jobs.enqueue(look_at(item.task_id, trigger="reconciler"))
            return len(quiet)

        return await self._store.transact(ask)


def _ask_about_open_items(tx: Transaction) -> int:
    open_items = tx.items.open()
    for item in open_items:
        tx.jobs.enqueue(look_at(item.task_id, trigger="start"))
    for item in tx.items.all():
        if item.stage in TERMINAL and _has_failed_cleanup(tx, item):
            tx.jobs.enqueue(cleanup(item))
    return len(open_items)


def _has_active_job(tx: Transaction, item: WorkItem) -> bool:
    active = (JobStatus.QUEUED, JobStatus.RUNNING)
    return any(
        job.status in active and job.kind in (JobKind.PRODUCE, JobKind.LOOK)
        for job in tx.jobs.of_item(item.task_id)
    )


def _has_failed_cleanup(tx: Transaction, item: WorkItem) -> bool:
    cleanups = [job for job in tx.jobs.of_item(item.task_id) if job.kind is JobKind.CLEANUP]
    return bool(cleanups) and cleanups[-1].status is JobStatus.FAILED
