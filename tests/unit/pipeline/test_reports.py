from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.pipeline import report_bodies as bodies
from orchestrator.pipeline import reports
from orchestrator.pipeline.artifacts import check_schema
from orchestrator.pipeline.findings import extract_test_failures
from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.machine_keys import (
    KeyFailed,
    KeyPassed,
    read_coverage_status,
    read_deploy_status,
    read_security_status,
    read_staging_status,
    read_tests_verdict,
)
from orchestrator.pipeline.reports import (
    Action,
    Coverage,
    Deployment,
    Scan,
    Smoke,
    StagingRun,
    SuiteRun,
    Watch,
)
from orchestrator.pipeline.stages import Stage
from orchestrator.pipeline.wording import Language

ITEM = WorkItemId("ORCH-7")
STAMP = reports.Stamp(ITEM, date(2026, 6, 16))
URL = "http://localhost:8501"


def suite(passed: bool = True, **facts) -> SuiteRun:
    return SuiteRun(passed, 0 if passed else 1, **facts)


def watch(healthy: bool) -> Watch:
    return Watch(healthy, Action.NONE if healthy else Action.ALERT_ONLY, timedelta(minutes=15), 30, 0)


def read_post_deploy_status(meta, problems):
    """No gate reads this key: it only describes (inventory §4.4)."""
    value = meta["post_deploy_status"]
    return {"HEALTHY": KeyPassed, "DEGRADED": KeyFailed}[value](value)


BUILT = [
    (reports.test_report_meta, suite, read_tests_verdict, Stage.TESTING),
    (reports.staging_log_meta, lambda ok: StagingRun(ok, 0, URL), read_staging_status, Stage.DEPLOY_STAGING),
    (reports.deploy_log_meta, lambda ok: Deployment(ok, 0), read_deploy_status, Stage.DEPLOY),
    (reports.post_deploy_log_meta, watch, read_post_deploy_status, Stage.DONE),
    (reports.security_report_meta, Scan, read_security_status, Stage.DEPLOY_STAGING),
    (
        reports.coverage_report_meta,
        lambda ok: Coverage(ok, 80.0, 81.0, 0.5),
        read_coverage_status,
        Stage.DEPLOY_STAGING,
    ),
]


@pytest.mark.parametrize(("build", "facts", "read", "stage"), BUILT)
def test_what_is_written_is_read_back_as_the_same_answer(build, facts, read, stage):
    assert isinstance(read(build(STAMP, facts(True)), ()), KeyPassed)
    assert isinstance(read(build(STAMP, facts(False)), ()), KeyFailed)


@pytest.mark.parametrize(("build", "facts", "read", "stage"), BUILT)
@pytest.mark.parametrize("ok", [True, False])
def test_every_report_keeps_the_schema_and_says_that_no_model_wrote_it(build, facts, read, stage, ok):
    meta = build(STAMP, facts(ok))
    assert check_schema(meta, work_item=ITEM, stage=stage) == ()
    assert meta["model_used"] == "n/a"
    assert meta["status"] == ("success" if ok else "failed")


def test_the_test_report_has_the_agreed_order():
    assert list(reports.test_report_meta(STAMP, suite(smoke=Smoke.OK)).items()) == [
        ("result", "PASS"),
        ("work_item", "ORCH-7"),
        ("stage", "testing"),
        ("author_agent", "test-runner"),
        ("status", "success"),
        ("created_at", date(2026, 6, 16)),
        ("model_used", "n/a"),
        ("exit_code", 0),
        ("smoke", "ok"),
    ]


def test_the_staging_log_has_the_agreed_order():
    assert list(reports.staging_log_meta(STAMP, StagingRun(False, 1, URL)).items()) == [
        ("staging_status", "FAILED"),
        ("work_item", "ORCH-7"),
        ("stage", "deploy-staging"),
        ("author_agent", "staging-runner"),
        ("status", "failed"),
        ("created_at", date(2026, 6, 16)),
        ("model_used", "n/a"),
        ("exit_code", 1),
        ("base_url", URL),
    ]


