"""Exit of analysis, second half: a person approved exactly these documents (inventory §3.5)."""

from orchestrator.gates.answers import failed, passed, wait_for_a_person
from orchestrator.gates.tools import GateTools
from orchestrator.pipeline.items import Approval, ApprovalKind
from orchestrator.pipeline.verdicts import Evidence, Verdict
from orchestrator.ports.gate import Question
from orchestrator.ports.subjects import analysis_subject


async def check(question: Question, tools: GateTools) -> Verdict:
    """Pass when the newest decision about these documents grants; wait for a person while there is none."""
    subject = await analysis_subject(
        tools.workspace, question.item.project, question.head.commit, question.item.id
    )
    decision = _newest(question, subject)
    if decision is None:
        return wait_for_a_person("approval of the analysis by a person")
    told = f"{decision.by}, {decision.at.isoformat(timespec='seconds')}"
    evidence = Evidence(source="approval", producer=decision.by, blob=subject, detail=told)
    if decision.granted:
        return passed(question, evidence)
    if decision.at <= question.item.entered_at:
        return wait_for_a_person(
            f"approval of the analysis by a person; it is unchanged since {decision.by} rejected it"
        )
    reason = decision.comment.strip() or f"rejected by {decision.by}"
    return failed(question, reason, findings=(reason,), evidence=evidence)


def _newest(question: Question, subject: str) -> Approval | None:
    decisions = [
        approval
        for approval in question.approvals
        if approval.kind is ApprovalKind.ANALYSIS and approval.subject == subject
    ]
    # Stored oldest first, and sorting keeps that: of two at the same instant the later one counts.
    return sorted(decisions, key=lambda approval: approval.at)[-1] if decisions else None
