"""The jobs that the engine orders: one function per kind, so that keys are the same everywhere."""

from datetime import timedelta

from orchestrator.pipeline.ids import TaskId
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import Role, Stage
from orchestrator.ports.queue import JobKind, NewJob
from orchestrator.ports.store import Transaction

RESERVED = {Stage.DEPLOY: "deploy-finalizer"}
"""Reserved job roles: they occupy a slot but are executed by deterministic code (inventory §1.2)."""


def look_at(task_id: TaskId, *, trigger: str, delay: timedelta = timedelta()) -> NewJob:
    """Ask the door to look at an item; asked twice, it looks once."""
    return NewJob(
        kind=JobKind.LOOK, task_id=task_id, dedup=f"look:{task_id}", delay=delay, data={"trigger": trigger}
    )


def look_at_waiting(tx: Transaction, project: str) -> None:
    """Ask the door to look at the first items in line: a place in the project may have become free."""
    for item in tx.items.open(project):
        if item.stage is Stage.CREATED:
            tx.jobs.enqueue(look_at(item.task_id, trigger="line"))


def task_content(item: WorkItem, note: str = "") -> str:
    """The task text of a job, in the layout that re-queues use (inventory §6.3)."""
    lines = [
        f"Work item: {item.id}",
        f"Repo: {item.project}",
        f"Branch: {item.branch}",
        f"Stage: {item.stage}",
    ]
    return "\n".join([*lines, f"Note: {note}"] if note else lines)


def produce(item: WorkItem, role: Role, *, reason: str = "") -> NewJob:
    """Order the work of the item's stage, on the code that its branch holds now."""
    return NewJob(
        kind=JobKind.PRODUCE,
        task_id=item.task_id,
        project=item.project,
        agent=RESERVED.get(item.stage, role),
        stage=item.stage,
        epoch=item.epoch,
        commit=item.head,
        code=item.code,
        content=task_content(item, reason),
    )


def watch(item: WorkItem) -> NewJob:
    """Order the post-deploy monitor, whose one job puts itself off from tick to tick."""
    return NewJob(
        kind=JobKind.WATCH,
        task_id=item.task_id,
        project=item.project,
        agent="post-deploy-monitor",
        stage=item.stage,
        epoch=item.epoch,
        commit=item.merged,
        content=task_content(item),
        dedup=f"watch:{item.task_id}",
    )


def tracker(item: WorkItem) -> NewJob:
    """Bring the tracker's state in line with the item, some time soon."""
    return NewJob(kind=JobKind.TRACKER, task_id=item.task_id, dedup=f"tracker:{item.task_id}", priority=-1)


def comment(item: WorkItem, *, key: str, text: str) -> NewJob:
    """Write the comment ``key`` on the item, once."""
    return NewJob(
        kind=JobKind.TRACKER,
        task_id=item.task_id,
        dedup=f"comment:{item.task_id}:{key}",
        data={"comment": key, "text": text},
        priority=-1,
    )


def notify(item: WorkItem, *, key: str, text: str) -> NewJob:
    """Alert people about one condition, once."""
    return NewJob(
        kind=JobKind.NOTIFY,
        task_id=item.task_id,
        dedup=f"notify:{item.task_id}:{key}",
        data={"key": f"notify:{item.task_id}:{key}", "text": text},
        priority=-1,
    )


def cleanup(item: WorkItem) -> NewJob:
    """Remove what a finished or cancelled item leaves on this host."""
    return NewJob(
        kind=JobKind.CLEANUP, task_id=item.task_id, project=item.project, dedup=f"cleanup:{item.task_id}"
    )
