"""What people ask for: starting, approving, confirming, holding, retrying, stopping; each is done once."""

from datetime import timedelta

import pytest

from orchestrator.engine.cases import branch_of
from orchestrator.errors import BadInput
from orchestrator.pipeline.commands import ConfirmDeploy, StartItem, StopItem
from orchestrator.pipeline.demands import OPERATOR
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.items import ApprovalKind
from orchestrator.pipeline.stages import Role, Stage, Track
from orchestrator.pipeline.verdicts import FailureClass, Inconclusive
from orchestrator.ports.forge import PullState
from orchestrator.ports.queue import JobKind, JobStatus
from orchestrator.ports.tracker import TrackerState
from orchestrator.testing import failing, passing
from tests.unit.engine.bench import PROJECT, approval_gate, waits_at

MINUTE = timedelta(minutes=1)
DOCUMENT = "docs/work-items/SHOP-1/01-brd.md"


async def told(engine, ref="SHOP-1"):
    return [(comment.key, comment.text) for comment in await engine.tracker.comments(ref)]


# Starting.


async def test_a_filed_item_is_started_and_the_analyst_is_asked_to_work(engine):
    item = await engine.start(description="Twice", labels=("shop",))
    assert (item.stage, item.epoch, item.branch) == (Stage.CREATED, 1, "feature/SHOP-1-count-visits")
    await engine.settle(JobKind.LOOK)
    (job,) = await engine.jobs(JobKind.PRODUCE)
    assert (job.stage, job.agent) == (Stage.ANALYSIS, Role.ANALYST)
    assert (await engine.item()).stage is Stage.ANALYSIS


async def test_a_bug_skips_architecture(engine):
    waits_at(engine, GateName.CI_GREEN)
    assert (await engine.start(labels=("Bug",))).track is Track.BUG
    await engine.settle()
    assert [move.to_stage for move in await engine.moves()] == [Stage.ANALYSIS, Stage.DEVELOPMENT]


async def test_a_title_that_is_too_long_is_blocked_with_one_comment_and_one_alert(engine):
    item = await engine.start("x" * 81)
    served = await engine.settle()
    case = await engine.case()
    assert case.hold is not None
    assert "80" in case.hold.reason
    assert (await engine.tracker.ticket(item.tracker_ref)).state is TrackerState.BLOCKED
    assert len(engine.notifier.sent) == 1
    assert engine.producer.assignments == []
    assert served < 10
    assert (await engine.start("x" * 80)).stage is Stage.CREATED


async def test_a_blocked_item_is_not_looked_at_in_circles(engine):
    await engine.start("x" * 81)
    await engine.settle()
    await engine.recovery.on_start()
    assert await engine.settle() < 10


async def test_a_blocked_title_is_retried_only_after_it_was_changed(engine):
    item = await engine.start("x" * 81)
    with pytest.raises(BadInput, match="80"):
        await engine.desk.retry(item.id, by="ada")
    await engine.store.transact(
        lambda tx: tx.items.note_ticket(
            item.task_id, title="Count visits", description="", labels=(), track=Track.FULL
        )
    )
    waits_at(engine, GateName.ANALYSIS_COMPLETE)
    await engine.desk.retry(item.id, by="ada")
    await engine.settle()
    assert (await engine.item()).stage is Stage.ANALYSIS


async def test_an_event_that_is_told_twice_is_carried_out_once(engine):
    command = StartItem(WorkItemId("SHOP-9"), PROJECT, "Count", "", "SHOP-9")
    first = await engine.intake.accept(command, source="plane", content_key="delivery")
    again = await engine.intake.accept(command, source="plane", content_key="delivery")
    other = await engine.intake.accept(command, source="poll", content_key="another")
    assert (first.fresh, again.fresh, other.fresh) == (True, False, False)
    assert again.item == other.item == first.item
    assert len(await engine.jobs(JobKind.LOOK, ident="SHOP-9")) == 1
    stop = StopItem(WorkItemId("SHOP-9"), by="ada")
    await engine.intake.accept(stop, source="plane", content_key="stop")
    assert not (await engine.intake.accept(stop, source="plane", content_key="stop")).fresh
    assert [move.kind for move in await engine.moves("SHOP-9")] == ["stop"]


