"""The door with real transactions and leases: which answers open it, and what its decisions cause."""

import asyncio
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from orchestrator.engine.evaluation import LATER, SOON
from orchestrator.errors import Conflict, Malformed, Rejected, Unavailable
from orchestrator.pipeline.decisions import Advance, PutOnHold, Rest, SendBack, StartWork, Wait
from orchestrator.pipeline.gates import EXIT_GATES, GateName
from orchestrator.pipeline.ids import CodeId, Epoch
from orchestrator.pipeline.items import Waiter, WorkItem
from orchestrator.pipeline.stages import TERMINAL, WORKING, Role, Stage, next_stage
from orchestrator.pipeline.verdicts import Evidence, Failed, FailureClass, Inconclusive, Passed, Verdict
from orchestrator.ports.merging import NotMerged
from orchestrator.ports.queue import JobKind
from orchestrator.ports.store import VerdictRow
from orchestrator.testing import failing, passing
from tests.unit.engine.bench import DOUBT, PROJECT, Engine

ELSEWHERE, SEEN = CodeId("other code"), Evidence(source="test")
PLACES = [(stage, gate) for stage in WORKING for gate in EXIT_GATES[stage]]
KINDS = ("passed", "passed elsewhere", "failed", "failed elsewhere", "inconclusive", "missing")
SETTLED = ("passed", "failed")
UNSETTLED = tuple(kind for kind in KINDS if kind not in SETTLED)
ANSWERED = [("passed", "failed"), ("failed", "passed"), *product(UNSETTLED, KINDS[:-1])]


def answers(item: WorkItem) -> dict[str, Any]:
    """The six kinds of answer about the item."""
    code, head = item.code, item.head
    assert code is not None
    assert head is not None
    return {
        "passed": Passed(code, head, SEEN),
        "passed elsewhere": Passed(ELSEWHERE, head, SEEN),
        "failed": Failed(code, head, "it is wrong", findings=("mend it",)),
        "failed elsewhere": Failed(ELSEWHERE, head, "it was wrong"),
        "inconclusive": DOUBT,
        "missing": None,
    }


@pytest.mark.parametrize(("stage", "gate"), PLACES)
async def test_only_an_answer_that_passes_the_present_code_opens_the_door(engine, stage, gate):
    """Six answers that are stored already, five that the gate gives when it is asked; all others pass."""
    for number, (stored, given) in enumerate(ANSWERED, 1):
        item = await engine.placed(stage, number=number)
        known = answers(item)
        engine.gates.always(gate, known[given])
        await keep(engine, item, gate, known[stored])
        decision = await engine.door.look(item.task_id, "test")
        moved = await engine.item(item.id)
        speaks = stored if stored in SETTLED else given
        assert isinstance(decision, Advance) == (speaks == "passed"), (stored, given)
        if speaks == "passed":
            assert moved.stage is next_stage(stage)
        elif speaks == "failed":
            assert moved.epoch == item.epoch + 1
            assert list(Stage).index(moved.stage) <= list(Stage).index(stage), "a refusal never opens"
        else:
            assert (moved.stage, moved.epoch) == (stage, item.epoch)


async def keep(engine: Engine, item: WorkItem, gate: GateName, verdict: Verdict | None) -> None:
    """The gate gave this answer before."""
    if verdict is not None:
        row = VerdictRow(gate, verdict, item.epoch, item.stage, engine.clock.now())
        await engine.store.transact(lambda tx: tx.facts.add_verdict(item.task_id, row))


FAULTS = [
    (Unavailable("it is down"), SOON),
    (Rejected("no such thing"), LATER),
    (Malformed("what is this"), LATER),
    (Conflict("somebody was first"), LATER),
]


