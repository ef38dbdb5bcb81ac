"""Security, coverage and freshness: not declared is not applicable, declared is really run."""

import json
import sys
from dataclasses import replace
from datetime import timedelta
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from orchestrator.delivery.scans import Scans
from orchestrator.gates import Scope
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.verdicts import Failed, FailureClass, Inconclusive, Passed

SECURITY, COVERAGE, FRESH = GateName.SECURITY, GateName.COVERAGE, GateName.STAGING_IMAGE_FRESH
SCAN = "security: {scanners: [], run: [{run: '%s', shell: true}]}\n"
MEASURE = "coverage: {run: cp figures.json report.json, report: report.json}\n"
STAGING = """
staging:
  start: {{run: 'echo $ORCH_REVISION > $ORCH_STATE_DIR/up; echo up >> $ORCH_STATE_DIR/log', shell: true}}
  check: {{run: '{check}', shell: true}}
  stop: {{run: 'rm $ORCH_STATE_DIR/up; echo stopped >> $ORCH_STATE_DIR/log', shell: true}}
  revision: {{run: '{revision}', shell: true}}
"""


def staging(check: str = "true", revision: str = "cat $ORCH_STATE_DIR/up") -> str:
    return STAGING.format(check=check, revision=revision)


@pytest.mark.parametrize("gate", [SECURITY, COVERAGE, FRESH])
@pytest.mark.parametrize("text", [None, "test: {run: 'true'}\n"])
async def test_what_the_contract_does_not_declare_is_not_applicable(bench, gate, text):
    if text:
        bench.declare(text)
    verdict = await bench.ask(gate)
    assert isinstance(verdict, Passed)
    assert verdict.evidence.source == "contract"
    assert verdict.evidence.detail.startswith("not applicable:")


async def test_staging_without_a_revision_has_no_freshness(bench):
    bench.declare("staging: {check: 'true'}\n")
    assert isinstance(await bench.ask(FRESH), Passed)


@pytest.mark.parametrize("scope", [Scope(enabled=False), Scope(repos="another")])
@pytest.mark.parametrize(
    ("gate", "text"), [(SECURITY, SCAN % "exit 1"), (COVERAGE, MEASURE), (FRESH, staging("exit 1"))]
)
async def test_a_gate_that_is_off_or_out_of_scope_runs_nothing(bench, gate, text, scope):
    bench.declare(text)
    bench.limit(scopes={gate: scope})
    assert isinstance(await bench.ask(gate), Passed)
    assert bench.workspace.checkouts == []


async def test_a_clean_scan_passes(bench):
    bench.declare(SCAN % "true")
    verdict = await bench.ask(SECURITY)
    assert isinstance(verdict, Passed)
    assert verdict.evidence.detail == "security_status: PASS; 0 new, 0 known in the base"


async def test_a_finding_that_the_base_does_not_have_goes_back(bench):
    bench.declare(SCAN % "! grep -n secret app.py")
    bench.workspace.push({"app.py": "secret\n"})
    verdict = await bench.ask(SECURITY)
    assert isinstance(verdict, Failed)
    assert verdict.failure is FailureClass.CODE
    assert "1:secret" in verdict.findings[0]


async def test_a_finding_that_the_base_has_too_is_known(bench):
    bench.declare(SCAN % "! grep -n one app.py")
    bench.workspace.push({"new.py": "fine\n"})
    verdict = await bench.ask(SECURITY)
    assert isinstance(verdict, Passed)
    assert "0 new, 1 known" in verdict.evidence.detail


