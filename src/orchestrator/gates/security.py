"""First edge gate: scanners find nothing that the base does not have (ORCH-022)."""

from dataclasses import dataclass, field, replace

from orchestrator.config.contract import Security
from orchestrator.delivery.scan_reports import Discovery, new_among
from orchestrator.delivery.scans import NotScanned, Subject
from orchestrator.gates.answers import call_a_person, failed, not_asked_for, passed
from orchestrator.gates.tools import GateTools
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.verdicts import Evidence, FailureClass, Inconclusive, Verdict
from orchestrator.ports.gate import Question


@dataclass(slots=True)
class _Findings:
    """What all scanners found together: new against the base, and known there."""

    new: list[str] = field(default_factory=list)
    known: int = 0


async def check(question: Question, tools: GateTools) -> Verdict:
    """Pass when no finding of the declared severity is new; a scanner that cannot run is no pass."""
    skipped = await not_asked_for(question, tools, GateName.SECURITY, capability="security")
    section = question.contract.security if question.contract is not None else None
    if skipped is not None or section is None:
        return skipped or call_a_person("the contract has no section security")
    findings = _Findings()
    names = tools.scans.names(section)
    for scanner in names:
        trouble = await _look(question, tools, section, scanner=scanner, findings=findings)
        if trouble is not None:
            return _not_scanned(tools, trouble)
    status = "FAIL" if findings.new else "PASS"
    evidence = Evidence(
        source="scanners",
        producer=", ".join(names),
        detail=f"security_status: {status}; {len(findings.new)} new, {findings.known} known in the base",
    )
    if not findings.new:
        return passed(question, evidence)
    reason = f"{len(findings.new)} new security findings"
    return failed(question, reason, findings=findings.new, evidence=evidence)


def _not_scanned(tools: GateTools, trouble: NotScanned) -> Inconclusive:
    reason = f"{trouble.scanner} could not run: {trouble.reason}"
    if trouble.retry:
        return Inconclusive(reason, tools.limits.infra_delay)
    return call_a_person(reason, FailureClass.ENVIRONMENT)


async def _look(
    question: Question, tools: GateTools, section: Security, *, scanner: str, findings: _Findings
) -> NotScanned | None:
    """Add what one scanner found; the base is scanned only when there is something to compare."""
    subject = Subject(question.item.project, question.item.id, question.head.commit)
    head = await tools.scans.scan(subject, section, scanner)
    if isinstance(head, NotScanned):
        return head
    counting = _counting(head.found, section)
    if not counting:
        return None
    base = await tools.scans.scan(
        replace(subject, commit=await tools.workspace.base_head(question.branch)), section, scanner
    )
    if isinstance(base, NotScanned):
        return base
    new = new_among(counting, _counting(base.found, section))
    findings.new += [f"{scanner}: {found.text}" for found in new]
    findings.known += len(counting) - len(new)
    return None


def _counting(found: tuple[Discovery, ...], section: Security) -> list[Discovery]:
    return [one for one in found if one.counts_from(section.severity)]