@pytest.mark.parametrize(("fault", "pause"), FAULTS, ids=lambda value: type(value).__name__)
async def test_a_neighbours_fault_is_a_doubt_that_is_asked_about_again(engine, fault, pause):
    for number, (stage, gate) in enumerate(PLACES, 1):
        item = await engine.placed(stage, number=number)
        engine.gates.always(gate, fault)
        decision = await engine.door.look(item.task_id, "test")
        assert isinstance(decision, Wait)
        assert (decision.gate, decision.retry_after, decision.waiter) == (gate, pause, Waiter.TIME)
        assert await engine.item(item.id) == item
        (look,) = await engine.jobs(JobKind.LOOK, ident=item.id)
        assert look.available_at == engine.clock.now() + pause
        engine.gates.always(gate, passing)
        assert isinstance(await engine.door.look(item.task_id, "test"), Advance)


@pytest.mark.parametrize("bug", [TimeoutError("late"), KeyError("typo"), asyncio.CancelledError()], ids=repr)
async def test_a_bug_or_a_cancellation_goes_up_and_leaves_the_item_where_it_was(engine, bug):
    for number, (stage, gate) in enumerate(PLACES, 1):
        item = await engine.placed(stage, number=number)
        engine.gates.always(gate, bug)
        with pytest.raises(type(bug)):
            await engine.door.look(item.task_id, "test")
        assert await engine.item(item.id) == item
        assert gate not in (await engine.case(item.id)).verdicts
        assert await engine.jobs(JobKind.LOOK, ident=item.id) == []
        assert await engine.leases.held() == ()
        engine.gates.always(gate, passing)


async def test_gates_are_asked_in_order_until_one_does_not_pass(engine):
    item = await engine.placed(Stage.DEPLOY_STAGING)
    engine.gates.always(GateName.BRANCH_MERGEABLE, DOUBT)
    await engine.door.look(item.task_id, "test")
    asked = [GateName.STAGING_STATUS, GateName.SECURITY, GateName.BRANCH_MERGEABLE]
    assert engine.gates.names_asked() == asked
    await engine.door.look(item.task_id, "test")
    assert engine.gates.names_asked() == [*asked, GateName.BRANCH_MERGEABLE]


async def test_a_gate_sees_what_the_gates_before_it_answered(engine):
    item = await engine.placed(Stage.DEPLOY_STAGING)
    await engine.door.look(item.task_id, "test")
    gate, question = engine.gates.asked[-1]
    assert gate is GateName.STAGING_IMAGE_FRESH
    assert set(question.earlier) == set(EXIT_GATES[Stage.DEPLOY_STAGING]) - {gate}
    assert (question.head.commit, question.work.delivered) == (item.head, item.head)
    assert (question.lease.task_id, question.lease.epoch) == (item.task_id, item.epoch)


@pytest.mark.parametrize("stage", TERMINAL)
async def test_nothing_is_asked_about_an_item_at_the_end_of_its_road(engine, stage):
    item = await engine.placed(Stage.REVIEW)
    await engine.store.transact(lambda tx: tx.items.move(item, to=stage, epoch=item.epoch))
    assert isinstance(await engine.door.look(item.task_id, "test"), Rest)
    assert engine.gates.asked == []


async def test_advancing_orders_the_next_stages_work_for_the_code_that_passed(engine):
    item = await engine.placed(Stage.REVIEW)
    assert await engine.door.look(item.task_id, "test") == Advance(Stage.TESTING, EXIT_GATES[Stage.REVIEW])
    (job,) = await engine.jobs(JobKind.PRODUCE)
    assert (job.stage, job.epoch, job.agent) == (Stage.TESTING, item.epoch, Role.TESTER)
    assert (job.commit, job.code) == (item.head, item.code)
    (move,) = await engine.moves()
    assert (move.from_stage, move.to_stage, move.kind) == (Stage.REVIEW, Stage.TESTING, "advance")
    assert (move.trigger, move.commit, move.epoch) == ("test", item.head, item.epoch)
    assert move.evidence == {GateName.REVIEWER_VERDICT: "passed: script"}


