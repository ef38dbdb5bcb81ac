"""Last edge gate: what was rehearsed on staging is the commit that goes on (ORCH-058, INV-FRESH)."""

from orchestrator.delivery.rehearsal import Fresh, NotFresh, NotRehearsed
from orchestrator.gates.answers import failed, not_applicable, not_asked_for, passed, quoted_tail
from orchestrator.gates.tools import GateTools
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.verdicts import Evidence, Inconclusive, Verdict
from orchestrator.ports.gate import Question


async def check(question: Question, tools: GateTools) -> Verdict:
    """Pass when staging runs the head's code, or does so after it was built, started and checked anew."""
    skipped = await not_asked_for(question, tools, GateName.STAGING_IMAGE_FRESH, capability="staging")
    staging = question.contract.staging if question.contract is not None else None
    if skipped is not None:
        return skipped
    if staging is None or staging.revision is None:
        return not_applicable(question, "the contract has no staging.revision")
    running = await tools.rehearsal.revision(question.branch, question.head.commit, staging)
    if running is not None and await _is_this_code(question, tools, running):
        return passed(question, _evidence(f"staging runs {running}"))
    match await tools.rehearsal.rebuild(question.branch, question.head.commit, staging):
        case Fresh(revision=revision):
            return passed(question, _evidence(f"staging was brought up anew at {revision}"))
        case NotFresh(reason=reason, tail=tail):
            return failed(question, reason, findings=(quoted_tail(tail),), evidence=_evidence(reason))
        case NotRehearsed(reason=reason):
            return Inconclusive(reason, tools.limits.infra_delay)


async def _is_this_code(question: Question, tools: GateTools, running: str) -> bool:
    """The head, or where this visit's work began: its log is committed after staging was started."""
    if running == question.head.commit:
        return True
    for commit in (question.work.ordered_at, question.work.delivered):
        if commit is not None and running == commit:
            return await tools.workspace.code_id(question.branch, commit) == question.head.code
    return False


def _evidence(detail: str) -> Evidence:
    return Evidence(source="staging.revision", producer="staging", detail=detail)
