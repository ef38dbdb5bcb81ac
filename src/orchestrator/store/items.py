"""Work items and what they depend on."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, Select, bindparam, select

from orchestrator.errors import Conflict, Rejected
from orchestrator.pipeline.ids import CodeId, Commit, Epoch, TaskId, WorkItemId
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import TERMINAL, Stage, Track
from orchestrator.ports.queue import JobKind
from orchestrator.ports.store import NewItem
from orchestrator.store.tables import job_deps, tasks
from orchestrator.store.unit import Unit


class SqlItems:
    """`ports.store.Items` within one transaction."""

    def __init__(self, unit: Unit) -> None:
        """Work in ``unit``."""
        self._unit = unit

    def add(self, item: NewItem) -> WorkItem:
        """Store a new item in stage ``created``, epoch 1; ``Conflict`` when the number or ref is taken."""
        now = self._unit.now()
        task_id = self._unit.add(
            tasks,
            plane_id=item.tracker_ref,
            work_item_id=item.id,
            repo=item.project,
            title=item.title,
            description=item.description,
            track=item.track,
            stage=Stage.CREATED,
            epoch=1,
            branch=item.branch,
            base=item.base,
            labels=list(item.labels),
            author=item.author,
            created_at=now,
            entered_at=now,
            updated_at=now,
        )
        return self._stored(TaskId(task_id))

    def get(self, task_id: TaskId) -> WorkItem | None:
        """The item of a row id."""
        row = self._unit.row(_BY_ROW_ID, {"row_id": task_id})
        return None if row is None else item_of(row)

    def by_id(self, item_id: WorkItemId) -> WorkItem | None:
        """The item of a number.

        Raises:
            Rejected: two projects use the number, so that it names no one item.
        """
        found = self._many(select(tasks).where(tasks.c.work_item_id == item_id).order_by(tasks.c.id))
        if len(found) > 1:
            raise Rejected(f"{item_id} is an item of each of {', '.join(item.project for item in found)}")
        return found[0] if found else None

    def by_ref(self, tracker_ref: str) -> WorkItem | None:
        """The item of a reference in the tracker."""
        return self._one(select(tasks).where(tasks.c.plane_id == tracker_ref))

    def by_branch(self, project: str, branch: str) -> WorkItem | None:
        """The newest item that works on ``branch``."""
        mine = select(tasks).where(tasks.c.repo == project, tasks.c.branch == branch)
        return self._one(mine.order_by(tasks.c.id.desc()).limit(1))

    def all(self, project: str | None = None) -> Sequence[WorkItem]:
        """All items, oldest first."""
        return self._many(_of(project))

    def open(self, project: str | None = None) -> Sequence[WorkItem]:
        """Items that are neither done nor cancelled, oldest first."""
        return self._many(_of(project).where(tasks.c.stage.not_in(TERMINAL)))

    def move(self, item: WorkItem, *, to: Stage, epoch: Epoch) -> WorkItem:
        """Compare-and-swap on (stage, epoch): ``Conflict`` when the stored pair is another (ORCH-114)."""
        now = self._unit.now()
        mine = (tasks.c.id == item.task_id, tasks.c.stage == item.stage, tasks.c.epoch == item.epoch)
        moved = tasks.update().where(*mine).values(stage=to, epoch=epoch, entered_at=now, updated_at=now)
        if not self._unit.write(moved):
            raise Conflict(f"{item.id} is not in {item.stage} (epoch {item.epoch}) any more")
        if to in TERMINAL:
            # Work for items that depend on this one may be claimed now.
            self._unit.enqueued.update(JobKind)
        return self._stored(item.task_id)

    def note_head(self, task_id: TaskId, *, head: Commit, code: CodeId) -> None:
        """What the branch holds now."""
        self._note(task_id, head=head, code=code)

    def note_pull_request(self, task_id: TaskId, number: int) -> None:
        """The pull request of the branch."""
        self._note(task_id, pull_request=number)

    def note_merged(self, task_id: TaskId, commit: Commit | None) -> None:
        """The commit that the base branch got from the item."""
        self._note(task_id, merged=commit)

    def note_branch(self, task_id: TaskId, branch: str, attempt: int) -> None:
        """The next round works on another branch: what was known of the old one is forgotten."""
        forgotten = {"pull_request": None, "merged": None, "head": None, "code": None}
        self._note(task_id, branch=branch, branch_attempt=attempt, **forgotten)

    def note_ticket(
        self, task_id: TaskId, *, title: str, description: str, labels: Sequence[str], track: Track
    ) -> None:
        """What the tracker says now."""
        self._note(task_id, title=title, description=description, labels=list(labels), track=track)

    def approve_text(self, task_id: TaskId, digest: str) -> None:
        """The title and description with this digest may be handed to agents."""
        self._note(task_id, text_approved=digest)

    def blockers(self, task_id: TaskId) -> Sequence[WorkItem]:
        """Unfinished items that this one depends on (``job_deps``, ORCH-026)."""
        needed = select(tasks).join(job_deps, job_deps.c.depends_on_id == tasks.c.id)
        unfinished = (job_deps.c.task_id == task_id, tasks.c.stage.not_in(TERMINAL))
        return self._many(needed.where(*unfinished).order_by(tasks.c.id))

    def depend(self, task_id: TaskId, on: TaskId) -> None:
        """Record a dependency; ``Rejected`` naming the cycle when it would close one."""
        cycle = self._path(on, task_id)
        if cycle:
            raise Rejected(f"the dependency closes a cycle: {' → '.join(self._names((task_id, *cycle)))}")
        edge = self._unit.insert(job_deps).values(task_id=task_id, depends_on_id=on)
        self._unit.write(edge.on_conflict_do_nothing())

    def _path(self, start: TaskId, goal: TaskId) -> tuple[TaskId, ...]:
        """The items from ``start`` to ``goal`` along dependencies; empty when there is no such road."""
        came_from: dict[TaskId, TaskId] = {start: start}
        frontier = [start]
        while frontier and goal not in came_from:
            edges = self._unit.rows(select(job_deps).where(job_deps.c.task_id.in_(frontier)))
            fresh = {row.depends_on_id: row.task_id for row in edges if row.depends_on_id not in came_from}
            came_from.update(fresh)
            frontier = list(fresh)
        if goal not in came_from:
            return ()
        path = [goal]
        while path[-1] != start:
            path.append(came_from[path[-1]])
        return tuple(reversed(path))

    def _names(self, task_ids: Sequence[TaskId]) -> list[str]:
        rows = self._unit.rows(select(tasks.c.id, tasks.c.work_item_id).where(tasks.c.id.in_(task_ids)))
        names = {row.id: str(row.work_item_id) for row in rows}
        return [names.get(task_id, str(task_id)) for task_id in task_ids]

    def _note(self, task_id: TaskId, **values: object) -> None:
        self._unit.change(tasks, task_id, updated_at=self._unit.now(), **values)

    def _stored(self, task_id: TaskId) -> WorkItem:
        (row,) = self._unit.rows(_BY_ROW_ID, {"row_id": task_id})
        return item_of(row)

    def _one(self, query: Select[Any]) -> WorkItem | None:
        row = self._unit.row(query)
        return None if row is None else item_of(row)

    def _many(self, query: Select[Any]) -> Sequence[WorkItem]:
        return [item_of(row) for row in self._unit.rows(query)]


# Asked several times for each look at an item. Built once: building it takes longer than executing it does.
_BY_ROW_ID = select(tasks).where(tasks.c.id == bindparam("row_id"))


def _of(project: str | None) -> Select[Any]:
    every = select(tasks).order_by(tasks.c.id)
    return every if project is None else every.where(tasks.c.repo == project)


def item_of(row: Row[Any]) -> WorkItem:
    """A row of ``tasks`` as the domain knows it."""
    return WorkItem(
        task_id=TaskId(row.id),
        id=WorkItemId(row.work_item_id),
        project=row.repo,
        title=row.title,
        description=row.description,
        tracker_ref=row.plane_id,
        track=Track(row.track),
        stage=Stage(row.stage),
        epoch=Epoch(row.epoch),
        branch=row.branch,
        base=row.base,
        created_at=row.created_at,
        entered_at=row.entered_at,
        head=row.head,
        code=row.code,
        pull_request=row.pull_request,
        merged=row.merged,
        branch_attempt=row.branch_attempt,
        labels=tuple(row.labels),
        author=row.author,
        text_approved=row.text_approved,
    )
