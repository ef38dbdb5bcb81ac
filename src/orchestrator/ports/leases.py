"""Leases: proof that nobody else is acting on a work item or merging into a base branch."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from orchestrator.pipeline.ids import Epoch, TaskId
from orchestrator.pipeline.stages import Stage


@dataclass(frozen=True, slots=True)
class Lease:
    """Proof that its holder alone may act for the item in this epoch (ORCH-114).

    Whatever has an irreversible effect asks for one. ``fence`` grows with each lease of the item.
    """

    task_id: TaskId
    stage: Stage
    epoch: Epoch
    fence: int
    owner: str


@dataclass(frozen=True, slots=True)
class MergeLease:
    """Proof that its holder alone merges into the base of ``project`` (ORCH-043)."""

    project: str
    task_id: TaskId


@dataclass(frozen=True, slots=True)
class LeaseView:
    """A held lease as it is shown."""

    task_id: TaskId
    owner: str
    stage: str
    since: datetime
    live: bool


class Leases(Protocol):
    """Taking and giving back; liveness is pid and boot id of the owner, never a heartbeat (ORCH-114)."""

    def hold(
        self, task_id: TaskId, *, stage: Stage, epoch: Epoch, owner: str
    ) -> AbstractAsyncContextManager[Lease]:
        """Hold the item's transition lease; entering raises ``Conflict`` while a live owner has it."""
        ...

    async def take_merge(self, project: str, task_id: TaskId) -> MergeLease:
        """Take (or keep) the project's merge lease; ``Conflict`` while another item's live owner has it."""
        ...

    async def give_back_merge(self, project: str, task_id: TaskId) -> None:
        """Give the merge lease back if this item has it."""
        ...

    async def release(self, task_id: TaskId) -> bool:
        """Take the transition lease away whoever has it; whether there was one."""
        ...

    async def recover_on_startup(self) -> int:
        """Void the leases of earlier boots and dead processes; how many."""
        ...

    async def held(self) -> tuple[LeaseView, ...]:
        """All transition leases."""
        ...