async def test_what_cannot_be_carried_out_stores_nothing(engine):
    item = await engine.placed(Stage.REVIEW)
    events = await engine.store.transact(lambda tx: tx.events.count())
    refused = [
        engine.desk.confirm_deploy(item.id, by="ada"),
        engine.desk.decide_analysis(item.id, granted=True, by="ada"),
        engine.desk.retry(item.id, by="ada"),
        engine.desk.stop("SHOP-404", by="ada"),
        engine.desk.freeze("bank", "release"),
        engine.desk.file_item("bank", "Count", by="ada"),
        engine.desk.file_item(PROJECT, " ", by="ada"),
    ]
    for request in refused:
        with pytest.raises(BadInput):
            await request
    assert await engine.store.transact(lambda tx: tx.events.count()) == events
    assert await engine.item() == item


# The first decision: the analysis.


@pytest.fixture
async def analysed(engine):
    """An item whose analysis waits for a person."""
    engine.gates.always(GateName.ANALYSIS_APPROVED, approval_gate(engine.workspace))
    waits_at(engine, GateName.ARCHITECTURE_DONE)
    await engine.start()
    await engine.settle()
    item = await engine.item()
    engine.workspace.push(PROJECT, item.branch, {DOCUMENT: "count once\n"})
    await engine.door.look(item.task_id, "push")
    await engine.settle()
    engine.clock.advance(MINUTE)
    return await engine.item()


async def test_an_analysis_waits_for_a_person_who_is_told_so_once(engine, analysed):
    for _ in range(3):
        await engine.door.look(analysed.task_id, "test")
        await engine.settle()
    assert (await engine.item()).stage is Stage.ANALYSIS
    ticket = await engine.tracker.ticket(analysed.tracker_ref)
    assert ticket.state is TrackerState.NEEDS_APPROVAL
    assert [key for key, _ in await told(engine) if key.startswith("approve")] == ["approve:1"]


async def test_an_approval_lets_the_analysis_go_on(engine, analysed):
    await engine.desk.decide_analysis(analysed.id, granted=True, by="ada")
    await engine.settle()
    assert (await engine.item()).stage is Stage.ARCHITECTURE


async def test_documents_that_changed_after_the_approval_are_asked_about_again(engine, analysed):
    await engine.desk.decide_analysis(analysed.id, granted=True, by="ada")
    engine.workspace.push(PROJECT, analysed.branch, {DOCUMENT: "count thrice\n"})
    await engine.settle()
    assert (await engine.item()).stage is Stage.ANALYSIS
    await engine.desk.decide_analysis(analysed.id, granted=True, by="ada")
    await engine.settle()
    assert (await engine.item()).stage is Stage.ARCHITECTURE


async def test_documents_that_change_while_the_gates_are_asked_are_not_approved(engine, analysed):
    asked = approval_gate(engine.workspace)

    async def pushed_meanwhile(question):
        answer = await asked(question)
        engine.workspace.push(PROJECT, analysed.branch, {DOCUMENT: "count never\n"})
        return answer

    engine.gates.then(GateName.ANALYSIS_APPROVED, [pushed_meanwhile])
    await engine.desk.decide_analysis(analysed.id, granted=True, by="ada")
    await engine.settle(JobKind.LOOK)
    assert (await engine.item()).stage is Stage.ANALYSIS


async def test_documents_that_changed_are_checked_for_completeness_again(engine, analysed):
    before = engine.gates.names_asked().count(GateName.ANALYSIS_COMPLETE)
    engine.workspace.push(PROJECT, analysed.branch, {DOCUMENT: None})
    await engine.door.look(analysed.task_id, "push")
    assert engine.gates.names_asked().count(GateName.ANALYSIS_COMPLETE) == before + 1


