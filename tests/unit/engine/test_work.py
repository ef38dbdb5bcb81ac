"""Dispatch: the work of a stage is done, deferred, retried or given up, and what each of them costs."""

from datetime import timedelta

import pytest

from orchestrator.errors import Unavailable
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.stages import Stage
from orchestrator.pipeline.verdicts import FailureClass
from orchestrator.ports.producer import Deferred, GaveUp
from orchestrator.ports.queue import JobKind, JobStatus
from orchestrator.testing import ScriptedProducer, failing
from tests.unit.engine.bench import DOUBT, PROJECT, waits_at

PAUSE = timedelta(seconds=30)
NO_TOOL = Deferred("the tool is away", PAUSE, marker="script infra-retry")


@pytest.fixture
async def item(engine):
    """An item that was started and whose first work is due."""
    waits_at(engine, GateName.ANALYSIS_COMPLETE)
    started = await engine.start()
    await engine.settle(JobKind.LOOK)
    return started


async def work(engine, ident="SHOP-1"):
    return await engine.jobs(JobKind.PRODUCE, ident=ident, open_only=False)


async def test_delivered_work_is_kept_with_its_commit_and_the_door_looks_at_once(engine, item):
    await engine.settle()
    (job,) = await work(engine)
    head = engine.workspace.repository(PROJECT).branch(item.branch)
    case = await engine.case()
    assert job.status is JobStatus.DONE
    assert (job.result["delivered"], job.result["producer"]) == (head, "script")
    assert (case.item.head, case.item.code) == (head, job.result["code"])
    assert engine.gates.names_asked() == [GateName.ANALYSIS_COMPLETE]


async def test_each_piece_of_work_is_told_in_one_comment(engine, item):
    await engine.settle()
    comments = await engine.tracker.comments(item.tracker_ref)
    assert [comment.key for comment in comments] == ["work:analysis:1"]
    assert "requirements are written" in comments[0].text


async def test_development_opens_one_pull_request_however_many_rounds_it_takes(engine):
    engine.gates.then(GateName.REVIEWER_VERDICT, [failing("P0: one"), failing("P0: another")])
    waits_at(engine, GateName.TESTS_PASSED)
    await engine.start()
    await engine.settle()
    item = await engine.item()
    assert item.stage is Stage.TESTING
    assert [pull.number for pull in engine.forge.pulls(PROJECT)] == [item.pull_request]
    rounds = [a.rounds for a in engine.producer.assignments if a.stage is Stage.DEVELOPMENT]
    assert [[r.findings for r in made] for made in rounds] == [
        [],
        [("P0: one",)],
        [("P0: one",), ("P0: another",)],
    ]


async def test_a_defer_waits_its_time_and_counts_but_spends_nothing(engine, item):
    engine.producer.then(NO_TOOL, NO_TOOL)
    await engine.settle()
    assert len(engine.producer.assignments) == 1
    for _ in range(2):
        await engine.pass_time(PAUSE)
    assert [a.defers for a in engine.producer.assignments] == [0, 1, 2]
    jobs = await work(engine)
    assert [job.status for job in jobs] == [JobStatus.DONE] * 3
    assert [job.attempts for job in jobs] == [0, 0, 0]
    assert {job.max_attempts for job in jobs} == {3}
    assert (await engine.case()).rounds == ()
    assert "delivered" in jobs[-1].result


async def test_deferred_work_is_still_pending_and_never_looked_at_by_gates(engine, item):
    engine.producer.then(NO_TOOL)
    await engine.settle()
    await engine.door.look(item.task_id, "test")
    assert engine.gates.asked == []
    (queued,) = await engine.jobs(JobKind.PRODUCE)
    assert queued.available_at == engine.clock.now() + PAUSE
    assert "script infra-retry" in queued.content
    assert queued.content.splitlines()[:4] == [
        "Work item: SHOP-1",
        f"Repo: {PROJECT}",
        f"Branch: {item.branch}",
        "Stage: analysis",
    ]


async def test_a_defer_keeps_the_attempts_that_were_spent(engine, item):
    failed = GaveUp("it crashed", FailureClass.AGENT)
    engine.producer.then(failed, NO_TOOL, failed, failed)
    await engine.settle()
    for _ in range(6):
        await engine.pass_time(PAUSE)
    assert (await engine.case()).hold is not None
    assert len(engine.producer.assignments) == 4


async def test_a_wait_without_a_marker_is_the_same_job_again(engine, item):
    engine.producer.then(Deferred("the provider says later", PAUSE))
    await engine.settle()
    await engine.pass_time(PAUSE)
    (job,) = await work(engine)
    assert (job.status, job.attempts) == (JobStatus.DONE, 0)
    assert [a.job.id for a in engine.producer.assignments] == [job.id, job.id]


async def test_an_agent_that_fails_is_tried_again_and_then_calls_a_person_once(engine, item):
    engine.producer.then(*[GaveUp("it crashed", FailureClass.AGENT)] * 5)
    await engine.settle()
    for _ in range(5):
        await engine.pass_time(timedelta(minutes=1))
    case = await engine.case()
    assert len(engine.producer.assignments) == 3
    assert case.hold is not None
    assert (case.hold.reason, case.hold.failure) == ("it crashed", FailureClass.AGENT)
    assert case.rounds == ()
    assert engine.notifier.sent == ["SHOP-1 is on hold: it crashed"]
    (job,) = await work(engine)
    assert (job.status, job.error) == (JobStatus.FAILED, "it crashed")