def test_the_deploy_log_begins_with_the_four_keys_of_old_logs():
    meta = reports.deploy_log_meta(STAMP, Deployment(True, 0))
    assert list(meta.items())[:4] == [
        ("deploy_status", "SUCCESS"),
        ("work_item", "ORCH-7"),
        ("hook_exit_code", 0),
        ("deployed_by", "deploy-finalizer"),
    ]


def test_the_post_deploy_log_counts_seconds():
    meta = reports.post_deploy_log_meta(STAMP, watch(True))
    assert list(meta.items())[:6] == [
        ("post_deploy_status", "HEALTHY"),
        ("action_taken", "NONE"),
        ("work_item", "ORCH-7"),
        ("window_s", 900),
        ("checks_total", 30),
        ("checks_failed", 0),
    ]


@pytest.mark.parametrize(
    ("language", "headings"),
    [
        (Language.EN, ["## Summary", "## Results", "## Pytest output"]),
        (Language.RU, ["## Итог", "## Результаты", "## Вывод pytest"]),
    ],
)
def test_the_test_report_has_the_headings_that_the_next_round_looks_for(language, headings):
    body = bodies.test_report_body(STAMP, suite(output="1 passed"), language)
    assert [line for line in body.splitlines() if line.startswith("## ")] == headings


@pytest.mark.parametrize("language", Language)
def test_the_failing_part_of_a_written_report_is_found_again(language):
    output = "noise\n## Итог\n```\nFAILED tests/test_a.py::test_b - assert 1 == 2\n1 failed in 0.1s"
    body = bodies.test_report_body(STAMP, suite(False, output=output), language)
    assert extract_test_failures(body, 4000) == output


@pytest.mark.parametrize("language", Language)
def test_without_output_the_failing_results_are_found(language):
    body = bodies.test_report_body(STAMP, suite(False, smoke=Smoke.FAILED, note="smoke"), language)
    assert "failed" in extract_test_failures(body.split("## Pytest")[0].split("## Вывод")[0], 4000)


def test_a_report_keeps_the_last_1500_characters_of_output():
    body = bodies.test_report_body(STAMP, suite(output="a" * 100 + "b" * 1500), Language.EN)
    assert "b" * 1500 in body
    assert "ab" not in body


@pytest.mark.parametrize("language", Language)
def test_waived_checks_are_copied_even_when_the_tail_lost_them(language):
    output = "INFRA-WAIVED: C9a, C9b\n" + "x" * 3000 + "\nVERDICT: SUCCESS (exit 0)"
    body = bodies.staging_log_body(STAMP, StagingRun(True, 0, URL, output), language)
    assert "INFRA-WAIVED: C9a, C9b" in body
    assert URL in body


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        (0, "deployed and healthy"),
        (1, "before production changed"),
        (2, "rolled back"),
        (7, "no outcome"),
        (None, "none"),
    ],
)
def test_the_deploy_log_explains_the_exit_code(code, meaning):
    assert meaning in bodies.deploy_log_body(STAMP, Deployment(code == 0, code, "abc123"), Language.EN)


@pytest.mark.parametrize("language", Language)
def test_the_other_reports_list_what_was_seen(language):
    seen = Watch(False, Action.ROLLBACK_OK, timedelta(minutes=15), 30, 3, ("/health answered 500",))
    assert "/health answered 500" in bodies.post_deploy_log_body(STAMP, seen, language)
    scan = Scan(False, ("bandit",), ("B602 in a.py",), ("B101 in b.py",))
    assert {"- B602 in a.py", "- B101 in b.py"} <= set(
        bodies.security_report_body(STAMP, scan, language).splitlines()
    )
    assert "80.25" in bodies.coverage_report_body(STAMP, Coverage(True, 80.25, None, 0.5), language)


@given(output=st.text(st.sampled_from("`~#- \nab"), max_size=200), language=st.sampled_from(Language))
def test_no_output_can_leave_its_block(output, language):
    body = bodies.staging_log_body(STAMP, StagingRun(False, 1, URL, output), language)
    found = extract_test_failures(body + "\n## Pytest output\n\nthe end\n", 100)
    assert found == "the end"
