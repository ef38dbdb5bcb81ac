"""The gates on CI, on our own run of the tests, and on a person's review of the pull request."""

from dataclasses import replace

import pytest

from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.verdicts import Failed, FailureClass, Inconclusive, Passed, WaitsFor
from orchestrator.ports.forge import CheckRun, Checks, CheckState

CI, LOCAL, REVIEW = GateName.CI_GREEN, GateName.TESTS_LOCAL, GateName.REVIEW_APPROVED


def a_suite(script: str, timeout: int = 20) -> str:
    return f"test:\n  run: {{run: '{script}', shell: true}}\n  timeout_s: {timeout}\n"


def without_pull_request(bench):
    bench.store.item = replace(bench.store.item, pull_request=None)


@pytest.mark.parametrize("gate", [CI, REVIEW])
async def test_without_a_pull_request_the_gate_asks_again(bench, gate):
    without_pull_request(bench)
    verdict = await bench.ask(gate)
    assert isinstance(verdict, Inconclusive)
    assert verdict.retry_after is not None


async def test_green_ci_passes_and_names_its_jobs(bench):
    bench.forge.result = Checks(CheckState.SUCCESS, (CheckRun("ci/test", CheckState.SUCCESS),))
    verdict = await bench.ask(CI)
    assert isinstance(verdict, Passed)
    assert verdict.evidence.detail == "ci/test"


async def test_running_ci_is_asked_again_soon(bench):
    bench.forge.result = Checks(CheckState.PENDING, (CheckRun("ci/test", CheckState.PENDING),))
    verdict = await bench.ask(CI)
    assert isinstance(verdict, Inconclusive)
    assert (verdict.retry_after, verdict.waits_for) == (bench.tools.limits.ci_poll, WaitsFor.TIME)


async def test_red_ci_sends_the_failing_jobs_and_their_logs_back(bench):
    log = "x\n" * 4000 + "API_TOKEN=abcdef123456\nE  assert 1 == 2\n```\n# not a heading\n"
    bench.forge.result = Checks(
        CheckState.FAILURE,
        (
            CheckRun("ci/test", CheckState.FAILURE, "exit code 1", "http://ci/1", log),
            CheckRun("ci/lint", CheckState.SUCCESS),
        ),
    )
    verdict = await bench.ask(CI)
    assert isinstance(verdict, Failed)
    assert (verdict.reason, verdict.failure) == ("CI is red: ci/test", FailureClass.CODE)
    (finding,) = verdict.findings
    assert finding.startswith("CI job ci/test failed: exit code 1\n\n````\n")
    assert "assert 1 == 2" in finding
    assert "abcdef123456" not in finding
    assert len(finding) < 3700


async def test_no_ci_and_no_test_contract_calls_a_person_and_says_what_to_do(bench):
    verdict = await bench.ask(CI)
    assert isinstance(verdict, Inconclusive)
    assert verdict.retry_after is None
    assert "declare test.run" in verdict.reason


async def test_no_test_contract_calls_a_person(bench):
    verdict = await bench.ask(LOCAL)
    assert isinstance(verdict, Inconclusive)
    assert verdict.retry_after is None


@pytest.mark.parametrize("gate", [CI, LOCAL])
async def test_green_tests_in_a_clean_checkout_pass_and_run_once(bench, gate):
    bench.workspace.push({"app.py": "two\n"})
    bench.declare(a_suite("grep two app.py"))
    first, second = await bench.ask(gate), await bench.ask(gate)
    assert isinstance(first, Passed)
    assert first == second
    assert len(bench.workspace.checkouts) == 1


@pytest.mark.parametrize("gate", [CI, LOCAL])
async def test_red_tests_send_their_output_back(bench, gate):
    bench.declare(a_suite("echo FAILED test_two; exit 1"))
    verdict = await bench.ask(gate)
    assert isinstance(verdict, Failed)
    assert verdict.failure is FailureClass.CODE
    assert verdict.findings == ("```\nFAILED test_two\n```",)


@pytest.mark.parametrize("gate", [CI, LOCAL])
@pytest.mark.parametrize(
    ("script", "timeout", "said"), [("sleep 30", 1, "no answer within 1 s"), ("kill -9 $$", 20, "killed")]
)
async def test_tests_that_did_not_come_to_an_end_are_run_anew(bench, gate, script, timeout, said):
    bench.declare(a_suite(script, timeout))
    verdict = await bench.ask(gate)
    assert isinstance(verdict, Inconclusive)
    assert said in verdict.reason
    assert verdict.retry_after == bench.tools.limits.infra_delay
    bench.declare(a_suite("true"))
    assert isinstance(await bench.ask(gate), Passed)


async def test_tests_that_cannot_be_started_are_no_fault_of_the_code(bench):
    bench.declare("test:\n  run: no-such-program-anywhere\n")
    verdict = await bench.ask(LOCAL)
    assert isinstance(verdict, Inconclusive)
    assert verdict.failure is FailureClass.ENVIRONMENT


async def test_an_approving_review_of_the_head_passes(bench):
    head = bench.workspace.push({"app.py": "two\n"})
    bench.forge.approved[head] = ["Ada", "Bob"]
    verdict = await bench.ask(REVIEW)
    assert isinstance(verdict, Passed)
    assert verdict.evidence.detail == "Ada, Bob"


async def test_a_review_of_an_earlier_head_does_not_count(bench):
    bench.forge.approved[bench.workspace.push({"app.py": "two\n"})] = ["Ada"]
    bench.workspace.push({"app.py": "three\n"})
    verdict = await bench.ask(REVIEW)
    assert isinstance(verdict, Inconclusive)
    assert verdict.waits_for is WaitsFor.PERSON
