"""Loading a case: every fact that a decision about one item rests on, in one transaction."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.ids import CodeId, Commit, TaskId, WorkItemId
from orchestrator.pipeline.items import ApprovalKind, Case, Queueing, Work, WorkItem, WorkState
from orchestrator.pipeline.stages import Stage
from orchestrator.pipeline.verdicts import FailureClass, Inconclusive, Passed, Verdict, WaitsFor
from orchestrator.ports.queue import Job, JobStatus
from orchestrator.ports.store import Transaction, VerdictRow
from orchestrator.ports.workspace import Branch


def branch_of(item: WorkItem) -> Branch:
    """The branch on which the item's present round is worked."""
    return Branch(project=item.project, name=item.branch, base=item.base, item=item.id)


def load_case(tx: Transaction, task_id: TaskId, now: datetime) -> Case | None:
    """The case of an item; ``None`` when there is no such item."""
    item = tx.items.get(task_id)
    if item is None:
        return None
    rows = tx.facts.verdicts(task_id, item.epoch)
    return Case(
        item=item,
        work=work_of(tx.jobs.of_visit(task_id, item.stage, item.epoch)),
        verdicts=newest(rows),
        rounds=tuple(tx.facts.rounds(task_id)),
        hold=tx.facts.hold(task_id),
        approvals=tuple(tx.facts.approvals(task_id)),
        queueing=_queueing(tx, item) if item.stage is Stage.CREATED else Queueing(),
        doubted_for=_doubted_for(rows, item.stage, now),
    )


def newest(rows: Iterable[VerdictRow]) -> dict[GateName, Verdict]:
    """The newest verdict of each gate."""
    return {row.gate: row.verdict for row in rows}


def earlier_verdicts(tx: Transaction, task_id: TaskId) -> dict[GateName, Verdict]:
    """The newest verdict of each gate over all epochs."""
    return newest(tx.facts.verdicts(task_id))


def work_of(jobs: Sequence[Job]) -> Work | None:
    """What the jobs of one visit add up to: the last one speaks."""
    counting = [job for job in jobs if job.status is not JobStatus.CANCELLED]
    if not counting:
        return None
    job = counting[-1]
    result = job.result
    return Work(
        job_id=job.id,
        state=_WORK_STATES[job.status],
        producer=str(result.get("producer") or job.agent),
        ordered_at=job.commit,
        delivered=Commit(str(result["delivered"])) if "delivered" in result else None,
        code=CodeId(str(result["code"])) if "code" in result else None,
        summary=str(result.get("summary") or job.error),
        tool_error=str(result.get("tool_error") or ""),
        failure=FailureClass(str(result["failure"])) if "failure" in result else None,
    )


_WORK_STATES = {
    JobStatus.QUEUED: WorkState.PENDING,
    JobStatus.RUNNING: WorkState.PENDING,
    JobStatus.DONE: WorkState.DONE,
    JobStatus.FAILED: WorkState.FAILED,
}


def _doubted_for(rows: Sequence[VerdictRow], stage: Stage, now: datetime) -> timedelta:
    doubts: dict[GateName, datetime] = {}
    for row in rows:
        if row.stage is not stage:
            continue
        if isinstance(row.verdict, Inconclusive):
            doubts.setdefault(row.gate, row.at)
        elif isinstance(row.verdict, Passed):
            doubts.pop(row.gate, None)
    return now - min(doubts.values()) if doubts else timedelta()


def _queueing(tx: Transaction, item: WorkItem) -> Queueing:
    """Serial gate (ORCH-088), freeze and dependencies: what keeps an item from starting."""
    project = tx.projects.get(item.project)
    others = [other for other in tx.items.open(item.project) if other.task_id != item.task_id]
    active = next((other for other in others if occupies_the_place(tx, other)), None)
    return Queueing(
        frozen=project.frozen if project is not None else None,
        place_taken_by=active.id if active is not None else _earlier_in_line(tx, item, others),
        blocked_by=tuple(blocker.id for blocker in tx.items.blockers(item.task_id)),
    )


def _earlier_in_line(tx: Transaction, item: WorkItem, others: Sequence[WorkItem]) -> WorkItemId | None:
    """FIFO by intake: an item that could start and came first goes first."""
    for other in others:
        came_first = other.stage is Stage.CREATED and other.task_id < item.task_id
        if came_first and tx.facts.hold(other.task_id) is None and not tx.items.blockers(other.task_id):
            return other.id
    return None


def occupies_the_place(tx: Transaction, item: WorkItem) -> bool:
    """Items that wait for a person do not occupy the project's place (product §4, serial gate)."""
    if item.stage is Stage.CREATED or tx.facts.hold(item.task_id) is not None:
        return False
    answers = newest(row for row in tx.facts.verdicts(item.task_id, item.epoch) if row.stage is item.stage)
    if any(isinstance(v, Inconclusive) and v.waits_for is WaitsFor.PERSON for v in answers.values()):
        return False
    work = work_of(tx.jobs.of_visit(item.task_id, item.stage, item.epoch))
    if item.stage is Stage.ANALYSIS:
        return work is None or work.state is not WorkState.DONE
    if item.stage is Stage.DEPLOY and work is None and item.merged is not None:
        return any(
            a.kind is ApprovalKind.DEPLOY and a.subject == item.merged and a.granted
            for a in tx.facts.approvals(item.task_id)
        )
    return True


def with_verdict(case: Case, gate: GateName, verdict: Verdict) -> Case:
    """The same case with one more answer."""
    return replace(case, verdicts={**case.verdicts, gate: verdict})
