"""Approval of the pull request on the forge; no stage asks for it, a project's policy may."""

from orchestrator.gates.answers import SOON, passed, wait_for_a_person
from orchestrator.gates.tools import GateTools
from orchestrator.pipeline.verdicts import Evidence, Inconclusive, Verdict
from orchestrator.ports.gate import Question


async def check(question: Question, tools: GateTools) -> Verdict:
    """Pass when a person approved exactly the head."""
    number = question.item.pull_request
    if number is None:
        return Inconclusive("the pull request is not there yet", SOON)
    names = await tools.forge.approvals(question.item.project, number, question.head.commit)
    if not names:
        return wait_for_a_person(f"an approving review of pull request {number} for exactly its head")
    return passed(
        question, Evidence(source=f"pull request {number}", producer=names[0], detail=", ".join(names))
    )
