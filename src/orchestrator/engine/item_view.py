"""The item as scripts and pages read it: one plain object, computed from stored facts (product §6a)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from orchestrator.engine.cases import load_case
from orchestrator.engine.explain import Explanation, explain
from orchestrator.engine.intake import known_item
from orchestrator.errors import BadInput
from orchestrator.pipeline.decisions import Policy
from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.items import Case, Hold, WorkItem
from orchestrator.pipeline.verdicts import Failed, Inconclusive, Passed, Verdict, answer_of
from orchestrator.ports.agent import RunView
from orchestrator.ports.queue import ACTIVE, Job, JobKind
from orchestrator.ports.store import Transaction, TransitionRow, VerdictRow

Json: TypeAlias = dict[str, object]


def item_view(tx: Transaction, item_id: str, policy: Policy, now: datetime) -> Json:
    """Everything about one item. Raises ``BadInput`` when there is none with that number."""
    item = known_item(tx, WorkItemId(item_id.upper()))
    case = load_case(tx, item.task_id, now)
    if case is None:
        raise BadInput(f"unknown work item {item_id}")
    runs = tx.runs.of_item(item.task_id)
    verdicts = tx.facts.verdicts(item.task_id)
    transitions = tx.facts.transitions(item.task_id)
    jobs = tx.jobs.of_item(item.task_id)
    return {
        **summary(case, policy),
        "description": item.description,
        "base": item.base,
        "code": item.code,
        "epoch": item.epoch,
        "tracker_ref": item.tracker_ref,
        "created_at": _when(item.created_at),
        "verdicts": [verdict_view(row) for row in verdicts],
        "timeline": timeline(item, transitions, verdicts, jobs),
        "rounds": [
            {
                "number": r.number,
                "gate": r.source_gate,
                "reason": r.reason,
                "findings": list(r.findings),
                "optional": list(r.optional),
                "link": r.link,
                "spent": r.spent,
            }
            for r in case.rounds
        ],
        "runs": [run_view(run) for run in runs],
        "jobs": [job_view(job) for job in jobs if job.kind in (JobKind.PRODUCE, JobKind.WATCH)],
        "cost": round(sum(run.usage.cost_usd for run in runs), 6),
    }


def summary(case: Case, policy: Policy) -> Json:
    """What a card on the board shows of an item."""
    item = case.item
    explanation = explain(case, policy)
    return {
        "work_item": item.id,
        "title": item.title,
        "project": item.project,
        "track": item.track,
        "stage": item.stage,
        "entered_at": _when(item.entered_at),
        "hold": hold_view(case.hold),
        "round": len(case.rounds) + 1,
        "branch": item.branch,
        "head": item.head,
        "pull_request": item.pull_request,
        "merged": item.merged,
        "labels": list(item.labels),
        "explanation": explanation_view(explanation),
    }


def board_view(tx: Transaction, policy: Policy, now: datetime, project: str | None = None) -> list[Json]:
    """Summaries of all items, newest first."""
    items = sorted(tx.items.all(project), key=lambda item: item.task_id, reverse=True)
    cases = (load_case(tx, item.task_id, now) for item in items)
    return [summary(case, policy) for case in cases if case is not None]


def explanation_view(explanation: Explanation) -> Json:
    """An explanation as JSON."""
    return {
        "work_item": explanation.work_item,
        "stage": explanation.stage,
        "why": explanation.why,
        "since": _when(explanation.since),
        "next": explanation.next,
        "waits_for": explanation.waits_for,
        "who_can_unblock": explanation.who_can_unblock,
        "round": explanation.round,
        "rounds_left": explanation.rounds_left,
        "gates": [
            {"gate": line.gate, "answer": line.answer, "detail": line.detail} for line in explanation.gates
        ],
    }


def hold_view(hold: Hold | None) -> Json | None:
    """``null`` or ``{reason, since, who_can_unblock}`` (product §6a), with the failure class beside it."""
    if hold is None:
        return None
    return {
        "reason": hold.reason,
        "since": _when(hold.since),
        "who_can_unblock": hold.who_can_unblock,
        "failure": hold.failure,
    }


def verdict_view(row: VerdictRow) -> Json:
    """One verdict with what it rests on."""
    detail: Mapping[str, object]
    match row.verdict:
        case Passed(code=code, commit=commit, evidence=evidence):
            detail = {"code": code, "commit": commit, "evidence": _evidence(evidence)}
        case Failed(code=code, commit=commit, reason=reason, evidence=evidence) as failed:
            detail = {
                "code": code,
                "commit": commit,
                "reason": reason,
                "findings": list(failed.findings),
                "failure": failed.failure,
                "evidence": _evidence(evidence),
            }
        case Inconclusive(reason=reason, failure=failure):
            detail = {"reason": reason, "failure": failure}
    return {
        "gate": row.gate,
        "answer": answer_of(row.verdict),
        "stage": row.stage,
        "epoch": row.epoch,
        "at": _when(row.at),
        **detail,
    }


def _evidence(evidence: object) -> Json:
    return {
        name: getattr(evidence, name)
        for name in ("source", "producer", "blob", "detail")
        if getattr(evidence, name)
    }


def timeline(
    item: WorkItem,
    transitions: Sequence[TransitionRow],
    verdicts: Sequence[VerdictRow],
    jobs: Sequence[Job],
) -> list[Json]:
    """What happened to the item, oldest first: work, verdicts and transitions in one line of time."""
    rows: list[tuple[datetime, int, Json]] = [
        (item.created_at, 0, {"kind": "created", "at": _when(item.created_at), "text": f"{item.id} filed"})
    ]
    for job in jobs:
        if job.kind is JobKind.PRODUCE and job.finished_at is not None:
            rows.append((job.finished_at, 1, _work_row(job)))
    for row in verdicts:
        rows.append((row.at, 2, {"kind": "verdict", **verdict_view(row), "text": _verdict_text(row.verdict)}))
    for move in transitions:
        rows.append((move.at, 3, _transition_row(move)))
    return [row for _, _, row in sorted(rows, key=lambda entry: (entry[0], entry[1]))]


def _work_row(job: Job) -> Json:
    result = job.result
    text = result.get("summary") or result.get("deferred") or result.get("skipped") or job.error
    return {
        "kind": "work",
        "at": _when(job.finished_at),
        "stage": job.stage,
        "epoch": job.epoch,
        "producer": result.get("producer") or job.agent,
        "status": job.status,
        "verdict": result.get("verdict") or "",
        "commit": result.get("delivered"),
        "artifact": result.get("artifact") or "",
        "seconds": work_seconds(job),
        "text": text or "",
    }


def work_seconds(job: Job) -> float | None:
    """How long the work took, from its start to its end, in seconds."""
    if job.started_at is None or job.finished_at is None:
        return None
    return round((job.finished_at - job.started_at).total_seconds(), 3)


def _transition_row(move: TransitionRow) -> Json:
    return {
        "kind": move.kind,
        "at": _when(move.at),
        "from": move.from_stage,
        "to": move.to_stage,
        "epoch": move.epoch,
        "trigger": move.trigger,
        "commit": move.commit,
        "evidence": dict(move.evidence),
        "text": move.reason,
    }


def _verdict_text(verdict: Verdict) -> str:
    match verdict:
        case Passed(evidence=evidence):
            return evidence.detail or evidence.source
        case Failed(reason=reason) | Inconclusive(reason=reason):
            return reason


def run_view(run: RunView) -> Json:
    """One attempt of an agent."""
    return {
        "id": run.id,
        "role": run.role,
        "stage": run.stage,
        "started_at": _when(run.started_at),
        "finished_at": _when(run.finished_at),
        "exit_code": run.exit_code,
        "outcome": run.outcome,
        "model": run.model,
        "effort": run.effort,
        "cli": run.cli,
        "cli_version": run.cli_version,
        "input_tokens": run.usage.input_tokens,
        "output_tokens": run.usage.output_tokens,
        "cache_read_tokens": run.usage.cache_read_tokens,
        "cache_write_tokens": run.usage.cache_write_tokens,
        "cost_usd": run.usage.cost_usd,
    }


def job_view(job: Job) -> Json:
    """One job as the queue shows it."""
    return {
        "id": job.id,
        "kind": job.kind,
        "agent": job.agent,
        "project": job.project,
        "stage": job.stage,
        "epoch": job.epoch,
        "status": job.status,
        "attempts": job.attempts,
        "available_at": _when(job.available_at),
        "started_at": _when(job.started_at),
        "finished_at": _when(job.finished_at),
        "seconds": work_seconds(job),
        "error": job.error,
        "is_active": job.status in ACTIVE,
        "result": dict(job.result),
    }


def _when(instant: datetime | None) -> str | None:
    return instant.isoformat() if instant is not None else None