async def test_a_fault_of_the_environment_spends_no_attempt_of_the_agent(engine, item):
    engine.producer.then(GaveUp("no space left", FailureClass.ENVIRONMENT))
    await engine.settle()
    job = (await work(engine))[-1]
    assert (job.status, job.attempts, job.max_attempts) == (JobStatus.QUEUED, 0, 3)
    await engine.pass_time(timedelta(minutes=5))
    assert "delivered" in (await work(engine))[-1].result


async def test_a_fault_of_the_environment_that_lasts_calls_a_person(engine, item):
    engine.producer.then(*[GaveUp("no space left", FailureClass.ENVIRONMENT)] * 200)
    await engine.settle()
    for _ in range(60):
        await engine.pass_time(timedelta(minutes=5))
    case = await engine.case()
    assert case.hold is not None
    assert case.hold.failure is FailureClass.ENVIRONMENT


async def test_a_forge_that_is_down_when_work_is_delivered_is_waited_for(engine):
    waits_at(engine, GateName.CI_GREEN)
    await engine.start()
    worker = engine.worker()
    engine.forge.outage = Unavailable("the forge is down")
    for _ in range(5):
        await worker.drain(timedelta(seconds=5))
        engine.clock.advance(timedelta(seconds=10))
    assert (await engine.case()).hold is None
    engine.forge.outage = None
    engine.clock.advance(timedelta(minutes=1))
    await worker.drain(timedelta(seconds=5))
    case = await engine.case()
    assert (case.item.stage, case.item.pull_request) == (Stage.DEVELOPMENT, 1)
    assert case.work is not None
    assert case.work.delivered == case.item.head


@pytest.mark.parametrize("failure", list(FailureClass))
async def test_what_cannot_be_tried_again_calls_a_person_at_once(engine, item, failure):
    engine.producer.then(GaveUp("the login expired", failure, retryable=False))
    await engine.settle()
    case = await engine.case()
    assert case.hold is not None
    assert (case.hold.reason, case.hold.failure) == ("the login expired", failure)
    assert len(engine.producer.assignments) == 1


async def test_a_contract_that_cannot_be_used_holds_the_item_before_any_work(engine, item):
    engine.workspace.push(PROJECT, "main", {".orchestrator.yml": "tset: {}\n"})
    await engine.settle()
    case = await engine.case()
    assert case.hold is not None
    assert ".orchestrator.yml:1" in case.hold.reason
    assert engine.producer.assignments == []


async def test_work_for_a_visit_that_is_over_is_not_begun(engine, item):
    moved = await engine.item()
    await engine.store.transact(lambda tx: tx.items.move(moved, to=Stage.CANCELLED, epoch=moved.epoch))
    await engine.settle(JobKind.PRODUCE)
    assert engine.producer.assignments == []
    assert (await work(engine))[0].status is JobStatus.DONE
    assert "delivered" not in (await work(engine))[0].result


async def test_work_that_arrives_after_the_item_moved_on_opens_nothing(engine, item):
    async def slow(assignment):
        held = GaveUp("irrelevant", FailureClass.AGENT)
        await engine.store.transact(lambda tx: tx.jobs.fail(assignment.job, "lost", {"summary": held.reason}))
        return await engine.producer.deliver(assignment)

    engine.producer.then(slow)
    await engine.settle()
    (job,) = await work(engine)
    assert job.status is JobStatus.FAILED
    assert engine.gates.asked == []
    assert (await engine.item()).stage is Stage.ANALYSIS


async def test_a_branch_that_somebody_moves_makes_the_work_begin_again_from_there(engine, item):
    """Once: the same start would meet the same conflict for ever, at the price of a run each time."""

    async def pushed_meanwhile(assignment):
        engine.workspace.push(PROJECT, item.branch, {"app.py": "by a person\n"})
        return await engine.producer.deliver(assignment)

    engine.producer.then(pushed_meanwhile)
    worker = engine.worker()
    for _ in range(6):
        await worker.drain(timedelta(seconds=5))
        engine.clock.advance(timedelta(seconds=5))
    starts = [assignment.started_at for assignment in engine.producer.assignments]
    theirs = engine.workspace.repository(PROJECT).snapshot((await engine.item()).head).parents[0]
    assert starts[1:] == [theirs]


async def test_the_first_producer_that_applies_does_the_work(engine):
    runner = ScriptedProducer(engine.workspace, "test-runner", stages=[Stage.TESTING])
    engine.dispatch._producers = [runner, engine.producer]
    waits_at(engine, GateName.STAGING_STATUS)
    await engine.start()
    await engine.settle()
    assert [a.stage for a in runner.assignments] == [Stage.TESTING]
    assert Stage.TESTING not in [a.stage for a in engine.producer.assignments]


async def test_a_tool_that_never_ran_is_delivered_as_such(engine, item):
    async def no_tool(assignment):
        produced = await engine.producer.deliver(assignment)
        return type(produced)(produced.delivered, verdict="FAILED", tool_error="pytest is away")

    engine.producer.then(no_tool)
    await engine.settle()
    case = await engine.case()
    assert case.work is not None
    assert case.work.tool_error == "pytest is away"


async def test_work_is_ordered_once_however_often_the_door_looks(engine, item):
    for _ in range(3):
        await engine.door.look(item.task_id, "test")
    assert len(await work(engine)) == 1
    engine.gates.always(GateName.ANALYSIS_COMPLETE, DOUBT)
    await engine.settle()
    assert len(engine.producer.assignments) == 1
