"""The installation at a glance: what ``/status``, ``/queue`` and ``/metrics`` answer (inventory §13)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from orchestrator.engine.cases import load_case, occupies_the_place
from orchestrator.engine.item_view import job_view, summary
from orchestrator.pipeline.decisions import Policy
from orchestrator.pipeline.stages import Stage, Track
from orchestrator.ports.clock import Clock
from orchestrator.ports.leases import Leases
from orchestrator.ports.store import Store, Transaction

Json: TypeAlias = dict[str, object]
Block: TypeAlias = Callable[[], Mapping[str, object]]

NOT_BUILT: Final[Mapping[str, object]] = {"enabled": False, "state": "not part of this version"}
"""What a block says whose mechanism this version does not have: present, and honest."""

BLOCK_NAMES: Final = (
    "auto_labels",
    "bug_fast_track",
    "build_cache_prune",
    "checkout_hygiene",
    "counts",
    "coverage",
    "disk_monitor",
    "fs_ownership",
    "lessons",
    "max_concurrency",
    "merge_gate",
    "merge_verify",
    "poll_interval",
    "post_deploy",
    "reaper",
    "recent",
    "reconcile",
    "resilience",
    "serial_gate",
    "staging_runner",
    "stop",
    "task_deps",
    "test_runner",
    "transition_lease",
)
"""The twenty-four keys of ``GET /queue``; names are contracts."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The numbers of the installation that ``/queue`` shows."""

    max_concurrency: int
    poll_interval: timedelta


class Overview:
    """Answers about the whole installation; every answer is read-only."""

    def __init__(
        self,
        *,
        store: Store,
        leases: Leases,
        clock: Clock,
        policy: Policy,
        limits: Limits,
        blocks: Mapping[str, Block],
    ) -> None:
        self._store = store
        self._leases = leases
        self._clock = clock
        self._policy = policy
        self._limits = limits
        self._blocks = blocks

    async def status(self) -> Json:
        """Active items (stage neither done nor cancelled) with what they wait for."""
        now = self._clock.now()

        def read(tx: Transaction) -> list[Json]:
            cases = (load_case(tx, item.task_id, now) for item in tx.items.open())
            return [summary(case, self._policy) for case in cases if case is not None]

        active = await self._store.transact(read)
        return {"status": "ok", "active": len(active), "items": active}

    async def queue(self) -> Json:
        """All blocks of ``GET /queue``; a mechanism that is not there says so."""
        now = self._clock.now()
        facts = await self._store.transact(lambda tx: self._from_store(tx, now))
        leases = await self._leases.held()
        facts["transition_lease"] = {
            "enabled": True,
            "held": [
                {
                    "task_id": lease.task_id,
                    "owner": lease.owner,
                    "stage": lease.stage,
                    "age_s": round((now - lease.since).total_seconds(), 3),
                    "live": lease.live,
                }
                for lease in leases
            ],
        }
        facts["max_concurrency"] = self._limits.max_concurrency
        facts["poll_interval"] = self._limits.poll_interval.total_seconds()
        for name, block in self._blocks.items():
            facts[name] = dict(block())
        return {name: facts.get(name, dict(NOT_BUILT)) for name in BLOCK_NAMES}

    def _from_store(self, tx: Transaction, now: datetime) -> Json:
        items = tx.items.open()
        return {
            "counts": dict(tx.jobs.counts()),
            "recent": [job_view(job) for job in tx.jobs.recent(20)],
            "lessons": {"enabled": True, "last": [dict(lesson) for lesson in tx.facts.lessons(10)]},
            "serial_gate": {"enabled": True, "projects": _serial_gate(tx)},
            "task_deps": {
                "enabled": True,
                "waiting": {
                    item.id: [blocker.id for blocker in blockers]
                    for item in items
                    if (blockers := tx.items.blockers(item.task_id))
                },
            },
            "bug_fast_track": {
                "enabled": True,
                "active": [item.id for item in items if item.track is Track.BUG],
            },
            "stop": {
                "enabled": True,
                "cancelled": sum(item.stage is Stage.CANCELLED for item in tx.items.all()),
            },
            "merge_verify": {
                "enabled": True,
                "merged": sum(item.merged is not None for item in tx.items.all()),
            },
        }

    async def metrics(self) -> Json:
        """Telemetry of agent runs, items by stage, jobs by status (JSON form of ``GET /metrics``)."""

        def read(tx: Transaction) -> Json:
            items = tx.items.all()
            return {
                "runs": [dict(row) for row in tx.runs.totals()],
                "items_by_stage": {stage: sum(item.stage is stage for item in items) for stage in Stage},
                "holds": sum(tx.facts.hold(item.task_id) is not None for item in tx.items.open()),
                "jobs": dict(tx.jobs.counts()),
                "events": tx.events.count(),
            }

        return await self._store.transact(read)


def _serial_gate(tx: Transaction) -> Json:
    """Per project: the item that occupies the place and whether the project is frozen (ORCH-088)."""
    rows: Json = {}
    for project in tx.projects.all():
        working = [item for item in tx.items.open(project.name) if occupies_the_place(tx, item)]
        rows[project.name] = {
            "active_task": f"{working[0].id}/{working[0].stage}" if working else None,
            "waiting": [item.id for item in tx.items.open(project.name) if item.stage is Stage.CREATED],
            "frozen": project.frozen,
        }
    return rows
