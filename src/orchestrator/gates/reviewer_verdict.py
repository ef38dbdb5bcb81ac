"""Exit of review: what ``12-review.md`` says, by its key and by its findings."""

from orchestrator.gates.answers import counted, failed, passed
from orchestrator.gates.artifact import Answered, read_key
from orchestrator.gates.tools import GateTools
from orchestrator.pipeline.findings import BLOCKING, blocking, extract_review_findings
from orchestrator.pipeline.machine_keys import KeyPassed, read_reviewer_verdict
from orchestrator.pipeline.verdicts import Verdict
from orchestrator.ports.gate import Question


async def check(question: Question, tools: GateTools) -> Verdict:
    """Pass on APPROVED without a blocking finding; the negative wins when key and findings disagree."""
    read = await read_key(question, tools, "12", read_reviewer_verdict)
    if not isinstance(read, Answered):
        return read
    return _judge(question, read)


def _judge(question: Question, read: Answered) -> Verdict:
    found = extract_review_findings(read.artifact.document.body)
    demands = tuple(finding.text for finding in blocking(found))
    approved = isinstance(read.key, KeyPassed)
    evidence = read.artifact.evidence(
        f"verdict: {read.key.value}, {counted(len(demands), 'blocking finding')}"
    )
    if approved and not demands:
        return passed(question, evidence)
    reason = (
        f"the verdict is APPROVED, yet {counted(len(demands), 'P0/P1 finding')} open"
        if approved
        else f"the reviewer requests changes: {counted(len(demands), 'P0/P1 finding')}"
    )
    advice = tuple(finding.text for finding in found if finding.severity not in BLOCKING)
    return failed(question, reason, findings=demands, optional=advice, evidence=evidence)
