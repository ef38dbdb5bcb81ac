"""After an end of the process, and when a message was lost: everything that can move moves, once."""

import asyncio
from datetime import timedelta

import pytest

from orchestrator.errors import Unavailable
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.stages import Stage
from orchestrator.ports.queue import JobKind, JobStatus
from orchestrator.testing import passing
from tests.unit.engine.bench import DOUBT, PROJECT, UNAPPROVED, approval_gate, second, waits_at


async def test_a_start_queues_the_jobs_of_the_dead_voids_their_leases_and_asks_about_open_items(engine):
    waits_at(engine, GateName.CI_GREEN)
    dead = second(engine)
    item = await engine.placed(Stage.REVIEW)
    await engine.door.look(item.task_id, "test")
    job = await dead.queue.claim([JobKind.PRODUCE])
    assert job is not None
    lease = dead.leases.hold(item.task_id, stage=Stage.TESTING, epoch=item.epoch, owner="dead")
    await lease.__aenter__()
    done = await engine.placed(Stage.REVIEW, number=2)
    await engine.desk.stop(done.id, by="ada")
    engine.rig.kill(dead.process)
    recovered = await engine.recovery.on_start()
    assert (recovered.jobs, recovered.leases, recovered.items) == (1, 1, 1)
    (again,) = await engine.jobs(JobKind.PRODUCE)
    assert (again.id, again.status, again.attempts) == (job.id, JobStatus.QUEUED, 0)
    assert len(await engine.jobs(JobKind.LOOK)) == 1
    assert await engine.jobs(JobKind.LOOK, ident=done.id) == []
    assert (await engine.recovery.on_start()).jobs == 0


async def test_what_a_living_process_holds_is_left_to_it(engine):
    other = second(engine)
    item = await engine.placed(Stage.REVIEW)
    await engine.door.look(item.task_id, "test")
    job = await other.queue.claim([JobKind.PRODUCE])
    assert job is not None
    recovered = await engine.recovery.on_start()
    assert (recovered.jobs, recovered.leases) == (0, 0)
    (held,) = await engine.jobs(JobKind.PRODUCE)
    assert (held.id, held.status) == (job.id, JobStatus.RUNNING)


@pytest.mark.parametrize("gate", [GateName.STAGING_STATUS, GateName.COVERAGE])
async def test_a_process_that_dies_between_the_gates_asks_the_others_only(engine, gate):
    """What was answered before the end is stored; the next start goes on from there."""
    item = await engine.placed(Stage.DEPLOY_STAGING)
    engine.gates.then(gate, [asyncio.CancelledError()])
    with pytest.raises(asyncio.CancelledError):
        await engine.door.look(item.task_id, "test")
    before = engine.gates.names_asked()
    await engine.recovery.on_start()
    await engine.settle(JobKind.LOOK)
    assert (await engine.item()).stage is Stage.DEPLOY
    names = engine.gates.names_asked()
    assert names[len(before)] is gate
    assert len(names) == len(set(names)) + 1


async def test_a_merge_whose_process_died_before_it_was_written_down_is_made_once(engine):
    item = await engine.placed(Stage.DEPLOY_STAGING)
    merge = engine.merger.merge

    async def merged_and_died(*args, **kwargs):
        await merge(*args, **kwargs)
        raise asyncio.CancelledError

    engine.merger.merge = merged_and_died
    with pytest.raises(asyncio.CancelledError):
        await engine.door.look(item.task_id, "test")
    assert (await engine.item()).stage is Stage.DEPLOY_STAGING
    base = engine.workspace.repository(PROJECT).branch("main")
    engine.merger.merge = merge
    await engine.recovery.on_start()
    await engine.settle(JobKind.LOOK)
    moved = await engine.item()
    assert (moved.stage, moved.merged) == (Stage.DEPLOY, base)
    assert engine.workspace.repository(PROJECT).branch("main") == base


async def test_a_lost_message_is_made_up_for_by_the_sweep(engine):
    item = await engine.placed(Stage.REVIEW)
    assert await engine.recovery.sweep(timedelta(minutes=5)) == 0
    engine.clock.advance(timedelta(minutes=5))
    assert await engine.recovery.sweep(timedelta(minutes=5)) == 1
    assert await engine.recovery.sweep(timedelta(minutes=5)) == 0
    waits_at(engine, GateName.TESTS_PASSED)
    await engine.settle()
    assert (await engine.item()).stage is Stage.TESTING
    assert (await engine.moves())[0].trigger == "reconciler"
    assert item.id == "SHOP-1"


