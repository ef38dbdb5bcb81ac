"""The queue: delivered to one, ended by whoever has it, found again when that process is gone."""

import asyncio
from datetime import timedelta

import pytest

from orchestrator.errors import Conflict
from orchestrator.pipeline.ids import CodeId, Commit, Epoch
from orchestrator.pipeline.stages import Stage
from orchestrator.ports.queue import JobKind, JobStatus, NewJob
from tests.unit.store import rigs

LOOK, ALL = [JobKind.LOOK], list(JobKind)
MINUTE = timedelta(minutes=1)


@pytest.fixture(params=rigs.DATABASES)
def rig(request, tmp_path):
    with rigs.opened(request.param, tmp_path) as rig:
        yield rig


async def test_a_job_arrives_as_it_was_queued(rig):
    item = await rig.item()
    new = rigs.produce(
        item, commit=Commit("c" * 40), code=CodeId("d" * 40), content="Work item: ORCH-1", data={"n": [1]}
    )
    job_id = await rig.enqueue(new, priority=3, max_attempts=5)
    job = await rig.queue.claim([JobKind.PRODUCE])
    assert (job.id, job.status, job.task_id, job.stage, job.epoch) == (
        job_id, JobStatus.RUNNING, item.task_id, Stage.CREATED, 1,
    )  # fmt: skip
    assert (job.agent, job.project, job.content, job.data) == ("developer", "tally", new.content, {"n": [1]})
    assert (job.commit, job.code, job.attempts, job.max_attempts) == ("c" * 40, "d" * 40, 0, 5)
    assert job.started_at == job.created_at == rigs.START


async def test_a_job_of_a_transaction_that_failed_was_never_queued(rig):
    def fail(tx):
        tx.jobs.enqueue(NewJob(JobKind.LOOK))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await rig.store.transact(fail)
    assert await rig.queue.claim(LOOK) is None
    assert await rig.store.transact(lambda tx: tx.jobs.counts()) == dict.fromkeys(JobStatus, 0)


async def test_jobs_are_claimed_by_priority_then_age_and_only_of_the_wanted_kinds(rig):
    first, second = await rig.enqueue(), await rig.enqueue()
    urgent = await rig.enqueue(priority=1)
    await rig.enqueue(kind=JobKind.WATCH, priority=9)
    assert [(await rig.queue.claim(LOOK)).id for _ in range(3)] == [urgent, first, second]
    assert await rig.queue.claim(LOOK) is None


async def test_a_job_is_not_claimed_before_it_is_due(rig):
    await rig.enqueue(delay=MINUTE)
    assert await rig.queue.claim(LOOK) is None
    assert await rig.queue.next_due(LOOK) == rigs.START + MINUTE
    assert await rig.queue.next_due([JobKind.WATCH]) is None
    rig.pass_time(minutes=1)
    assert await rig.queue.claim(LOOK) is not None


async def test_a_second_job_with_the_same_key_only_makes_the_first_due_earlier(rig):
    first = await rig.enqueue(dedup="look:1", delay=MINUTE, content="first")
    assert await rig.enqueue(dedup="look:1", delay=2 * MINUTE) == first
    assert await rig.queue.next_due(LOOK) == rigs.START + MINUTE
    assert await rig.enqueue(dedup="look:1", content="second") == first
    assert (await rig.queue.claim(LOOK)).content == "first"
    assert await rig.queue.claim(LOOK) is None


async def test_a_key_is_free_again_once_its_job_runs(rig):
    first = await rig.enqueue(dedup="look:1")
    await rig.queue.claim(LOOK)
    assert await rig.enqueue(dedup="look:1") != first


async def test_one_visit_to_a_stage_has_one_open_piece_of_work(rig):
    item = await rig.item()
    await rig.enqueue(rigs.produce(item))
    with pytest.raises(Conflict):
        await rig.enqueue(rigs.produce(item))
    job = await rig.queue.claim(ALL)
    with pytest.raises(Conflict):
        await rig.enqueue(rigs.produce(item))
    await rig.queue.finish(job, {})
    again = await rig.enqueue(rigs.produce(item))
    await rig.enqueue(rigs.produce(item, epoch=Epoch(2)))
    visit = await rig.store.transact(lambda tx: tx.jobs.of_visit(item.task_id, item.stage, item.epoch))
    assert [done.id for done in visit] == [job.id, again]