async def test_sending_back_keeps_the_demands_word_for_word_and_raises_the_epoch(engine):
    item = await engine.placed(Stage.REVIEW)
    demands = ("P0: count twice —\n\tsee `app.py:7`", "P1: ёлка")
    engine.gates.always(GateName.REVIEWER_VERDICT, failing(*demands, reason="REQUEST_CHANGES"))
    assert isinstance(await engine.door.look(item.task_id, "test"), SendBack)
    case = await engine.case()
    assert (case.item.stage, case.item.epoch, case.item.branch) == (
        Stage.DEVELOPMENT,
        item.epoch + 1,
        item.branch,
    )
    (round_,) = case.rounds
    assert (round_.findings, round_.reason, round_.link) == (demands, "REQUEST_CHANGES", "report.md")
    assert (round_.number, round_.code, round_.spent) == (1, item.code, True)
    assert (round_.source_gate, round_.role) == (GateName.REVIEWER_VERDICT, Role.DEVELOPER)
    (job,) = await engine.jobs(JobKind.PRODUCE)
    assert (job.stage, job.epoch) == (Stage.DEVELOPMENT, item.epoch + 1)
    (move,) = await engine.moves()
    assert (move.kind, move.to_stage) == ("send_back", Stage.DEVELOPMENT)


async def test_optional_demands_reach_the_round_even_when_the_verdict_was_stored_before(engine):
    item = await engine.placed(Stage.REVIEW)
    verdict = Failed(item.code, item.head, "REQUEST_CHANGES", findings=("must",), optional=("may",))
    await keep(engine, item, GateName.REVIEWER_VERDICT, verdict)
    await engine.door.look(item.task_id, "test")
    (round_,) = (await engine.case()).rounds
    assert (round_.findings, round_.optional) == (("must",), ("may",))


async def test_sending_back_cancels_no_other_items_work(engine):
    other = await engine.placed(Stage.REVIEW, number=2)
    await engine.door.look(other.task_id, "test")
    item = await engine.placed(Stage.TESTING)
    engine.gates.always(GateName.TESTS_PASSED, failing("red"))
    await engine.door.look(item.task_id, "test")
    assert [job.stage for job in await engine.jobs(JobKind.PRODUCE, ident=other.id)] == [Stage.TESTING]


async def test_a_merged_item_that_is_sent_back_gets_a_new_branch_from_the_base(engine):
    item = await engine.placed(Stage.DEPLOY)
    engine.gates.always(GateName.DEPLOY_STATUS, failing("rolled back"))
    assert isinstance(await engine.door.look(item.task_id, "test"), SendBack)
    again = await engine.item()
    assert (again.branch, again.branch_attempt) == ("feature/SHOP-1-count-visits-r2", 2)
    assert (again.merged, again.pull_request) == (None, None)
    await engine.settle(JobKind.PRODUCE)
    (assignment,) = engine.producer.assignments
    assert assignment.branch.name == again.branch
    assert assignment.started_at == item.merged


async def test_an_item_goes_from_staging_to_deploy_by_the_merge(engine):
    item = await engine.placed(Stage.DEPLOY_STAGING)
    assert isinstance(await engine.door.look(item.task_id, "test"), Advance)
    moved = await engine.item()
    pull = await engine.forge.pull_request(PROJECT, item.pull_request)
    assert (moved.stage, moved.merged) == (Stage.DEPLOY, pull.merged_as)
    assert [merged.id for merged in engine.merger.merged] == [item.id]
    assert (await engine.moves())[-1].commit == moved.merged
    assert await engine.jobs(JobKind.PRODUCE) == []


async def test_what_was_not_merged_does_not_leave_staging_and_is_asked_about_again(engine):
    item = await engine.placed(Stage.DEPLOY_STAGING)
    engine.merger.answers = [NotMerged("the base moved")]
    decision = await engine.door.look(item.task_id, "test")
    assert isinstance(decision, Wait)
    assert (await engine.item()).stage is Stage.DEPLOY_STAGING
    assert isinstance(await engine.door.look(item.task_id, "test"), Advance)
    assert engine.gates.names_asked().count(GateName.BRANCH_MERGEABLE) == 2


