"""Exit of testing: what ``13-test-report.md`` says (ORCH-047, ORCH-116)."""

from typing import Final

from orchestrator.gates.answers import failed, passed
from orchestrator.gates.artifact import Answered, read_key
from orchestrator.gates.tools import GateTools
from orchestrator.pipeline.findings import extract_test_failures
from orchestrator.pipeline.machine_keys import KeyPassed, read_tests_verdict
from orchestrator.pipeline.verdicts import Verdict
from orchestrator.ports.gate import Question

FRAGMENT: Final = 3500
"""Characters of a test report that go to the next round."""


async def check(question: Question, tools: GateTools) -> Verdict:
    """Pass on a positive word without a negative one; tests that could not run never blame the code."""
    read = await read_key(question, tools, "13", read_tests_verdict)
    if not isinstance(read, Answered):
        return read
    evidence = read.artifact.evidence(read.key.value)
    if isinstance(read.key, KeyPassed):
        return passed(question, evidence)
    fragment = extract_test_failures(read.artifact.document.body, FRAGMENT)
    findings = (fragment,) if fragment.strip() else ()
    return failed(question, f"the tests failed: {read.key.value}", findings=findings, evidence=evidence)
