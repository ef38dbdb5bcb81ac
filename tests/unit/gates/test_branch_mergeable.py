"""The merge gate: lease, catching up, governance, re-test, and whose fault a red re-test is."""

from dataclasses import replace
from datetime import timedelta

import pytest

from orchestrator.gates import Scope
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.ids import TaskId
from orchestrator.pipeline.verdicts import Evidence, Failed, FailureClass, Inconclusive, Passed, WaitsFor
from orchestrator.ports.forge import PullState

GATE = GateName.BRANCH_MERGEABLE
GREEN_ON_TWO = "test: {run: {run: 'cat app.py; grep -q two app.py', shell: true}}\n"
OURS = TaskId(1)


@pytest.fixture
async def bench(bench):
    """An item with work on its branch, tested by the stage before."""
    bench.workspace.push({"feature.py": "new\n"})
    await note_tests(bench)
    return bench


async def note_tests(bench):
    question = await bench.question()
    bench.earlier[GateName.TESTS_PASSED] = Passed(
        question.head.code, question.head.commit, Evidence(source="13-test-report.md")
    )


async def test_a_tested_branch_on_top_of_its_base_passes_and_keeps_the_lease(bench):
    verdict = await bench.ask(GATE)
    assert isinstance(verdict, Passed)
    assert verdict.evidence.detail.endswith("tested as 13-test-report.md")
    assert bench.leases.holder == OURS
    assert bench.workspace.checkouts == []


async def test_while_another_item_merges_the_gate_asks_again(bench):
    bench.leases.holder = TaskId(9)
    verdict = await bench.ask(GATE)
    assert isinstance(verdict, Inconclusive)
    assert "ORCH-9 is merging" in verdict.reason
    assert verdict.retry_after == timedelta(seconds=5)
    assert bench.leases.holder == TaskId(9)


async def test_without_a_pull_request_no_lease_is_taken(bench):
    bench.store.item = replace(bench.store.item, pull_request=None)
    assert isinstance(await bench.ask(GATE), Inconclusive)
    assert bench.leases.holder is None


async def test_a_branch_behind_its_base_is_rebased_and_asked_again_at_once(bench):
    base = bench.workspace.push({"other.py": "theirs\n"}, "main")
    before = await bench.question()
    verdict = await bench.ask(GATE)
    after = await bench.question()
    assert isinstance(verdict, Inconclusive)
    assert (verdict.retry_after, verdict.waits_for) == (timedelta(), WaitsFor.TIME)
    assert verdict.reason.startswith(f"rebased onto main ({base[:12]})")
    assert after.head.code != before.head.code
    assert bench.workspace.heads["main"] == base
    assert bench.leases.holder == OURS


async def test_a_conflict_with_the_base_goes_back_with_its_paths(bench):
    bench.workspace.push({"app.py": "theirs\n"}, "main")
    bench.workspace.conflicts = ("app.py", "other.py")
    verdict = await bench.ask(GATE)
    assert isinstance(verdict, Failed)
    assert verdict.failure is FailureClass.CODE
    assert verdict.findings[0].startswith("Merge `origin/main` or rebase onto it")
    assert verdict.findings[0].endswith("app.py, other.py")
    assert bench.leases.holder is None


@pytest.mark.parametrize(
    ("change", "said", "retries"),
    [
        ({"state": PullState.CLOSED}, "is closed", False),
        ({"state": PullState.MERGED, "pull_head": "0" * 40}, "merged with another head", False),
        ({"pull_head": "0" * 40}, "has head 000000000000", True),
    ],
)
async def test_a_pull_request_that_cannot_be_merged_now_is_said(bench, change, said, retries):
    for name, value in change.items():
        setattr(bench.forge, name, value)
    verdict = await bench.ask(GATE)
    assert isinstance(verdict, Inconclusive)
    assert said in verdict.reason
    assert (verdict.retry_after is not None) is retries
    assert bench.leases.holder is None


@pytest.mark.parametrize(
    "path",
    [
        ".orchestrator.yml",
        ".gitea/workflows/ci.yml",
        ".openclaw/agents/reviewer.md",
        "ops/hook.sh",
        "keys/a.pub",
    ],
)
async def test_a_governance_change_waits_for_a_person_without_the_lease(bench, path):
    bench.declare("protected_paths: [ops, 'keys/*.pub']\n")
    bench.workspace.push({path: "changed\n"})
    await note_tests(bench)
    verdict = await bench.ask(GATE)
    assert isinstance(verdict, Inconclusive)
    assert verdict.waits_for is WaitsFor.PERSON
    assert f"governance change: {path};" in verdict.reason
    assert bench.leases.holder is None


