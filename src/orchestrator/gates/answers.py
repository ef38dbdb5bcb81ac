"""How gates answer: the verdicts that they share."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from orchestrator.config.projects import scope_applies
from orchestrator.gates.tools import GateTools, Scope
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.markdown import fenced
from orchestrator.pipeline.verdicts import Evidence, Failed, FailureClass, Inconclusive, Passed, WaitsFor
from orchestrator.ports.gate import Question

TAIL: Final = 3500
"""Characters of a log that go into a finding."""

SOON: Final = timedelta(seconds=5)
"""When to ask again what a neighbour is about to have."""


def passed(question: Question, evidence: Evidence) -> Passed:
    """The gate's demand is met by the item's present head."""
    return Passed(question.head.code, question.head.commit, evidence)


def failed(
    question: Question,
    reason: str,
    *,
    findings: Sequence[str] = (),
    optional: Sequence[str] = (),
    evidence: Evidence | None = None,
    failure: FailureClass = FailureClass.CODE,
) -> Failed:
    """The gate's demand is not met by the item's present head."""
    return Failed(
        question.head.code,
        question.head.commit,
        reason,
        findings=tuple(findings),
        optional=tuple(optional),
        evidence=evidence or Evidence(source=""),
        failure=failure,
    )


def not_applicable(question: Question, why: str) -> Passed:
    """A conditional gate that the contract does not ask for."""
    return passed(question, Evidence(source="contract", detail=f"not applicable: {why}"))


async def not_asked_for(
    question: Question, tools: GateTools, gate: GateName, *, capability: str
) -> Passed | None:
    """The answer of a conditional gate that is switched off, out of scope or not declared; else ``None``."""
    if question.contract is None or not question.contract.declares(capability):
        return not_applicable(question, f"the contract has no section {capability}")
    scope = tools.limits.scopes.get(gate, Scope())
    if not scope.enabled:
        return not_applicable(question, f"{gate} is switched off")
    project = await tools.projects.project(question.item.project)
    if not scope_applies(scope.repos, project, declared=True):
        return not_applicable(question, f"{gate} is not applied to {project.name}")
    return None


def quoted_tail(text: str) -> str:
    """The end of a log as a block of code."""
    return fenced(text.rstrip()[-TAIL:])


def call_a_person(reason: str, failure: FailureClass = FailureClass.AGENT) -> Inconclusive:
    """Waiting would not change the answer, so the item is put on hold."""
    return Inconclusive(reason, retry_after=None, failure=failure)


def wait_for_a_person(reason: str) -> Inconclusive:
    """What a person does elsewhere changes the answer; the item is not put on hold."""
    return Inconclusive(reason, retry_after=None, waits_for=WaitsFor.PERSON)


def counted(number: int, noun: str) -> str:
    """``number`` of something as people write it: ``1 finding``, ``2 findings``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
