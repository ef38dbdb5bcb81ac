"""Tests are judged by their exit code and the smoke test; what could not run is no judgement (ORCH-116)."""

import ast
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from orchestrator.config.contract import Contract
from orchestrator.delivery.probe import Answer
from orchestrator.delivery.smoke import SmokeTest
from orchestrator.pipeline.machine_keys import KeyFailed, KeyPassed, read_tests_verdict
from orchestrator.pipeline.stages import Stage
from orchestrator.ports.producer import Deferred, Produced
from orchestrator.producers import staging_runner, test_runner
from tests.unit.producers.bench import (
    AWAY,
    SICK,
    WELL,
    ScriptedProbe,
    bench,
    contract,
    counting,
    interrupted,
    job,
    python,
    shell,
    values,
)

SMOKE = {"base_url": "http://127.0.0.1:${ORCH_PORT_PRODUCTION}", "checks": [{"path": "/health"}]}


@pytest.fixture
async def shop(tmp_path):
    return await bench(tmp_path)


def runner(shop, probe=None, self_hosting="orchestrator", **settings):
    return test_runner.TestRunner(
        attempts=shop.attempts,
        reports=shop.reports,
        smoke=SmokeTest(probe or ScriptedProbe(), shop.clock),
        settings=shop.settings(**settings),
        self_hosting=self_hosting,
    )


def suite(run, **sections) -> Contract:
    return contract(test={"run": run, "timeout_s": 20}, **sections)


@pytest.mark.parametrize(
    ("code", "verdict", "status", "answer"),
    [(0, "PASS", "success", KeyPassed), (1, "FAIL", "failed", KeyFailed), (5, "FAIL", "failed", KeyFailed)],
)
async def test_the_exit_code_is_the_verdict(shop, code, verdict, status, answer):
    given = shop.assignment(Stage.TESTING, suite(python(f"print('FAILED t::one'); raise SystemExit({code})")))
    produced = await runner(shop).produce(given)
    assert isinstance(produced, Produced)
    assert (produced.verdict, produced.tool_error) == (verdict, "")
    document = await shop.document(produced.delivered, "13-test-report.md")
    assert list(values(document).items()) == [
        ("result", verdict),
        ("work_item", "SHOP-1"),
        ("stage", "testing"),
        ("author_agent", "test-runner"),
        ("status", status),
        ("created_at", "2026-03-01"),
        ("model_used", "n/a"),
        ("exit_code", str(code)),
        ("smoke", "skipped"),
    ]
    assert isinstance(read_tests_verdict(document.meta), answer)
    assert "FAILED t::one" in document.body


async def test_the_report_alone_is_saved_by_the_runner_itself(shop):
    given = shop.assignment(Stage.TESTING, suite(python("open('litter.txt', 'w').close()")))
    produced = await runner(shop).produce(given)
    changed = await shop.workspace.changed("shop", shop.start, produced.delivered)
    assert changed == ["docs/work-items/SHOP-1/13-test-report.md"]
    assert produced.artifact == changed[0]
    author = shop.author(produced.delivered)
    assert author == "test-runner <test-runner@orch.example>: testing(SHOP-1): tests PASS"


async def test_the_suite_runs_on_the_code_that_was_ordered(shop):
    given = shop.assignment(Stage.TESTING, suite(shell('test "$(git rev-parse HEAD)" = "$ORCH_REVISION"')))
    assert (await runner(shop).produce(given)).verdict == "PASS"


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (python("import time; time.sleep(60)"), "within 1 s"),
        (["no-such-program"], "no-such-program"),
    ],
    ids=["time limit", "no executable"],
)
async def test_a_suite_that_did_not_run_is_deferred_without_a_verdict(shop, run, reason):
    given = shop.assignment(Stage.TESTING, contract(test={"run": run, "timeout_s": 1}))
    tester = runner(shop, test_runner_infra_retry_delay_s=5)
    deferred = await tester.produce(given)
    assert isinstance(deferred, Deferred)
    assert (deferred.marker, deferred.after) == ("test-runner infra-retry", timedelta(seconds=5))
    assert reason in deferred.reason
    assert "attempt 1/2" in deferred.reason
    assert (await shop.workspace.head(shop.branch)).commit == shop.start
    counters = {name: tester.snapshot()[name] for name in ("runs", "pass", "fail", "tool_error", "deferred")}
    assert counters == {"runs": 1, "pass": 0, "fail": 0, "tool_error": 1, "deferred": 1}