async def test_what_the_base_changed_is_no_governance_change_of_the_branch(bench):
    bench.workspace.push({".orchestrator.yml": "test: {run: 'true'}\n"}, "main")
    await bench.ask(GATE)
    await note_tests(bench)
    assert isinstance(await bench.ask(GATE), Passed)


async def test_a_project_may_allow_governance_changes(bench):
    bench.limit(governance_allowed=frozenset({"tally"}))
    bench.workspace.push({".orchestrator.yml": "test: {run: 'true'}\n"})
    await note_tests(bench)
    assert isinstance(await bench.ask(GATE), Passed)


async def test_a_governance_change_that_a_person_merged_passes(bench):
    head = bench.workspace.push({".orchestrator.yml": "test: {run: 'true'}\n"})
    assert isinstance(await bench.ask(GATE), Inconclusive)
    await bench.forge.merge("tally", 4, expected_head=head, method="merge", message="by hand")
    verdict = await bench.ask(GATE)
    assert isinstance(verdict, Passed)
    assert "merged already" in verdict.evidence.detail


async def test_a_branch_that_somebody_pushed_into_the_base_passes(bench):
    bench.workspace.heads["main"] = (await bench.question()).head.commit
    assert isinstance(await bench.ask(GATE), Passed)


async def test_a_merge_of_another_tree_calls_a_person(bench):
    head = (await bench.question()).head.commit
    bench.forge.state, bench.forge.pull_head = PullState.MERGED, head
    bench.forge.merged_as = bench.workspace.commit({"app.py": "evil\n"}, head)
    bench.workspace.heads["main"] = bench.forge.merged_as
    verdict = await bench.ask(GATE)
    assert isinstance(verdict, Inconclusive)
    assert "is not the tree" in verdict.reason
    assert verdict.retry_after is None


async def test_untested_code_without_a_test_contract_calls_a_person(bench):
    bench.earlier.clear()
    verdict = await bench.ask(GATE)
    assert isinstance(verdict, Inconclusive)
    assert verdict.retry_after is None


async def test_tests_of_other_code_do_not_count(bench):
    bench.declare(GREEN_ON_TWO)
    bench.workspace.push({"app.py": "two\n"})
    verdict = await bench.ask(GATE)
    assert isinstance(verdict, Passed)
    assert "re-test green" in verdict.evidence.detail


async def test_a_switched_off_gate_still_catches_up_but_does_not_test(bench):
    bench.earlier.clear()
    bench.limit(scopes={GATE: Scope(enabled=False)})
    verdict = await bench.ask(GATE)
    assert isinstance(verdict, Passed)
    assert "switched off" in verdict.evidence.detail
    assert bench.leases.holder == OURS


async def test_red_on_top_of_a_green_base_is_the_branchs_fault(bench):
    bench.earlier.clear()
    bench.declare("test: {run: {run: 'cat app.py; grep -q one app.py', shell: true}}\n")
    bench.workspace.push({"app.py": "broken\n"})
    verdict = await bench.ask(GATE)
    assert isinstance(verdict, Failed)
    assert verdict.failure is FailureClass.CODE
    assert verdict.findings == ("```\nbroken\n```",)
    assert bench.leases.holder is None


async def test_a_red_base_is_not_the_branchs_fault_and_is_looked_at_anew(bench):
    bench.earlier.clear()
    bench.declare(GREEN_ON_TWO)
    verdict = await bench.ask(GATE)
    assert isinstance(verdict, Inconclusive)
    assert (verdict.failure, verdict.retry_after) == (FailureClass.BASE_RED, timedelta(seconds=60))
    assert bench.leases.holder is None
    runs = len(bench.workspace.checkouts)
    await bench.ask(GATE)
    assert len(bench.workspace.checkouts) == 2 * runs


@pytest.mark.parametrize("script", ["kill -9 $$", "test -f feature.py && exit 1; kill -9 $$"])
async def test_a_retest_that_did_not_run_is_tried_again(bench, script):
    bench.earlier.clear()
    bench.declare(f"test: {{run: {{run: '{script}', shell: true}}}}\n")
    verdict = await bench.ask(GATE)
    assert isinstance(verdict, Inconclusive)
    assert (verdict.failure, verdict.retry_after) == (FailureClass.ENVIRONMENT, timedelta(seconds=30))
    assert bench.leases.holder is None
