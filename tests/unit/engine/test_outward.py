"""Telling others, and what the world tells us: best effort, once, and never in the way of the pipeline."""

from datetime import timedelta

import pytest

from orchestrator.engine.aftercare import Aftercare
from orchestrator.engine.orders import tracker
from orchestrator.engine.overview import BLOCK_NAMES, NOT_BUILT, Limits, Overview
from orchestrator.engine.shown import known_states
from orchestrator.engine.signals import ForgeSignals
from orchestrator.errors import BadInput, Rejected, Unavailable
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.stages import Stage
from orchestrator.ports.queue import Done, JobKind, JobStatus, NewJob
from orchestrator.ports.tracker import TrackerState
from orchestrator.testing import failing
from tests.unit.engine.bench import DOUBT, PROJECT, waits_at

MINUTE = timedelta(minutes=1)


async def state(engine, ref="SHOP-1"):
    return (await engine.tracker.ticket(ref)).state


async def test_the_tracker_follows_the_item_to_the_confirm(engine):
    await engine.start()
    await engine.settle()
    assert await state(engine) is TrackerState.AWAITING_CONFIRM
    merged = (await engine.item()).merged
    keys = [comment.key for comment in await engine.tracker.comments("SHOP-1")]
    assert keys.count(f"confirm:{merged}") == 1
    assert len(keys) == len(set(keys))


async def test_the_state_is_remembered_before_it_is_written_so_that_its_echo_is_known(engine):
    waits_at(engine, GateName.ANALYSIS_COMPLETE)
    item = await engine.start()
    engine.tracker.write_outage = Unavailable("down")
    with pytest.raises(Unavailable):
        await engine.settle(JobKind.TRACKER, JobKind.LOOK)
    known = await engine.store.transact(lambda tx: known_states(tx, item.tracker_ref))
    assert TrackerState.IN_PROGRESS in known


async def test_a_gesture_that_nobody_has_read_is_not_written_over(engine):
    waits_at(engine, GateName.ANALYSIS_COMPLETE)
    item = await engine.start()
    await engine.settle(JobKind.TRACKER, JobKind.LOOK)
    engine.tracker.move(item.tracker_ref, TrackerState.CANCELLED)
    await engine.store.transact(lambda tx: tx.jobs.enqueue(tracker(item)))
    await engine.worker().drain(timedelta(seconds=5))
    assert (await engine.tracker.ticket(item.tracker_ref)).state is TrackerState.CANCELLED


async def test_a_tracker_that_is_down_does_not_keep_the_item(engine):
    waits_at(engine, GateName.TESTS_PASSED)
    await engine.start()
    engine.tracker.outage = Unavailable("down")
    worker = engine.worker()
    for _ in range(3):
        await worker.drain(timedelta(seconds=5))
    assert (await engine.item()).stage is Stage.TESTING
    engine.tracker.outage = None
    for _ in range(3):
        engine.clock.advance(MINUTE)
        await worker.drain(timedelta(seconds=5))
    assert await state(engine) is TrackerState.IN_PROGRESS


async def test_one_condition_is_alerted_once(engine):
    order = NewJob(JobKind.NOTIFY, data={"key": "disk", "text": "the disk is full"})
    for _ in range(3):
        await engine.store.transact(lambda tx: tx.jobs.enqueue(order))
        await engine.settle()
    assert engine.notifier.sent == ["the disk is full"]


async def test_an_alert_that_was_not_sent_is_not_taken_for_sent(engine):
    engine.notifier.outage = Unavailable("down")
    await engine.store.transact(
        lambda tx: tx.jobs.enqueue(NewJob(JobKind.NOTIFY, data={"key": "disk", "text": "full"}))
    )
    worker = engine.worker()
    await worker.drain(timedelta(seconds=5))
    engine.notifier.outage = None
    engine.clock.advance(MINUTE)
    await worker.drain(timedelta(seconds=5))
    assert engine.notifier.sent == ["full"]


async def test_a_pull_request_that_somebody_closed_already_does_not_fail_the_clean_up(engine):
    item = await engine.placed(Stage.REVIEW)
    await engine.store.transact(lambda tx: tx.items.note_pull_request(item.task_id, 404))
    await engine.desk.stop(item.id, by="ada")
    await engine.settle()
    jobs = await engine.jobs(JobKind.CLEANUP, open_only=False)
    assert [job.status for job in jobs] == [JobStatus.DONE]


async def test_a_clean_up_leaves_an_open_item_alone(engine):
    item = await engine.placed(Stage.REVIEW)
    await engine.store.transact(lambda tx: tx.jobs.enqueue(NewJob(JobKind.CLEANUP, task_id=item.task_id)))
    await engine.settle()
    assert [pull.state for pull in engine.forge.pulls(PROJECT)] == ["open"]


async def test_the_forge_asks_for_a_look_at_the_items_of_that_commit(engine):
    item = await engine.placed(Stage.DEVELOPMENT)
    other = await engine.placed(Stage.DEVELOPMENT, number=2)
    await ForgeSignals(engine.store)("status", PROJECT, item.head)
    assert [job.data["trigger"] for job in await engine.jobs(JobKind.LOOK)] == ["forge:status"]
    assert await engine.jobs(JobKind.LOOK, ident=other.id) == []


# The production verdict.