async def test_a_spent_budget_fails_closed_and_blames_the_tool(shop):
    given = shop.assignment(Stage.TESTING, suite(["no-such-program"]), defers=2)
    produced = await runner(shop).produce(given)
    assert produced.verdict == "FAIL"
    assert "could not run, 3 times" in produced.tool_error
    document = await shop.document(produced.delivered, "13-test-report.md")
    assert (document.meta["result"], document.meta["exit_code"]) == ("FAIL", "null")
    assert "could not run" in document.body


async def test_each_try_runs_the_suite_anew(shop):
    given = shop.assignment(Stage.TESTING, suite(counting()))
    await runner(shop).produce(given)
    await runner(shop).produce(replace(given, job=job(Stage.TESTING, 8), defers=1))
    assert shop.counted() == 2


async def test_an_interrupted_run_is_found_again_and_the_suite_ran_once(shop):
    go = shop.home / "go"
    waiting = counting(f'echo draft > draft; until [ -e "{go}" ]; do sleep 0.01; done; cat draft')
    given = shop.assignment(Stage.TESTING, suite(waiting))
    draft = await shop.workspace.location(shop.branch) / "draft"
    await interrupted(runner(shop).produce(given), draft.exists)
    again = runner(shop)
    go.parent.mkdir(exist_ok=True)
    go.touch()
    produced = await again.produce(given)
    assert (produced.verdict, shop.counted()) == ("PASS", 1)


async def test_reporting_again_gives_the_same_bytes_and_the_same_commit(shop):
    given = shop.assignment(Stage.TESTING, suite(counting("echo $$; exit 1")))
    first = await runner(shop).produce(given)
    shop.clock.advance(timedelta(days=2))
    second = await runner(shop).produce(given)
    assert second.delivered == first.delivered
    assert shop.counted() == 1


@pytest.mark.parametrize(
    ("answers", "verdict", "smoke", "asked"),
    [
        ([WELL], "PASS", "ok", 1),
        ([AWAY, AWAY, WELL], "PASS", "ok", 3),
        ([AWAY], "FAIL", "failed", 4),
        ([SICK, WELL], "FAIL", "failed", 1),
    ],
    ids=["well", "slow to come", "away", "reachable but wrong"],
)
async def test_the_smoke_test_counts_too(shop, answers, verdict, smoke, asked):
    probe = ScriptedProbe(*answers)
    given = shop.assignment(Stage.TESTING, suite(python("pass"), smoke=SMOKE))
    produced = await runner(shop, probe).produce(given)
    document = await shop.document(produced.delivered, "13-test-report.md")
    assert (produced.verdict, document.meta["smoke"]) == (verdict, smoke)
    assert probe.asked == ["http://127.0.0.1:18500/health"] * asked


@pytest.mark.parametrize(
    "check",
    [{"path": "/", "contains": "serial"}, {"path": "/", "json_key": "gate"}, {"path": "/", "status": 204}],
)
async def test_a_smoke_check_looks_at_what_it_names(shop, check):
    smoke = {"base_url": "http://127.0.0.1:1", "checks": [check]}
    given = shop.assignment(Stage.TESTING, suite(python("pass"), smoke=smoke))
    produced = await runner(shop, ScriptedProbe(Answer(200, "{}"))).produce(given)
    assert produced.verdict == "FAIL"


async def test_the_smoke_result_is_not_asked_for_twice(shop):
    given = shop.assignment(Stage.TESTING, suite(python("pass"), smoke=SMOKE))
    await runner(shop, ScriptedProbe(WELL)).produce(given)
    assert (await runner(shop, ScriptedProbe(SICK)).produce(given)).verdict == "PASS"


