"""What happens while the door looks: whoever was first wins, and the loser leaves nothing behind."""

import asyncio
from datetime import timedelta

import pytest

from orchestrator.errors import Conflict
from orchestrator.pipeline.commands import HoldItem
from orchestrator.pipeline.decisions import Advance, Rest
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.stages import Stage
from orchestrator.pipeline.verdicts import Inconclusive
from orchestrator.ports.queue import Done, JobKind, JobStatus, Later
from orchestrator.testing import failing, passing
from tests.unit.engine.bench import DOUBT, PROJECT, second

DECISIONS = {
    "advance": passing,
    "send back": failing("mend it"),
    "hold": Inconclusive("broken", None),
    "wait": DOUBT,
}


class Barrier:
    """A gate that does not answer before it is let go."""

    def __init__(self, answer=passing) -> None:
        self.reached, self.released = asyncio.Event(), asyncio.Event()
        self._answer = answer

    async def __call__(self, question):
        self.reached.set()
        await self.released.wait()
        return await self._answer(question) if callable(self._answer) else self._answer


async def looked(engine, item):
    try:
        return await engine.door.look(item.task_id, "test")
    except Conflict as error:
        return error


async def look_while(engine, item, gate, answer, act):
    """What a look comes to when ``act`` happens while ``gate`` is being asked."""
    barrier = Barrier(answer)
    engine.gates.always(gate, barrier)
    look = asyncio.create_task(looked(engine, item))
    await asyncio.wait_for(barrier.reached.wait(), 5)
    await act()
    barrier.released.set()
    return await look


@pytest.mark.parametrize("answer", DECISIONS.values(), ids=DECISIONS.keys())
async def test_a_stop_while_gates_run_wins_and_nothing_of_the_look_is_kept(engine, answer):
    item = await engine.placed(Stage.REVIEW)

    async def stop():
        await engine.desk.stop(item.id, by="ada")

    outcome = await look_while(engine, item, GateName.REVIEWER_VERDICT, answer, stop)
    assert isinstance(outcome, Conflict | Rest)
    case = await engine.case()
    assert (case.item.stage, case.item.epoch) == (Stage.CANCELLED, item.epoch + 1)
    assert (case.hold, case.rounds) == (None, ())
    assert [move.kind for move in await engine.moves()] == ["stop"]
    assert await engine.jobs(JobKind.PRODUCE) == []
    assert await engine.jobs(JobKind.NOTIFY) == []


@pytest.mark.parametrize("answer", DECISIONS.values(), ids=DECISIONS.keys())
async def test_a_retry_while_gates_run_wins_and_the_item_is_not_on_hold_again(engine, answer):
    item = await engine.placed(Stage.REVIEW)

    async def hold_and_retry():
        await hold(engine, item)
        await engine.desk.retry(item.id, by="ada")

    await look_while(engine, item, GateName.REVIEWER_VERDICT, answer, hold_and_retry)
    case = await engine.case()
    assert (case.item.stage, case.item.epoch) == (Stage.REVIEW, item.epoch + 1)
    assert (case.hold, case.rounds) == (None, ())
    assert [move.kind for move in await engine.moves()] == ["retry"]


async def hold(engine, item):
    command = HoldItem(item.id, by="ada", reason="let me look")
    await engine.intake.accept(command, source="ada", content_key=f"hold:{item.id}")


@pytest.mark.parametrize(
    ("stage", "gate"),
    [
        (Stage.REVIEW, GateName.REVIEWER_VERDICT),
        (Stage.DEPLOY_STAGING, GateName.COVERAGE),
    ],
)
async def test_a_person_who_holds_the_item_while_gates_run_stops_it_where_it_is(engine, stage, gate):
    item = await engine.placed(stage)
    await look_while(engine, item, gate, passing, lambda: hold(engine, item))
    case = await engine.case()
    assert case.item.stage is stage
    assert case.hold is not None
    assert case.hold.reason == "let me look"
    assert engine.merger.merged == []


async def test_code_that_is_pushed_while_gates_run_is_not_let_through(engine):
    item = await engine.placed(Stage.REVIEW)

    async def push():
        engine.workspace.push(PROJECT, item.branch, {"app.py": "unseen\n"})

    await look_while(engine, item, GateName.REVIEWER_VERDICT, passing, push)
    assert (await engine.item()).stage is Stage.REVIEW
    (job,) = await engine.jobs(JobKind.PRODUCE)
    assert job.stage is Stage.REVIEW


async def test_a_document_that_is_committed_while_gates_run_changes_nothing(engine):
    item = await engine.placed(Stage.REVIEW)

    async def push():
        engine.workspace.push(PROJECT, item.branch, {"docs/work-items/SHOP-1/12-review.md": "fine\n"})

    assert isinstance(await look_while(engine, item, GateName.REVIEWER_VERDICT, passing, push), Advance)