@pytest.mark.parametrize(("level", "answer"), [("note", Passed), ("warning", Failed), ("error", Failed)])
async def test_sarif_findings_count_from_the_declared_severity(bench, level, answer):
    bench.declare(SCAN % "cat sarif.json")
    place = {"physicalLocation": {"artifactLocation": {"uri": "a.py"}, "region": {"startLine": 3}}}
    result = {"ruleId": "R1", "level": level, "message": {"text": "bad"}, "locations": [place]}
    bench.workspace.push({"sarif.json": json.dumps({"runs": [{"results": [result]}]})})
    bench.workspace.push({"sarif.json": json.dumps({"runs": []})}, "main")
    verdict = await bench.ask(SECURITY)
    assert isinstance(verdict, answer)
    if isinstance(verdict, Failed):
        assert verdict.findings[0].endswith("a.py:3: R1: bad")


async def test_a_scanner_that_was_killed_is_tried_again(bench):
    bench.declare(SCAN % "kill -9 $$")
    verdict = await bench.ask(SECURITY)
    assert isinstance(verdict, Inconclusive)
    assert verdict.retry_after == bench.tools.limits.infra_delay


async def test_a_scanner_that_is_not_installed_calls_a_person(bench, monkeypatch):
    monkeypatch.setitem(sys.modules, "bandit", None)
    bench.declare("security: {scanners: [bandit]}\n")
    verdict = await bench.ask(SECURITY)
    assert isinstance(verdict, Inconclusive)
    assert "bandit is not installed" in verdict.reason
    assert verdict.retry_after is None


@pytest.fixture
def scanner(bench, tmp_path, monkeypatch):
    """An interpreter in whose place a script leaves the checkout's ``given.json`` as the scanner's report."""
    script = tmp_path / "python"
    script.write_text('#!/bin/sh\nshift 3\necho "$@" >> "$ORCH_STATE_DIR/log"\ncp given.json "$1"; exit 1\n')
    script.chmod(0o755)
    scans = Scans(bench.workspace, bench.runs, limit=timedelta(seconds=20), python=str(script))
    bench.tools = replace(bench.tools, scans=scans)
    for name in ("bandit", "pip_audit"):
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        monkeypatch.setitem(sys.modules, name, module)


def bandit_report(*lines: int, severity: str = "HIGH") -> str:
    row = {"filename": "./app.py", "issue_severity": severity, "issue_text": "a shell", "test_id": "B602"}
    rows = [
        {**row, "line_number": line, "code": f"{line - 1} line {line}\n{line} call()\n"} for line in lines
    ]
    return json.dumps({"errors": [], "results": rows})


@pytest.mark.parametrize(
    ("head", "base", "findings"),
    [
        (bandit_report(3), bandit_report(), ("bandit: app.py:3: B602 a shell",)),
        (bandit_report(3), bandit_report(9), ()),
        (bandit_report(3, 7), bandit_report(9), ("bandit: app.py:7: B602 a shell",)),
        (bandit_report(3, severity="LOW"), bandit_report(), ()),
    ],
)
async def test_a_known_scanner_compares_its_report_with_the_bases(bench, scanner, head, base, findings):
    bench.declare("security: {scanners: [bandit], severity: medium}\n")
    bench.workspace.push({"given.json": base}, "main")
    bench.workspace.push({"given.json": head})
    verdict = await bench.ask(SECURITY)
    assert isinstance(verdict, Failed if findings else Passed)
    if isinstance(verdict, Failed):
        assert verdict.findings == findings


async def test_a_scanner_without_a_readable_report_is_no_pass_and_is_run_anew(bench, scanner):
    bench.declare("security: {scanners: [bandit]}\n")
    bench.workspace.push({"given.json": "Traceback"})
    verdict = await bench.ask(SECURITY)
    assert isinstance(verdict, Inconclusive)
    assert verdict.retry_after == bench.tools.limits.infra_delay
    await bench.ask(SECURITY)
    assert len(bench.workspace.checkouts) == 2