async def test_an_address_that_cannot_be_filled_in_blames_nobodys_code(shop):
    smoke = {"base_url": "http://${NOWHERE}", "checks": [{"path": "/"}]}
    given = shop.assignment(Stage.TESTING, suite(python("pass"), smoke=smoke))
    deferred = await runner(shop).produce(given)
    assert isinstance(deferred, Deferred)
    assert "NOWHERE" in deferred.reason


async def test_failing_tests_and_a_switched_off_smoke_test_ask_nobody(shop):
    probe = ScriptedProbe(SICK)
    failing = shop.assignment(Stage.TESTING, suite(python("raise SystemExit(1)"), smoke=SMOKE))
    failed = await runner(shop, probe).produce(failing)
    passing = replace(
        shop.assignment(Stage.TESTING, suite(python("pass"), smoke=SMOKE), started_at=failed.delivered),
        job=job(Stage.TESTING, 9),
    )
    produced = await runner(shop, probe, test_runner_smoke_enabled=False).produce(passing)
    assert (produced.verdict, probe.asked) == ("PASS", [])


@pytest.mark.parametrize(
    ("stage", "declared", "settings", "applies"),
    [
        (Stage.TESTING, True, {}, True),
        (Stage.REVIEW, True, {}, False),
        (Stage.TESTING, False, {}, False),
        (Stage.TESTING, True, {"test_runner_enabled": False}, False),
        (Stage.TESTING, True, {"test_runner_repos": "other, SHOP"}, True),
        (Stage.TESTING, True, {"test_runner_repos": "other"}, False),
        (Stage.TESTING, False, {"test_runner_repos": "shop"}, False),
    ],
)
async def test_it_applies_where_switch_scope_and_contract_agree(shop, stage, declared, settings, applies):
    given = suite(["true"]) if declared else None
    assert runner(shop, **settings).applies(shop.item, stage, given) is applies


async def test_our_own_repository_is_tested_without_a_contract(tmp_path):
    shop = await bench(tmp_path, files={"pytest.py": "import sys; print(sys.argv[1:]); sys.exit(4)\n"})
    tester = runner(shop, self_hosting="shop", test_runner_target="feature_test.py")
    assert tester.applies(shop.item, Stage.TESTING, None)
    produced = await tester.produce(shop.assignment(Stage.TESTING, None))
    document = await shop.document(produced.delivered, "13-test-report.md")
    assert (produced.verdict, document.meta["exit_code"]) == ("FAIL", "4")
    assert "['feature_test.py']" in document.body


@pytest.mark.parametrize(
    ("run", "outcome", "result", "level"),
    [
        (python("pass"), "code-pass", "PASS", "info"),
        (python("raise SystemExit(3)"), "code-fail", "FAIL", "info"),
        (["no-such-program"], "tool-error", "TOOL-ERROR", "warning"),
    ],
)
async def test_one_line_of_log_tells_each_outcome_apart(shop, run, outcome, result, level):
    with capture_logs() as lines:
        await runner(shop).produce(shop.assignment(Stage.TESTING, suite(run)))
    told = [line for line in lines if line["event"] == "runner_verdict"]
    (line,) = told
    assert (line["outcome"], line["result"], line["log_level"]) == (outcome, result, level)
    assert {"work_item", "repo", "exit_code", "duration_s"} <= line.keys()


@pytest.mark.parametrize("module", [test_runner, staging_runner], ids=lambda module: module.__name__)
def test_the_runners_hold_no_dangerous_literal(module):
    texts = _literals(Path(module.__file__))
    words = ("force", "push", "8500", "compose", "up -d", "--build", ".env", "rm ", "restart", "main")
    assert [text for text in texts if any(word in text for word in words)] == []
    assert texts


def _literals(path: Path) -> list[str]:
    """The texts of a module that are no documentation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told]
    return [node.value for node in constants if isinstance(node.value, str)]