async def done(engine):
    item = await engine.placed(Stage.DEPLOY)
    await engine.door.look(item.task_id, "test")
    job = await engine.queue.claim([JobKind.WATCH])
    assert job is not None
    return job


async def aftercare(engine, result):
    async def monitor(job):
        return Done(result)

    return Aftercare(monitor=monitor, store=engine.store, commitment=engine.commitment, clock=engine.clock)


async def test_a_degraded_production_opens_the_item_again_with_the_evidence(engine):
    job = await done(engine)
    before = await engine.item()
    care = await aftercare(engine, {"reopen": True, "reason": "error rate 12 %"})
    await care.watch(job)
    case = await engine.case()
    assert (before.stage, case.item.stage, case.item.epoch) == (
        Stage.DONE,
        Stage.DEVELOPMENT,
        before.epoch + 1,
    )
    assert (case.item.branch_attempt, case.item.merged) == (2, None)
    assert "error rate 12 %" in case.rounds[-1].findings[0]
    assert "regression test" in case.rounds[-1].findings[0]
    (work,) = await engine.jobs(JobKind.PRODUCE)
    assert work.stage is Stage.DEVELOPMENT


async def test_a_verdict_that_is_told_twice_opens_the_item_once(engine):
    job = await done(engine)
    care = await aftercare(engine, {"reopen": True, "reason": "degraded"})
    await care.watch(job)
    await care.watch(job)
    assert [move.kind for move in await engine.moves()] == ["advance", "send_back"]


async def test_a_healthy_production_changes_nothing(engine):
    job = await done(engine)
    await (await aftercare(engine, {"status": "HEALTHY"})).watch(job)
    assert (await engine.item()).stage is Stage.DONE


async def test_the_items_in_line_are_asked_when_one_is_done(engine):
    waits_at(engine, GateName.ANALYSIS_COMPLETE)
    item = await engine.placed(Stage.DEPLOY)
    waiting = await engine.start()
    await engine.settle(JobKind.LOOK)
    assert (await engine.item(waiting.id)).stage is Stage.CREATED
    await engine.door.look(item.task_id, "test")
    await engine.settle(JobKind.LOOK)
    assert (await engine.item(waiting.id)).stage is Stage.ANALYSIS


# The installation at a glance, and its projects.


def overview(engine):
    return Overview(
        store=engine.store, leases=engine.leases, clock=engine.clock, policy=engine.policy,
        limits=Limits(3, timedelta(seconds=2)), blocks={"reaper": lambda: {"enabled": True}},
    )  # fmt: skip


async def test_the_queue_has_every_block_and_those_that_are_not_built_say_so(engine):
    item = await engine.placed(Stage.REVIEW)
    async with engine.leases.hold(item.task_id, stage=item.stage, epoch=item.epoch, owner="me"):
        blocks = await overview(engine).queue()
    assert tuple(blocks) == BLOCK_NAMES
    assert (blocks["max_concurrency"], blocks["reaper"]) == (3, {"enabled": True})
    assert blocks["coverage"] == NOT_BUILT
    assert [held["owner"] for held in blocks["transition_lease"]["held"]] == ["me"]
    assert blocks["serial_gate"]["projects"][PROJECT]["active_task"] == "SHOP-1/review"


async def test_the_status_lists_open_items_only(engine):
    item = await engine.placed(Stage.REVIEW)
    assert (await overview(engine).status())["active"] == 1
    await engine.desk.stop(item.id, by="ada")
    assert (await overview(engine).status())["active"] == 0
    metrics = await overview(engine).metrics()
    assert (metrics["items_by_stage"][Stage.CANCELLED], metrics["holds"]) == (1, 0)


async def test_a_contract_is_read_from_the_base_and_never_from_the_branch(engine):
    item = await engine.placed(Stage.REVIEW)
    engine.workspace.push(PROJECT, item.branch, {".orchestrator.yml": "test: {run: [true]}\n"})
    assert await engine.projects.contract(PROJECT) is None
    engine.workspace.push(PROJECT, "main", {".orchestrator.yml": "test: {run: [pytest]}\n"})
    contract = await engine.projects.contract(PROJECT)
    assert contract is not None
    assert contract.declares("test")


async def test_two_projects_cannot_share_a_prefix(engine):
    known = await engine.projects.project(PROJECT)
    with pytest.raises(BadInput, match=PROJECT):
        await engine.projects.put(known.model_copy(update={"name": "bank"}), (0, 0))
    await engine.projects.put(known, (8500, 8501))
    assert engine.projects.ports(PROJECT) == (8500, 8501)
    assert [project.name for project in await engine.projects.all()] == [PROJECT]
    with pytest.raises(Rejected):
        await engine.projects.project("bank")


async def test_a_round_is_a_lesson_and_a_hold_is_one_too(engine):
    item = await engine.placed(Stage.REVIEW)
    engine.gates.always(GateName.REVIEWER_VERDICT, failing("P0: count", reason="REQUEST_CHANGES"))
    await engine.door.look(item.task_id, "test")
    engine.gates.always(GateName.CI_GREEN, DOUBT)
    lessons = await engine.store.transact(lambda tx: tx.facts.lessons())
    assert [(lesson["type"], lesson["text"]) for lesson in lessons] == [("round", "REQUEST_CHANGES")]