@pytest.mark.parametrize(
    ("files", "arguments"),
    [({"requirements.txt": "x==1"}, "-r requirements.txt"), ({"pyproject.toml": ""}, "off ."), ({}, None)],
)
async def test_dependencies_are_audited_where_they_are_declared(bench, scanner, tmp_path, files, arguments):
    bench.declare("security: {scanners: [pip-audit]}\n")
    bench.workspace.push({**files, "given.json": '{"dependencies": []}'})
    assert isinstance(await bench.ask(SECURITY), Passed)
    told = (tmp_path / "state" / "tally" / "log").read_text() if arguments else ""
    assert (arguments or "") in told
    assert bool(bench.workspace.checkouts) is bool(arguments)


def figures(percent: float) -> dict[str, str]:
    return {"figures.json": json.dumps({"totals": {"percent_covered": percent}})}


@pytest.mark.parametrize(
    ("baseline", "percent", "answer"),
    [
        (None, 10.0, Passed),
        (80.0, 80.0, Passed),
        (80.0, 79.5, Passed),
        (80.0, 79.49, Failed),
        (80.0, 95.0, Passed),
    ],
)
async def test_coverage_may_fall_by_epsilon_and_no_further(bench, baseline, percent, answer):
    bench.declare(MEASURE)
    bench.store.baseline = baseline
    bench.workspace.push(figures(percent))
    verdict = await bench.ask(COVERAGE)
    assert isinstance(verdict, answer)
    assert f"{percent:.2f} %" in verdict.evidence.detail
    assert bench.store.baseline == baseline


@pytest.mark.parametrize("closed", [True, False])
async def test_a_broken_coverage_tool_never_opens_the_gate(bench, closed):
    bench.declare(MEASURE)
    bench.limit(coverage_fail_closed=closed)
    verdict = await bench.ask(COVERAGE)
    assert isinstance(verdict, Inconclusive)
    assert (verdict.retry_after is None) is closed
    assert "coverage could not be measured: no figure in report.json" in verdict.reason


def log(bench, tmp_path) -> list[str]:
    path = tmp_path / "state" / "tally" / "log"
    return path.read_text().split() if path.exists() else []


async def test_staging_that_runs_the_head_is_fresh_without_a_rebuild(bench, tmp_path):
    bench.workspace.push({"new.py": "fine\n"})
    head = (await bench.question()).head.commit
    bench.declare(staging(revision=f"echo {head}"))
    assert isinstance(await bench.ask(FRESH), Passed)
    assert log(bench, tmp_path) == []


async def test_staging_that_runs_the_heads_code_before_its_log_is_fresh(bench, tmp_path):
    bench.workspace.push({"new.py": "fine\n"})
    bench.deliver({"15-staging-log.md": "log"})
    bench.declare(staging(revision=f"echo {bench.ordered_at}"))
    assert isinstance(await bench.ask(FRESH), Passed)
    assert log(bench, tmp_path) == []


async def test_staging_of_other_code_is_brought_up_anew_checked_and_stopped(bench, tmp_path):
    bench.workspace.push({"new.py": "fine\n"})
    bench.declare(staging(check="test -f new.py"))
    verdict = await bench.ask(FRESH)
    assert isinstance(verdict, Passed)
    assert "brought up anew" in verdict.evidence.detail
    assert log(bench, tmp_path) == ["up", "stopped"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (staging(check="echo refused; exit 3"), "staging check ended with 3"),
        (staging(revision="echo old"), "staging runs old"),
        (staging(revision="false"), "staging revision ended with 1"),
    ],
)
async def test_staging_that_says_no_to_the_head_goes_back_and_is_stopped(bench, tmp_path, text, said):
    bench.declare(text)
    verdict = await bench.ask(FRESH)
    assert isinstance(verdict, Failed)
    assert said in verdict.reason
    assert log(bench, tmp_path)[-1] == "stopped"


async def test_staging_that_did_not_come_to_an_end_is_tried_again(bench):
    bench.declare(staging(check="kill -9 $$"))
    verdict = await bench.ask(FRESH)
    assert isinstance(verdict, Inconclusive)
    assert verdict.retry_after == bench.tools.limits.infra_delay
