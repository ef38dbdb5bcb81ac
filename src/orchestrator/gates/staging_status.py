"""Exit of deploy-staging, first gate: what ``15-staging-log.md`` says (ORCH-115)."""

from orchestrator.gates.answers import failed, passed, quoted_tail
from orchestrator.gates.artifact import Answered, read_key
from orchestrator.gates.tools import GateTools
from orchestrator.pipeline.machine_keys import KeyPassed, read_staging_status
from orchestrator.pipeline.verdicts import Evidence, Verdict
from orchestrator.ports.gate import Question


async def check(question: Question, tools: GateTools) -> Verdict:
    """Pass on SUCCESS; a repository without staging has nothing to answer for (inventory §4.1)."""
    if not await _has_staging(question, tools):
        return passed(question, Evidence(source="contract", detail="Staging gate N/A"))
    read = await read_key(question, tools, "15", read_staging_status)
    if not isinstance(read, Answered):
        return read
    evidence = read.artifact.evidence(f"staging_status: {read.key.value}")
    if isinstance(read.key, KeyPassed):
        return passed(question, evidence)
    log = quoted_tail(read.artifact.document.body)
    return failed(question, f"staging_status: {read.key.value}", findings=(log,), evidence=evidence)


async def _has_staging(question: Question, tools: GateTools) -> bool:
    if question.contract is not None and question.contract.staging is not None:
        return True
    return (await tools.projects.project(question.item.project)).self_hosting