async def test_a_merge_that_never_comes_about_calls_a_person_in_the_end(engine):
    item = await engine.placed(Stage.DEPLOY_STAGING)
    engine.merger.answers = [NotMerged("the pull request is closed")] * 99
    for _ in range(20):
        await engine.door.look(item.task_id, "test")
        engine.clock.advance(timedelta(minutes=10))
    case = await engine.case()
    assert case.item.stage is Stage.DEPLOY_STAGING
    assert case.hold is not None
    assert "the pull request is closed" in case.hold.reason


@pytest.mark.parametrize("answer", [failing("no"), Inconclusive("broken", None)], ids=["failed", "hold"])
async def test_the_merge_lease_is_let_go_when_the_item_leaves_the_edge(engine, answer):
    item = await engine.placed(Stage.DEPLOY_STAGING)
    engine.gates.always(GateName.COVERAGE, answer)
    await engine.door.look(item.task_id, "test")
    assert [left.id for left in engine.merger.let_go_of] == [item.id]


async def test_the_merge_lease_is_kept_while_the_item_waits_on_the_edge(engine):
    item = await engine.placed(Stage.DEPLOY_STAGING)
    engine.gates.always(GateName.COVERAGE, DOUBT)
    await engine.door.look(item.task_id, "test")
    assert engine.merger.let_go_of == []


async def test_code_that_moved_after_the_work_makes_the_work_begin_again(engine):
    item = await engine.placed(Stage.TESTING)
    head = engine.workspace.push(PROJECT, item.branch, {"app.py": "two\n"})
    assert isinstance(await engine.door.look(item.task_id, "test"), StartWork)
    assert engine.gates.asked == []
    (job,) = await engine.jobs(JobKind.PRODUCE)
    assert (job.stage, job.epoch, job.commit) == (Stage.TESTING, item.epoch, head)


async def test_the_same_doubt_again_is_stored_once_and_its_age_counts(engine: Engine):
    item = await engine.placed(Stage.DEVELOPMENT)
    engine.gates.always(GateName.CI_GREEN, Inconclusive("pending", timedelta(minutes=30)))
    for _ in range(4):
        assert isinstance(await engine.door.look(item.task_id, "test"), Wait)
        engine.clock.advance(timedelta(minutes=30))
    rows = await engine.store.transact(lambda tx: tx.facts.verdicts(item.task_id))
    assert len(rows) == 1
    engine.clock.advance(timedelta(minutes=1))
    decision = await engine.door.look(item.task_id, "test")
    assert isinstance(decision, PutOnHold)
    assert decision.failure is FailureClass.ENVIRONMENT


async def test_a_contract_that_cannot_be_used_is_a_hold_that_names_the_place(engine):
    item = await engine.placed(Stage.REVIEW)
    engine.workspace.push(PROJECT, "main", {".orchestrator.yml": "tset: {}\n"})
    decision = await engine.door.look(item.task_id, "test")
    assert isinstance(decision, PutOnHold)
    assert ".orchestrator.yml:1" in decision.reason
    assert engine.gates.asked == []


async def test_a_gate_that_moves_the_branch_makes_the_look_begin_again(engine):
    item = await engine.placed(Stage.DEPLOY_STAGING)

    async def rebases(question):
        if question.item.code == item.code:
            engine.workspace.push(PROJECT, item.branch, {"app.py": "rebased\n"})
        return await passing(question)

    engine.gates.always(GateName.BRANCH_MERGEABLE, rebases)
    assert isinstance(await engine.door.look(item.task_id, "test"), StartWork)
    moved = await engine.item()
    assert moved.stage is Stage.DEPLOY_STAGING
    assert moved.code != item.code
    assert engine.merger.merged == []


async def test_an_item_in_epoch_two_is_not_judged_by_the_answers_of_epoch_one(engine):
    item = await engine.placed(Stage.REVIEW)
    await keep(engine, item, GateName.REVIEWER_VERDICT, answers(item)["passed"])
    later = await engine.store.transact(
        lambda tx: tx.items.move(item, to=item.stage, epoch=Epoch(item.epoch + 1))
    )
    await engine.deliver(later)
    engine.gates.always(GateName.REVIEWER_VERDICT, DOUBT)
    assert isinstance(await engine.door.look(item.task_id, "test"), Wait)
