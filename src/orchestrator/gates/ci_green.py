"""Exit of development: the forge's CI is green for the head, or the tests are where there is no CI."""

from orchestrator.gates.answers import SOON, call_a_person, failed, passed, quoted_tail
from orchestrator.gates.local_suite import judge
from orchestrator.gates.tools import GateTools
from orchestrator.pipeline.verdicts import Evidence, FailureClass, Inconclusive, Verdict
from orchestrator.plumbing.redaction import redact
from orchestrator.ports.forge import CheckRun, Checks, CheckState
from orchestrator.ports.gate import Question


async def check(question: Question, tools: GateTools) -> Verdict:
    """Pass on success; red CI counts as a round and carries the failing jobs' logs (product §4)."""
    if question.item.pull_request is None:
        return Inconclusive("the pull request is not there yet", SOON)
    checks = await tools.forge.checks(question.item.project, question.head.commit)
    match checks.state:
        case CheckState.SUCCESS:
            names = ", ".join(run.context for run in checks.runs)
            return passed(
                question, Evidence(source="commit status", producer="CI", detail=names or "success")
            )
        case CheckState.PENDING:
            pending = [run.context for run in checks.runs if run.state is CheckState.PENDING]
            return Inconclusive(f"CI is running: {', '.join(pending) or 'pending'}", tools.limits.ci_poll)
        case CheckState.FAILURE:
            return _red(question, checks)
        case CheckState.NONE:
            return await _without_ci(question, tools)


def _red(question: Question, checks: Checks) -> Verdict:
    red = [run for run in checks.runs if run.state is CheckState.FAILURE]
    names = ", ".join(run.context for run in red) or "the commit's status"
    return failed(
        question,
        f"CI is red: {names}",
        findings=[_finding(run) for run in red],
        evidence=Evidence(source=red[0].url if red else "commit status", producer="CI", detail=names),
    )


def _finding(run: CheckRun) -> str:
    said = f"CI job {run.context} failed"
    if run.description:
        said = f"{said}: {redact(run.description)}"
    return f"{said}\n\n{quoted_tail(redact(run.log_tail))}" if run.log_tail.strip() else said


async def _without_ci(question: Question, tools: GateTools) -> Verdict:
    """No CI on the forge: the contract's tests stand in, run by us (product §4)."""
    if question.contract is None or question.contract.test is None:
        return call_a_person(
            "the forge has no CI status for this commit and the contract has no section test: "
            "set up CI, or declare test.run in .orchestrator.yml on the base branch",
            FailureClass.ENVIRONMENT,
        )
    return await judge(question, tools, question.contract.test)
