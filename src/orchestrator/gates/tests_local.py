"""The repository's own tests in a clean checkout; no stage asks for it, a project's policy may."""

from orchestrator.gates.answers import call_a_person
from orchestrator.gates.local_suite import judge
from orchestrator.gates.tools import GateTools
from orchestrator.pipeline.verdicts import FailureClass, Verdict
from orchestrator.ports.gate import Question


async def check(question: Question, tools: GateTools) -> Verdict:
    """Pass when the contract's tests are green on the head."""
    if question.contract is None or question.contract.test is None:
        return call_a_person(
            "the contract has no section test, so nothing can be run", FailureClass.ENVIRONMENT
        )
    return await judge(question, tools, question.contract.test)