async def test_an_approval_of_what_the_person_saw_is_no_approval_of_what_stands_there_now(engine, analysed):
    seen = await engine.desk.analysis_subject(analysed)
    engine.workspace.push(PROJECT, analysed.branch, {DOCUMENT: "count never\n"})
    await engine.desk.decide_analysis(analysed.id, granted=True, by="ada", seen=seen)
    await engine.settle()
    assert (await engine.item()).stage is Stage.ANALYSIS


async def test_a_rejection_is_the_analysts_next_demand(engine, analysed):
    await engine.desk.decide_analysis(analysed.id, granted=False, by="ada", comment="say how many")
    await engine.settle(JobKind.LOOK)
    case = await engine.case()
    assert (case.item.stage, case.item.epoch) == (Stage.ANALYSIS, 2)
    assert [(r.role, r.findings, r.spent) for r in case.rounds] == [(Role.ANALYST, ("say how many",), False)]


# The second decision: production.


async def merged(engine):
    """An item that was merged and waits for the confirm."""
    waits_at(engine, GateName.DEPLOY_STATUS)
    item = await engine.placed(Stage.DEPLOY_STAGING)
    await engine.door.look(item.task_id, "test")
    await engine.settle()
    return await engine.item()


async def test_production_waits_for_a_confirm_and_the_work_begins_with_it(engine):
    item = await merged(engine)
    assert item.stage is Stage.DEPLOY
    assert await engine.jobs(JobKind.PRODUCE) == []
    assert (await engine.tracker.ticket(item.tracker_ref)).state is TrackerState.AWAITING_CONFIRM
    await engine.desk.confirm_deploy(item.id, by="ada")
    await engine.settle(JobKind.LOOK)
    (job,) = await engine.jobs(JobKind.PRODUCE)
    assert (job.stage, job.agent) == (Stage.DEPLOY, "deploy-finalizer")


async def test_an_approval_in_deploy_deploys_nothing(engine):
    item = await merged(engine)
    with pytest.raises(BadInput):
        await engine.desk.decide_analysis(item.id, granted=True, by="ada")
    await engine.settle()
    assert await engine.jobs(JobKind.PRODUCE) == []


async def test_a_confirm_of_another_commit_does_nothing(engine):
    item = await merged(engine)
    await engine.desk.confirm_deploy(item.id, by="ada")
    other = engine.workspace.push(PROJECT, "main", {"app.py": "three\n"})
    await engine.store.transact(lambda tx: tx.items.note_merged(item.task_id, other))
    await engine.settle()
    assert [a.stage for a in engine.producer.assignments] == []
    case = await engine.case()
    assert case.approval(ApprovalKind.DEPLOY, other) is None
    await engine.desk.confirm_deploy(item.id, by="ada")
    await engine.settle()
    assert [a.stage for a in engine.producer.assignments] == [Stage.DEPLOY]


async def test_a_confirm_is_told_twice_and_deploys_once(engine):
    item = await merged(engine)
    command = ConfirmDeploy(item.id, by="ada")
    for _ in range(2):
        await engine.intake.accept(command, source="plane", content_key="confirm")
    await engine.desk.confirm_deploy(item.id, by="bob")
    await engine.settle()
    assert [a.stage for a in engine.producer.assignments] == [Stage.DEPLOY]


# Holding and trying again.


async def test_a_hold_is_told_once_however_often_the_door_looks(engine):
    item = await engine.placed(Stage.REVIEW)
    engine.gates.always(GateName.REVIEWER_VERDICT, Inconclusive("the file is broken", None))
    for _ in range(3):
        await engine.door.look(item.task_id, "test")
        await engine.settle(JobKind.LOOK, JobKind.NOTIFY)
        engine.clock.advance(MINUTE)
    case = await engine.case()
    assert case.hold is not None
    assert case.hold.since == case.item.entered_at
    assert len(engine.notifier.sent) == 1
    assert "the file is broken" in engine.notifier.sent[0]
    assert engine.gates.names_asked() == [GateName.REVIEWER_VERDICT]