async def test_two_doors_of_one_process_make_one_transition(engine):
    item = await engine.placed(Stage.REVIEW)
    barrier = Barrier()
    engine.gates.then(GateName.REVIEWER_VERDICT, [barrier])
    first = asyncio.create_task(looked(engine, item))
    await asyncio.wait_for(barrier.reached.wait(), 5)
    assert isinstance(await looked(engine, item), Conflict)
    barrier.released.set()
    assert isinstance(await first, Advance)
    assert len(await engine.moves()) == 1
    assert len(await engine.jobs(JobKind.PRODUCE)) == 1


async def test_doors_of_two_processes_make_one_transition(engine):
    other = second(engine)
    item = await engine.placed(Stage.REVIEW)
    barrier = Barrier()
    engine.gates.then(GateName.REVIEWER_VERDICT, [barrier])
    first = asyncio.create_task(looked(engine, item))
    await asyncio.wait_for(barrier.reached.wait(), 5)
    assert isinstance(await looked(other, item), Conflict)
    barrier.released.set()
    assert isinstance(await first, Advance)
    assert [move.to_stage for move in await engine.moves()] == [Stage.TESTING]


async def test_many_looks_at_once_make_one_transition_each_stage(engine):
    item = await engine.placed(Stage.REVIEW)
    outcomes = await asyncio.gather(*(looked(engine, item) for _ in range(8)))
    assert sum(isinstance(outcome, Advance) for outcome in outcomes) == 1
    assert len(await engine.moves()) == 1
    assert len(await engine.jobs(JobKind.PRODUCE)) == 1


async def test_a_process_that_lost_its_lease_and_the_race_leaves_no_job(engine):
    """The first process is taken for dead while it asks its gates; the second one moves the item on."""
    other = second(engine)
    item = await engine.placed(Stage.REVIEW)
    barrier = Barrier()
    engine.gates.then(GateName.REVIEWER_VERDICT, [barrier])
    first = asyncio.create_task(looked(engine, item))
    await asyncio.wait_for(barrier.reached.wait(), 5)
    await other.leases.release(item.task_id)
    assert isinstance(await looked(other, item), Advance)
    after = await engine.jobs(JobKind.PRODUCE)
    barrier.released.set()
    assert isinstance(await first, Conflict)
    assert await engine.jobs(JobKind.PRODUCE) == after
    assert len(await engine.moves()) == 1


async def test_a_look_that_meets_another_one_comes_back_soon_and_costs_nothing(engine):
    item = await engine.placed(Stage.REVIEW)
    barrier = Barrier()
    engine.gates.then(GateName.REVIEWER_VERDICT, [barrier])
    first = asyncio.create_task(looked(engine, item))
    await asyncio.wait_for(barrier.reached.wait(), 5)
    await engine.recovery.on_start()
    job = await engine.queue.claim([JobKind.LOOK])
    ending = await engine.dispatch.look(job)
    assert isinstance(ending, Later)
    assert ending.after <= timedelta(seconds=1)
    await engine.queue.retry(job, after=ending.after, error=ending.reason, spend=False)
    barrier.released.set()
    await first
    engine.clock.advance(ending.after)
    again = await engine.queue.claim([JobKind.LOOK])
    assert (again.id, again.attempts) == (job.id, 0)
    assert isinstance(await engine.dispatch.look(again), Done)


async def test_a_cancelled_look_gives_its_lease_back(engine):
    item = await engine.placed(Stage.REVIEW)
    barrier = Barrier()
    engine.gates.then(GateName.REVIEWER_VERDICT, [barrier])
    look = asyncio.create_task(engine.door.look(item.task_id, "test"))
    await asyncio.wait_for(barrier.reached.wait(), 5)
    look.cancel()
    with pytest.raises(asyncio.CancelledError):
        await look
    assert await engine.item() == item
    assert await engine.leases.held() == ()
    assert isinstance(await engine.door.look(item.task_id, "test"), Advance)


async def test_a_stop_during_the_work_makes_its_delivery_count_for_nothing(engine):
    item = await engine.start()
    engine.gates.always(GateName.CI_GREEN, DOUBT)
    engine.gates.always(GateName.ANALYSIS_APPROVED, passing)

    async def stopped_meanwhile(assignment):
        if assignment.stage is Stage.DEVELOPMENT:
            await engine.desk.stop(item.id, by="ada")
        return await engine.producer.deliver(assignment)

    engine.producer.then(stopped_meanwhile, stopped_meanwhile, stopped_meanwhile)
    await engine.settle()
    stopped = await engine.item()
    assert stopped.stage is Stage.CANCELLED
    assert (await engine.moves())[-1].kind == "stop"
    work = (await engine.jobs(JobKind.PRODUCE, open_only=False))[-1]
    assert (work.status, work.result) == (JobStatus.CANCELLED, {})
    assert stopped.pull_request is None
    assert engine.forge.pulls(PROJECT) == []