async def test_the_sweep_leaves_an_analysis_to_its_person(engine):
    engine.gates.always(GateName.ANALYSIS_APPROVED, UNAPPROVED)
    await engine.placed(Stage.ANALYSIS)
    await engine.pass_time(timedelta(hours=9))
    await engine.recovery.sweep(timedelta(minutes=5))
    await engine.settle()
    assert (await engine.item()).stage is Stage.ANALYSIS


async def test_work_that_died_of_a_bug_calls_a_person_and_does_not_blame_the_agent(engine):
    await engine.start()
    engine.producer.then(*[KeyError("typo")] * 9)
    worker = engine.worker()
    for _ in range(5):
        await worker.drain(timedelta(seconds=5))
        engine.clock.advance(timedelta(minutes=1))
        await engine.recovery.sweep(timedelta(minutes=1))
    case = await engine.case()
    assert len(engine.producer.assignments) == 3
    assert case.hold is not None
    assert case.hold.failure == "bug_in_orchestrator"


async def test_an_outage_of_a_neighbour_is_no_end_of_the_item(engine):
    item = await engine.placed(Stage.REVIEW)
    waits_at(engine, GateName.TESTS_PASSED)
    engine.workspace.outage = Unavailable("the disk is away")
    await engine.recovery.on_start()
    worker = engine.worker()
    for _ in range(8):
        await worker.drain(timedelta(seconds=5))
        engine.clock.advance(timedelta(minutes=1))
    assert await engine.item() == item
    engine.workspace.outage = None
    engine.clock.advance(timedelta(minutes=5))
    await engine.recovery.sweep(timedelta(minutes=5))
    await worker.drain(timedelta(seconds=5))
    assert (await engine.item()).stage is Stage.TESTING


async def test_an_approval_during_an_outage_is_not_lost(engine):
    engine.gates.always(GateName.ANALYSIS_APPROVED, approval_gate(engine.workspace))
    waits_at(engine, GateName.ARCHITECTURE_DONE)
    item = await engine.placed(Stage.ANALYSIS)
    worker = engine.worker()
    await engine.door.look(item.task_id, "test")
    await engine.desk.decide_analysis(item.id, granted=True, by="ada")
    engine.workspace.outage = Unavailable("the disk is away")
    for _ in range(8):
        await worker.drain(timedelta(seconds=5))
        engine.clock.advance(timedelta(minutes=1))
    engine.workspace.outage = None
    await engine.recovery.sweep(timedelta(minutes=5))
    await worker.drain(timedelta(seconds=5))
    assert (await engine.item()).stage is Stage.ARCHITECTURE


async def test_a_failed_clean_up_is_done_by_the_next_start(engine):
    item = await engine.placed(Stage.REVIEW)
    await engine.desk.stop(item.id, by="ada")
    job = await engine.queue.claim([JobKind.CLEANUP])
    await engine.queue.fail(job, error="the disk is away")
    await engine.recovery.on_start()
    assert len(await engine.jobs(JobKind.CLEANUP)) == 1


async def test_the_whole_road_is_walked_once_from_ticket_to_confirm(engine):
    await engine.start()
    await engine.settle()
    stages = [move.to_stage for move in await engine.moves()]
    assert stages == [stage for stage in Stage if stage not in (Stage.CREATED, Stage.DONE, Stage.CANCELLED)]
    assert [a.stage for a in engine.producer.assignments] == stages[:-1]
    names = engine.gates.names_asked()
    assert len(names) == len(set(names)) == 11
    engine.gates.always(GateName.DEPLOY_STATUS, DOUBT)
    await engine.desk.confirm_deploy("SHOP-1", by="ada")
    await engine.settle()
    engine.gates.always(GateName.DEPLOY_STATUS, passing)
    await engine.pass_time(timedelta(hours=1))
    assert (await engine.item()).stage is Stage.DONE
    assert len(await engine.jobs(JobKind.WATCH)) == 1
