"""The gates that look at the documents of analysis and architecture."""

from datetime import timedelta

import pytest

from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.items import Approval, ApprovalKind
from orchestrator.pipeline.verdicts import Failed, FailureClass, Inconclusive, Passed, WaitsFor
from orchestrator.ports.subjects import analysis_subject
from tests.unit.gates.fakes import BRANCH, DOCS, ENTERED, ITEM, document

COMPLETE, APPROVED, ARCHITECTURE = (
    GateName.ANALYSIS_COMPLETE,
    GateName.ANALYSIS_APPROVED,
    GateName.ARCHITECTURE_DONE,
)
PLAN = document("").split("---\n")[1] + "tests: []\n"
ANALYSIS = {
    "01-brd.md": document(),
    "02-trz.md": document(),
    "03-acceptance-criteria.md": document(),
    "04-test-plan.yaml": PLAN,
}
ADR = "06-adr/ADR-001-count.md"


async def test_a_complete_analysis_passes_for_the_head(bench):
    bench.deliver(ANALYSIS)
    question = await bench.question()
    verdict = await bench.ask(COMPLETE)
    assert isinstance(verdict, Passed)
    assert (verdict.commit, verdict.code) == (question.head.commit, question.head.code)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("01-brd.md", None, "01-brd.md is missing"),
        ("02-trz.md", " \n", "02-trz.md is empty"),
        ("03-acceptance-criteria.md", document("\n"), "has no text"),
        ("03-acceptance-criteria.md", "no front matter\n", "no frontmatter"),
        ("01-brd.md", document(model_used=""), "model_used is missing"),
        ("01-brd.md", document(work_item="ORCH-8"), "work_item is 'ORCH-8'"),
        ("02-trz.md", document(stage="review"), "stage is 'review'"),
        ("04-test-plan.yaml", "- a list\n", "not a mapping"),
        ("04-test-plan.yaml", None, "04-test-plan.yaml is missing"),
    ],
)
async def test_an_incomplete_analysis_calls_a_person_and_is_the_agents_fault(bench, name, text, said):
    bench.deliver({**ANALYSIS, name: text})
    verdict = await bench.ask(COMPLETE)
    assert isinstance(verdict, Inconclusive)
    assert said in verdict.reason
    assert (verdict.retry_after, verdict.failure) == (None, FailureClass.AGENT)


async def decision(bench, *, granted: bool, after: timedelta, comment: str = "") -> Approval:
    head = await bench.workspace.head(BRANCH)
    subject = await analysis_subject(bench.workspace, "tally", head.commit, ITEM)
    return Approval(ApprovalKind.ANALYSIS, subject, granted, "Ada", ENTERED + after, comment)


async def test_an_analysis_without_a_decision_waits_for_a_person(bench):
    bench.deliver(ANALYSIS)
    verdict = await bench.ask(APPROVED)
    assert isinstance(verdict, Inconclusive)
    assert (verdict.waits_for, verdict.retry_after) == (WaitsFor.PERSON, None)


async def test_an_approval_of_these_documents_passes_and_says_who(bench):
    bench.deliver(ANALYSIS)
    bench.approvals = (await decision(bench, granted=True, after=timedelta(hours=1)),)
    verdict = await bench.ask(APPROVED)
    assert isinstance(verdict, Passed)
    assert "Ada, 2026-03-02T10:00:00" in verdict.evidence.detail


async def test_an_approval_of_other_documents_is_stale(bench):
    bench.deliver(ANALYSIS)
    bench.approvals = (await decision(bench, granted=True, after=timedelta(hours=1)),)
    bench.deliver({"02-trz.md": document("Another\n")})
    verdict = await bench.ask(APPROVED)
    assert isinstance(verdict, Inconclusive)
    assert verdict.waits_for is WaitsFor.PERSON


async def test_an_approval_of_a_deployment_approves_no_analysis(bench):
    bench.deliver(ANALYSIS)
    given = await decision(bench, granted=True, after=timedelta(hours=1))
    bench.approvals = (Approval(ApprovalKind.DEPLOY, given.subject, True, "Ada", given.at),)
    assert isinstance(await bench.ask(APPROVED), Inconclusive)


@pytest.mark.parametrize(
    ("comment", "reason"), [("name the users", "name the users"), ("", "rejected by Ada")]
)
async def test_a_rejection_fails_with_what_the_person_said(bench, comment, reason):
    bench.deliver(ANALYSIS)
    bench.approvals = (await decision(bench, granted=False, after=timedelta(hours=1), comment=comment),)
    verdict = await bench.ask(APPROVED)
    assert isinstance(verdict, Failed)
    assert (verdict.reason, verdict.findings) == (reason, (reason,))


async def test_the_newest_decision_counts(bench):
    bench.deliver(ANALYSIS)
    bench.approvals = (
        await decision(bench, granted=True, after=timedelta(hours=1)),
        await decision(bench, granted=False, after=timedelta(hours=2)),
    )
    assert isinstance(await bench.ask(APPROVED), Failed)


async def test_a_rejection_before_this_visit_sends_nothing_back_again(bench):
    bench.deliver(ANALYSIS)
    bench.approvals = (await decision(bench, granted=False, after=timedelta(hours=-1)),)
    verdict = await bench.ask(APPROVED)
    assert isinstance(verdict, Inconclusive)
    assert "unchanged since Ada rejected it" in verdict.reason


async def test_a_decision_record_of_this_item_is_architecture_enough(bench):
    bench.deliver({ADR: document("We count.\n", stage="architecture")})
    verdict = await bench.ask(ARCHITECTURE)
    assert isinstance(verdict, Passed)
    assert verdict.evidence.source == f"{DOCS}/{ADR}"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "there is none"),
        ({"06-adr/notes.md": document()}, "there is none"),
        ({ADR: "prose\n"}, "no frontmatter"),
        ({ADR: document(work_item="ORCH-8")}, "not a decision about ORCH-7"),
        ({ADR: document(work_item="")}, "not a decision about ORCH-7"),
        ({ADR: document("")}, "not a decision about ORCH-7"),
    ],
)
async def test_without_a_decision_record_of_this_item_a_person_is_called(bench, files, said):
    bench.deliver(files)
    verdict = await bench.ask(ARCHITECTURE)
    assert isinstance(verdict, Inconclusive)
    assert said in verdict.reason
    assert verdict.retry_after is None


async def test_one_good_record_among_bad_ones_passes(bench):
    bench.deliver({"06-adr/ADR-000-old.md": document(work_item="ORCH-1"), ADR: document()})
    assert isinstance(await bench.ask(ARCHITECTURE), Passed)
