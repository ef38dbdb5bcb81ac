"""Leases as rows: one owner at a time for a work item, one merging item at a time for a project."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from sqlalchemy import Row, select

from orchestrator.errors import Conflict, Rejected
from orchestrator.pipeline.ids import Epoch, TaskId
from orchestrator.pipeline.stages import Stage
from orchestrator.ports.leases import Lease, LeaseView, MergeLease
from orchestrator.store.database import Database
from orchestrator.store.owners import Alive, Owner, is_alive
from orchestrator.store.tables import project_state, tasks, transition_lease
from orchestrator.store.unit import Unit


class SqlLeases:
    """`ports.leases.Leases` for one process."""

    def __init__(self, database: Database, *, alive: Alive = is_alive) -> None:
        """Hold for the owner of ``database``; ``alive`` tells whether another owner is still there."""
        self._database = database
        self._alive = alive

    def hold(
        self, task_id: TaskId, *, stage: Stage, epoch: Epoch, owner: str
    ) -> AbstractAsyncContextManager[Lease]:
        """Hold the item's transition lease; entering raises ``Conflict`` while a live owner has it.

        Two holders in one process exclude each other as well. Leaving gives back only what is still ours.
        """
        return self._held(task_id, stage, epoch, owner)

    async def take_merge(self, project: str, task_id: TaskId) -> MergeLease:
        """Take (or keep) the project's merge lease; ``Conflict`` while another item's live owner has it."""
        await self._database.perform(lambda unit: self._take_merge(unit, project, task_id))
        return MergeLease(project, task_id)

    async def give_back_merge(self, project: str, task_id: TaskId) -> None:
        """Give the merge lease back if this item has it."""
        mine = (project_state.c.name == project, project_state.c.merge_task_id == task_id)
        await self._database.perform(
            lambda unit: unit.write(project_state.update().where(*mine).values(_FREE))
        )

    async def release(self, task_id: TaskId) -> bool:
        """Take the transition lease away whoever has it; whether there was one."""
        row = transition_lease.delete().where(transition_lease.c.task_id == task_id)
        return await self._database.perform(lambda unit: unit.write(row) > 0)

    async def recover_on_startup(self) -> int:
        """Void the leases of earlier boots and dead processes; how many."""
        return await self._database.perform(self._void_dead)

    async def held(self) -> tuple[LeaseView, ...]:
        """All transition leases, the oldest first."""
        columns = transition_lease.c
        every = select(transition_lease).order_by(columns.acquired_at, columns.task_id)
        rows = await self._database.perform(lambda unit: unit.rows(every), read=True)
        return tuple(
            LeaseView(
                task_id=row.task_id,
                owner=row.owner,
                stage=row.stage,
                since=row.acquired_at,
                live=self._is_live(_acting(row)),
            )
            for row in rows
        )

    @asynccontextmanager
    async def _held(self, task_id: TaskId, stage: Stage, epoch: Epoch, owner: str) -> AsyncIterator[Lease]:
        fence = await self._database.perform(
            lambda unit: self._acquire(unit, task_id, stage=stage, epoch=epoch, owner=owner), durable=False
        )
        try:
            yield Lease(task_id, stage, epoch, fence, owner)
        finally:
            mine = (transition_lease.c.task_id == task_id, transition_lease.c.fence == fence)
            await self._database.perform(
                lambda unit: unit.write(transition_lease.delete().where(*mine)), durable=False
            )

    def _acquire(self, unit: Unit, task_id: TaskId, *, stage: Stage, epoch: Epoch, owner: str) -> int:
        """Clean a stale row, then insert or do nothing: the number of rows decides (ORCH-114)."""
        columns = transition_lease.c
        row = unit.row(select(transition_lease).where(columns.task_id == task_id))
        if row is not None and not self._is_live(_acting(row)):
            stale = transition_lease.delete().where(columns.task_id == task_id, columns.fence == row.fence)
            unit.write(stale)
        raised = tasks.update().where(tasks.c.id == task_id).values(fence=tasks.c.fence + 1)
        fences = unit.written(raised.returning(tasks.c.fence))
        if not fences:
            raise Rejected(f"there is no work item with the row id {task_id}")
        lease = unit.insert(transition_lease).values(
            task_id=task_id,
            owner=owner,
            stage=stage,
            epoch=epoch,
            owner_pid=unit.owner.pid,
            owner_boot_id=unit.owner.boot,
            acquired_at=unit.now(),
            fence=fences[0].fence,
        )
        if not unit.write(lease.on_conflict_do_nothing(index_elements=["task_id"])):
            holder = row.owner if row is not None else "somebody else"
            raise Conflict(f"the work item is being moved by {holder}")
        return int(fences[0].fence)

    def _take_merge(self, unit: Unit, project: str, task_id: TaskId) -> None:
        known = unit.insert(project_state).values(name=project)
        unit.write(known.on_conflict_do_nothing(index_elements=["name"]))
        columns = project_state.c
        (row,) = unit.rows(select(project_state).where(columns.name == project).with_for_update())
        holder = row.merge_task_id
        if holder not in {None, task_id} and self._is_live(_merging(row)):
            item = unit.value(select(tasks.c.work_item_id).where(tasks.c.id == holder))
            raise Conflict(f"{item} is merging into {project}")
        since = row.merge_acquired_at if holder == task_id else unit.now()
        taken = {
            "merge_task_id": task_id,
            "merge_owner_pid": unit.owner.pid,
            "merge_owner_boot_id": unit.owner.boot,
            "merge_acquired_at": since,
        }
        unit.write(project_state.update().where(columns.name == project).values(taken))

    def _void_dead(self, unit: Unit) -> int:
        leases, projects = transition_lease.c, project_state.c
        voided = 0
        for row in unit.rows(select(leases.task_id, leases.owner_pid, leases.owner_boot_id, leases.fence)):
            if not self._is_live(_acting(row)):
                mine = (leases.task_id == row.task_id, leases.fence == row.fence)
                voided += unit.write(transition_lease.delete().where(*mine))
        for row in unit.rows(select(project_state).where(projects.merge_task_id.is_not(None))):
            if not self._is_live(_merging(row)):
                voided += unit.write(project_state.update().where(projects.name == row.name).values(_FREE))
        return voided

    def _is_live(self, owner: Owner) -> bool:
        return owner == self._database.owner or self._alive(owner)


def _acting(row: Row[Any]) -> Owner:
    return Owner(row.owner_pid, row.owner_boot_id)


def _merging(row: Row[Any]) -> Owner:
    return Owner(row.merge_owner_pid, row.merge_owner_boot_id)


_FREE: dict[str, object] = dict.fromkeys(
    ("merge_task_id", "merge_owner_pid", "merge_owner_boot_id", "merge_acquired_at")
)