async def test_work_waits_for_the_items_that_its_own_depends_on(rig):
    item, needed = await rig.item(1), await rig.item(2)
    await rig.store.transact(lambda tx: tx.items.depend(item.task_id, needed.task_id))
    work = await rig.enqueue(rigs.produce(item))
    look = await rig.enqueue(task_id=item.task_id)
    assert (await rig.queue.claim(ALL)).id == look
    assert (await rig.queue.claim(ALL), await rig.queue.next_due(ALL)) == (None, None)
    await rig.store.transact(lambda tx: tx.items.move(needed, to=Stage.DONE, epoch=needed.epoch))
    assert (await rig.queue.claim(ALL)).id == work


async def test_a_job_that_is_put_back_waits_and_counts_only_spent_attempts(rig):
    await rig.enqueue()
    job = await rig.queue.claim(LOOK)
    await rig.queue.retry(job, after=MINUTE, error="limit", spend=False)
    assert await rig.queue.claim(LOOK) is None
    rig.pass_time(minutes=1)
    job = await rig.queue.claim(LOOK)
    assert (job.attempts, job.error) == (0, "limit")
    await rig.queue.retry(job, after=timedelta(), error="exit 1", spend=True)
    assert (await rig.queue.claim(LOOK)).attempts == 1


async def test_a_job_that_is_put_back_gives_way_to_a_newer_one_with_its_key(rig):
    await rig.enqueue(dedup="look:1")
    old = await rig.queue.claim(LOOK)
    newer = await rig.enqueue(dedup="look:1")
    await rig.queue.retry(old, after=timedelta(), error="", spend=True)
    assert (await rig.queue.claim(LOOK)).id == newer
    assert await rig.queue.claim(LOOK) is None


async def test_a_job_ends_once(rig):
    await rig.enqueue()
    job = await rig.queue.claim(LOOK)
    await rig.queue.finish(job, {"ok": True})
    for again in (
        rig.queue.finish(job, {}),
        rig.queue.fail(job, error="late"),
        rig.queue.retry(job, after=MINUTE, error="late", spend=True),
    ):
        with pytest.raises(Conflict, match="not running for this process"):
            await again
    (stored,) = await rig.store.transact(lambda tx: tx.jobs.recent())
    assert (stored.status, stored.result, stored.error) == (JobStatus.DONE, {"ok": True}, "")


async def test_a_job_ends_together_with_what_it_caused(rig):
    await rig.enqueue()
    await rig.enqueue()
    one, two = await rig.queue.claim(LOOK), await rig.queue.claim(LOOK)

    def end(tx):
        ended = tx.jobs.finish(one, {"a": 1}), tx.jobs.fail(two, "broke", {"b": 2})
        return ended, (tx.jobs.finish(one, {}), tx.jobs.fail(two, "", {})), tx.jobs.recent()

    first, second, jobs = await rig.store.transact(end)
    assert (first, second) == ((True, True), (False, False))
    assert [(j.status, j.result, j.error) for j in jobs] == [
        ("failed", {"b": 2}, "broke"),
        ("done", {"a": 1}, ""),
    ]


async def test_a_cancelled_job_stays_cancelled(rig):
    item = await rig.item()
    await rig.enqueue(rigs.produce(item))
    job = await rig.queue.claim(ALL)
    await rig.enqueue(task_id=item.task_id)
    await rig.enqueue(kind=JobKind.WATCH, task_id=item.task_id)
    cancelled = await rig.store.transact(
        lambda tx: tx.jobs.cancel(item.task_id, [JobKind.PRODUCE, JobKind.LOOK])
    )
    assert cancelled == [job]
    await rig.queue.finish(job, {})
    await rig.queue.retry(job, after=timedelta(), error="", spend=True)
    stored = await rig.store.transact(lambda tx: tx.jobs.of_item(item.task_id))
    assert [j.status for j in stored] == ["cancelled", "cancelled", "queued"]
    assert not await rig.store.transact(lambda tx: tx.jobs.finish(job, {}))


