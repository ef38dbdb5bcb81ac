"""The worker on the real queue: lanes, the error boundary, and what a stop leaves behind."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from orchestrator.errors import Conflict, Unavailable
from orchestrator.jobs.worker import CONTROL_SLOTS, Worker
from orchestrator.ports.queue import Done, Job, JobKind, JobStatus, Later, Settled
from tests.unit.store.rigs import opened, produce

DEADLINE = timedelta(seconds=5)


@pytest.fixture
def rig(tmp_path):
    with opened("sqlite", tmp_path) as made:
        yield made


class Handler:
    """Notes its jobs, waits until it may go on, then ends as it was told."""

    def __init__(self, *endings) -> None:
        self.jobs: list[Job] = []
        self.begun = asyncio.Event()
        self.cancelled = 0
        self.may_end = asyncio.Event()
        self.may_end.set()
        self._endings = list(endings)

    async def __call__(self, job):
        self.jobs.append(job)
        self.begun.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        ending = self._endings.pop(0) if self._endings else Done({"by": "handler"})
        if isinstance(ending, BaseException):
            raise ending
        return ending

    async def seen(self, count: int) -> None:
        async with asyncio.timeout(5):
            while len(self.jobs) < count:
                self.begun.clear()
                await self.begun.wait()


def worker(rig, handlers, **options) -> Worker:
    usual = {"max_concurrency": 1, "poll": timedelta(seconds=1)}
    return Worker(queue=rig.queue, handlers=handlers, **{**usual, **options})


async def stored(rig, job_id):
    jobs = await rig.store.transact(lambda tx: tx.jobs.recent(50))
    return next(job for job in jobs if job.id == job_id)


@asynccontextmanager
async def serving(made: Worker):
    run = asyncio.create_task(made.run())
    try:
        yield run
    finally:
        made.stop()
        await asyncio.wait_for(run, 5)


async def test_a_finished_job_is_stored_with_its_result(rig):
    job = await rig.enqueue()
    await worker(rig, {JobKind.LOOK: Handler()}).drain(DEADLINE)
    done = await stored(rig, job)
    assert (done.status, done.result) == (JobStatus.DONE, {"by": "handler"})


async def test_a_job_that_waits_comes_back_without_cost(rig):
    job = await rig.enqueue()
    handler = Handler(Later(timedelta(minutes=1), "not yet"))
    made = worker(rig, {JobKind.LOOK: handler})
    await made.drain(DEADLINE)
    waiting = await stored(rig, job)
    assert (waiting.status, waiting.attempts, waiting.error) == (JobStatus.QUEUED, 0, "not yet")
    rig.pass_time(minutes=1)
    await made.drain(DEADLINE)
    assert (await stored(rig, job)).status is JobStatus.DONE
    assert len(handler.jobs) == 2


async def test_a_job_that_its_handler_ended_is_left_as_it_is(rig):
    item = await rig.item()
    job = await rig.enqueue(produce(item))

    class Ends(Handler):
        async def __call__(self, job):
            await rig.store.transact(lambda tx: tx.jobs.finish(job, {"by": "itself"}))
            return Settled()

    await worker(rig, {JobKind.PRODUCE: Ends()}).drain(DEADLINE)
    assert (await stored(rig, job)).result == {"by": "itself"}


@pytest.mark.parametrize("error", [KeyError("typo"), Unavailable("down"), TimeoutError("late")], ids=repr)
async def test_a_failure_is_logged_and_tried_again_until_the_attempts_are_spent(rig, logged, error):
    job = await rig.enqueue()
    handler = Handler(*[error] * 9)
    made = worker(rig, {JobKind.LOOK: handler})
    for _ in range(6):
        await made.drain(DEADLINE)
        rig.pass_time(minutes=10)
    failed = await stored(rig, job)
    assert (failed.status, len(handler.jobs)) == (JobStatus.FAILED, 3)
    assert failed.error.startswith(type(error).__name__)
    assert [entry["event"] for entry in logged] == ["job_failed"] * 3
    assert [entry["log_level"] for entry in logged] == ["error"] * 3


async def test_one_failure_does_not_touch_the_other_jobs(rig):
    await rig.enqueue()
    good = await rig.enqueue()
    await worker(rig, {JobKind.LOOK: Handler(KeyError("typo"))}).drain(DEADLINE)
    assert (await stored(rig, good)).status is JobStatus.DONE


async def test_a_lost_race_comes_back_and_costs_nothing(rig):
    job = await rig.enqueue()
    made = worker(rig, {JobKind.LOOK: Handler(*[Conflict("first")] * 5)})
    for _ in range(6):
        await made.drain(DEADLINE)
        rig.pass_time(seconds=1)
    done = await stored(rig, job)
    assert (done.status, done.attempts) == (JobStatus.DONE, 0)


async def test_a_kind_without_a_handler_is_a_failure_of_that_job_alone(rig, logged):
    lost = await rig.enqueue(kind=JobKind.NOTIFY)
    job = await rig.enqueue()
    await worker(rig, {JobKind.LOOK: Handler()}).drain(DEADLINE)
    assert (await stored(rig, job)).status is JobStatus.DONE
    assert (await stored(rig, lost)).attempts == 1
    assert len(logged) == 1


async def test_bugs_are_seen_when_they_are_asked_for(rig):
    await rig.enqueue()
    with pytest.raises(KeyError, match="typo"):
        await worker(rig, {JobKind.LOOK: Handler(KeyError("typo"))}, raise_bugs=True).drain(DEADLINE)


async def test_a_full_lane_of_work_does_not_keep_looks_waiting(rig):
    work, look = Handler(), Handler()
    work.may_end.clear()
    for number in (1, 2):
        await rig.enqueue(produce(await rig.item(number)))
    async with serving(worker(rig, {JobKind.PRODUCE: work, JobKind.LOOK: look})):
        await work.seen(1)
        for _ in range(3):
            await rig.enqueue()
        await look.seen(3)
        assert len(work.jobs) == 1
        work.may_end.set()
        await work.seen(2)


async def test_no_more_work_is_claimed_than_there_are_slots(rig):
    work = Handler()
    work.may_end.clear()
    for number in range(1, 6):
        await rig.enqueue(produce(await rig.item(number)))
    made = worker(rig, {JobKind.PRODUCE: work}, max_concurrency=3)
    async with serving(made):
        await work.seen(3)
        assert made.running == 3
        counts = await rig.store.transact(lambda tx: tx.jobs.counts())
        assert (counts["running"], counts["queued"]) == (3, 2)
        work.may_end.set()
        await work.seen(5)


async def test_full_lanes_of_looks_do_not_keep_work_waiting(rig):
    work, look = Handler(), Handler()
    look.may_end.clear()
    for _ in range(CONTROL_SLOTS + 2):
        await rig.enqueue()
    async with serving(worker(rig, {JobKind.PRODUCE: work, JobKind.LOOK: look})):
        await look.seen(CONTROL_SLOTS)
        await rig.enqueue(produce(await rig.item()))
        await work.seen(1)
        assert len(look.jobs) == CONTROL_SLOTS


async def test_a_stop_leaves_running_jobs_to_the_next_start(rig):
    work = Handler()
    work.may_end.clear()
    job = await rig.enqueue(produce(await rig.item()))
    async with serving(worker(rig, {JobKind.PRODUCE: work})):
        await work.seen(1)
    left = await stored(rig, job)
    assert (left.status, left.attempts, work.cancelled) == (JobStatus.RUNNING, 0, 1)
    rig.kill(rig)
    heir = rig.another(2000)
    assert await heir.queue.requeue_dead() == 1
    again = await heir.queue.claim([JobKind.PRODUCE])
    assert again is not None
    assert (again.id, again.attempts) == (job, 0)


async def test_a_cancelled_worker_passes_the_cancellation_on_and_ends_no_job(rig, logged):
    work = Handler()
    work.may_end.clear()
    job = await rig.enqueue(produce(await rig.item()))
    run = asyncio.create_task(worker(rig, {JobKind.PRODUCE: work}).run())
    await work.seen(1)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert work.cancelled == 1
    assert (await stored(rig, job)).status is JobStatus.RUNNING
    assert logged == []


async def test_nothing_is_claimed_after_a_stop(rig):
    job = await rig.enqueue()
    made = worker(rig, {JobKind.LOOK: Handler()})
    made.stop()
    await asyncio.wait_for(made.run(), 5)
    assert (await stored(rig, job)).status is JobStatus.QUEUED


async def test_a_job_that_was_cancelled_while_it_ran_ends_quietly(rig, logged):
    work = Handler()
    work.may_end.clear()
    item = await rig.item()
    job = await rig.enqueue(produce(item))
    async with serving(worker(rig, {JobKind.PRODUCE: work})) as run:
        await work.seen(1)
        await rig.store.transact(lambda tx: tx.jobs.cancel(item.task_id, [JobKind.PRODUCE]))
        work.may_end.set()
        other = await rig.enqueue(produce(await rig.item(2)))
        await work.seen(2)
        assert not run.done()
    assert (await stored(rig, job)).status is JobStatus.CANCELLED
    assert (await stored(rig, other)).status in {JobStatus.DONE, JobStatus.RUNNING}
    assert logged == []


async def test_a_job_that_somebody_else_took_over_does_not_end_the_worker(rig):
    """A process that was taken for dead and is not: its end of the job is refused, its other jobs go on."""
    work = Handler()
    work.may_end.clear()
    await rig.enqueue(produce(await rig.item()))
    async with serving(worker(rig, {JobKind.PRODUCE: work})) as run:
        await work.seen(1)
        rig.kill(rig)
        heir = rig.another(2000)
        assert await heir.queue.requeue_dead() == 1
        assert await heir.queue.claim([JobKind.PRODUCE]) is not None
        work.may_end.set()
        await rig.enqueue(produce(await rig.item(2)))
        await work.seen(2)
        assert not run.done()


async def test_a_drain_that_does_not_end_says_so(rig):
    work = Handler()
    work.may_end.clear()
    await rig.enqueue(produce(await rig.item()))
    made = worker(rig, {JobKind.PRODUCE: work})
    with pytest.raises(TimeoutError):
        await made.drain(timedelta(milliseconds=100))
    work.may_end.set()
    await made.drain(DEADLINE)
