"""Third edge gate: the tests reach as much of the code as they did (ORCH-027)."""

from orchestrator.delivery.measurement import NotMeasured
from orchestrator.gates.answers import call_a_person, failed, not_asked_for, passed
from orchestrator.gates.tools import GateTools
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.verdicts import Evidence, FailureClass, Inconclusive, Verdict
from orchestrator.ports.gate import Question


async def check(question: Question, tools: GateTools) -> Verdict:
    """Pass when coverage is at least the repository's baseline less epsilon; without a baseline, always."""
    skipped = await not_asked_for(question, tools, GateName.COVERAGE, capability="coverage")
    section = question.contract.coverage if question.contract is not None else None
    if skipped is not None or section is None:
        return skipped or call_a_person("the contract has no section coverage")
    measured = await tools.measurement.measure(question.branch, question.head, section)
    if isinstance(measured, NotMeasured):
        return _unmeasured(tools, measured)
    return _compare(question, tools, measured.percent, await _baseline(question, tools))


def _unmeasured(tools: GateTools, measured: NotMeasured) -> Verdict:
    """A broken tool never opens the gate: it is asked again, or a person at once when that is the setting.

    The inventory's default (§8.2) lets the item pass; here nothing opens on missing evidence (product §1).
    """
    reason = f"coverage could not be measured: {measured.reason}"
    if tools.limits.coverage_fail_closed:
        return call_a_person(reason, FailureClass.ENVIRONMENT)
    return Inconclusive(reason, tools.limits.infra_delay)


async def _baseline(question: Question, tools: GateTools) -> float | None:
    state = await tools.store.transact(lambda tx: tx.projects.get(question.item.project))
    return state.coverage_baseline if state is not None else None


def _compare(question: Question, tools: GateTools, percent: float, baseline: float | None) -> Verdict:
    epsilon = tools.limits.coverage_epsilon
    enough = baseline is None or percent >= baseline - epsilon
    told = "no baseline yet" if baseline is None else f"baseline {baseline:.2f} %, tolerance {epsilon:.2f}"
    evidence = Evidence(
        source="coverage report",
        producer="coverage-gate",
        detail=f"coverage_status: {'PASS' if enough else 'FAIL'}; {percent:.2f} %, {told}",
    )
    if enough:
        return passed(question, evidence)
    reason = f"coverage fell to {percent:.2f} % ({told})"
    return failed(question, reason, findings=(reason,), evidence=evidence)