async def test_markers_are_counted_within_the_epoch(rig):
    item = await rig.item()
    marker = "test-runner infra-retry"
    for number, content in enumerate(
        [f"Note: {marker} 1/2", f"Note: {marker} 2/2", "Note: test-runner infra_retry"]
    ):
        await rig.enqueue(task_id=item.task_id, epoch=Epoch(1), content=content, dedup=str(number))
    await rig.enqueue(task_id=item.task_id, epoch=Epoch(2), content=marker)
    assert await rig.store.transact(lambda tx: tx.jobs.count_marker(item.task_id, marker, Epoch(1))) == 2
    assert (
        await rig.store.transact(lambda tx: tx.jobs.count_marker(item.task_id, "infra%retry", Epoch(1))) == 0
    )


async def test_two_processes_never_get_the_same_job(rig):
    def enqueue(tx):
        return [tx.jobs.enqueue(NewJob(JobKind.LOOK)) for _ in range(200)]

    queued = await rig.store.transact(enqueue)

    async def drain(process):
        claimed = []
        while (job := await process.queue.claim(LOOK)) is not None:
            claimed.append(job.id)
            await asyncio.sleep(0)
        return claimed

    ours, theirs = await asyncio.gather(drain(rig), drain(rig.another(2000)))
    assert sorted(ours + theirs) == queued
    assert ours
    assert theirs


async def test_running_jobs_of_processes_that_are_gone_are_queued_again(rig):
    other = rig.another(2000)
    await rig.enqueue(dedup="a")
    await rig.enqueue(dedup="b")
    theirs, ours = await other.queue.claim(LOOK), await rig.queue.claim(LOOK)
    assert await rig.queue.requeue_dead() == 0
    rig.kill(other)
    assert await rig.queue.requeue_dead() == 1
    again = await rig.queue.claim(LOOK)
    assert (again.id, again.attempts) == (theirs.id, 0)
    assert again.id != ours.id
    with pytest.raises(Conflict):
        await other.queue.finish(theirs, {})
    await rig.queue.finish(again, {})


async def test_two_running_jobs_with_one_key_are_queued_again_as_one(rig):
    other = rig.another(2000)
    for _ in range(2):
        await rig.enqueue(dedup="look:1")
        await other.queue.claim(LOOK)
    rig.kill(other)
    assert await rig.queue.requeue_dead() == 2
    assert await rig.queue.claim(LOOK) is not None
    assert await rig.queue.claim(LOOK) is None


async def test_an_earlier_claim_of_this_process_ends_nothing(rig):
    await rig.enqueue()
    old = await rig.queue.claim(LOOK)
    await rig.queue.retry(old, after=timedelta(), error="", spend=False)
    rig.pass_time(seconds=1)
    new = await rig.queue.claim(LOOK)
    with pytest.raises(Conflict):
        await rig.queue.finish(old, {})
    await rig.queue.finish(new, {})


async def test_whoever_waits_is_woken_by_a_commit_and_not_before(rig):
    start = rig.clock.monotonic()
    assert await rig.queue.claim(LOOK) is None
    waiting = asyncio.ensure_future(rig.queue.wait(MINUTE))
    await rig.enqueue()
    await waiting
    assert rig.clock.monotonic() - start <= MINUTE.total_seconds()
    assert await rig.queue.claim(LOOK) is not None


async def test_what_is_queued_between_claiming_and_waiting_is_not_missed(rig):
    for _ in range(2):
        assert await rig.queue.claim(LOOK) is None
        await rig.enqueue()
        assert await rig.queue.claim([JobKind.WATCH]) is None
        await asyncio.ensure_future(rig.queue.wait(MINUTE))
        assert rig.clock.now() == rigs.START
        assert await rig.queue.claim(LOOK) is not None
    await rig.queue.wait(MINUTE)
    assert rig.clock.now() == rigs.START + MINUTE


async def test_waiting_ends_with_the_time_that_was_given(rig):
    await rig.enqueue(delay=2 * MINUTE)
    assert await rig.queue.claim(LOOK) is None
    await rig.queue.wait(MINUTE)
    assert rig.clock.now() == rigs.START + MINUTE
