"""Exit of deploy: what ``14-deploy-log.md`` says (ORCH-036)."""

from orchestrator.gates.answers import failed, passed, quoted_tail
from orchestrator.gates.artifact import Answered, read_key
from orchestrator.gates.tools import GateTools
from orchestrator.pipeline.machine_keys import KeyPassed, read_deploy_status
from orchestrator.pipeline.verdicts import Verdict
from orchestrator.ports.gate import Question


async def check(question: Question, tools: GateTools) -> Verdict:
    """Pass on SUCCESS; FAILED goes back to development with the log's cause (product §4)."""
    read = await read_key(question, tools, "14", read_deploy_status)
    if not isinstance(read, Answered):
        return read
    evidence = read.artifact.evidence(f"deploy_status: {read.key.value}")
    if isinstance(read.key, KeyPassed):
        return passed(question, evidence)
    log = quoted_tail(read.artifact.document.body)
    return failed(question, f"deploy_status: {read.key.value}", findings=(log,), evidence=evidence)