async def test_a_retry_releases_the_hold_and_does_the_work_of_the_stage_again(engine):
    item = await engine.placed(Stage.REVIEW)
    engine.gates.then(GateName.REVIEWER_VERDICT, [Inconclusive("broken", None)])
    await engine.door.look(item.task_id, "test")
    accepted = await engine.desk.retry(item.id, by="ada")
    assert accepted.item is not None
    assert (accepted.item.stage, accepted.item.epoch) == (Stage.REVIEW, item.epoch + 1)
    await engine.settle(JobKind.LOOK)
    assert (await engine.case()).hold is None
    (job,) = await engine.jobs(JobKind.PRODUCE)
    assert (job.stage, job.epoch) == (Stage.REVIEW, item.epoch + 1)


async def test_a_retry_after_the_cap_grants_new_rounds_with_the_old_demand(engine):
    engine.gates.always(GateName.REVIEWER_VERDICT, failing("P0: count", reason="REQUEST_CHANGES"))
    item = await engine.placed(Stage.REVIEW)
    for _ in range(2):
        await engine.door.look(item.task_id, "test")
        await engine.settle(JobKind.LOOK, JobKind.PRODUCE)
    case = await engine.case()
    assert case.hold is not None
    assert case.hold.failure is FailureClass.CODE
    await engine.desk.retry(item.id, by="ada")
    case = await engine.case()
    assert (case.item.stage, case.hold) == (Stage.DEVELOPMENT, None)
    granted = case.rounds[-1]
    assert (granted.source_gate, granted.findings, granted.spent) == (OPERATOR, ("P0: count",), False)
    engine.gates.always(GateName.REVIEWER_VERDICT, passing)
    waits_at(engine, GateName.TESTS_PASSED)
    await engine.settle(JobKind.LOOK, JobKind.PRODUCE)
    assert (await engine.item()).stage is Stage.TESTING


# Stopping.


async def test_a_stop_cancels_the_items_jobs_keeps_its_work_and_closes_its_pull_request(engine):
    waits_at(engine, GateName.CI_GREEN)
    item = await engine.start()
    await engine.settle()
    branch = branch_of(await engine.item())
    worktree = await engine.workspace.check_out(branch, (await engine.workspace.head(branch)).commit)
    (worktree / "half.py").write_text("half\n")
    await engine.desk.stop(item.id, by="ada", reason="not needed")
    stopped = await engine.item()
    assert (stopped.stage, stopped.epoch) == (Stage.CANCELLED, 2)
    assert (await engine.jobs(JobKind.LOOK, open_only=False))[-1].status is JobStatus.CANCELLED
    await engine.settle()
    refs = engine.workspace.repository(PROJECT).refs
    assert "refs/orchestrator/rescue/SHOP-1/epoch-2" in refs
    assert not worktree.exists()
    assert engine.runs_stopped == [item.id]
    assert [pull.state for pull in engine.forge.pulls(PROJECT)] == [PullState.CLOSED]
    assert (await engine.tracker.ticket(item.tracker_ref)).state is TrackerState.CANCELLED
    await engine.pass_time(timedelta(days=1))
    assert (await engine.item()).stage is Stage.CANCELLED


async def test_nothing_can_be_changed_after_a_stop(engine):
    item = await engine.placed(Stage.REVIEW)
    await engine.desk.stop(item.id, by="ada")
    for request in (engine.desk.stop(item.id, by="ada"), engine.desk.retry(item.id, by="ada")):
        with pytest.raises(BadInput, match="cancelled"):
            await request
