"""Why an item is where it is, since when, what comes next, who can unblock it: for each kind of waiting."""

from datetime import timedelta

import pytest

from orchestrator.engine.explain import explain
from orchestrator.engine.item_view import board_view, item_view
from orchestrator.errors import BadInput
from orchestrator.pipeline.decisions import Policy
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.items import Waiter
from orchestrator.pipeline.stages import Stage
from orchestrator.pipeline.verdicts import Inconclusive
from orchestrator.testing import failing
from tests.unit.engine.bench import PROJECT, UNAPPROVED, waits_at

HOUR = timedelta(hours=1)


async def explained(engine, ident="SHOP-1"):
    return explain(await engine.case(ident), engine.policy)


async def gate_lines(engine):
    return {line.gate: (line.answer, line.detail) for line in (await explained(engine)).gates}


async def test_an_item_in_line_says_for_whom_it_waits(engine):
    waits_at(engine, GateName.CI_GREEN)
    await engine.start()
    await engine.settle()
    await engine.start()
    await engine.settle()
    said = await explained(engine, "SHOP-2")
    assert "SHOP-1" in said.why
    assert (said.waits_for, said.who_can_unblock) == (Waiter.ITEM, "nobody has to")
    assert said.next.startswith("stage analysis")


async def test_an_item_that_depends_on_another_names_it(engine):
    waits_at(engine, GateName.CI_GREEN)
    await engine.start()
    await engine.start(blocked_by=["SHOP-1"])
    said = await explained(engine, "SHOP-2")
    assert (said.why, said.waits_for) == ("blocked by SHOP-1", Waiter.ITEM)


async def test_an_item_of_a_frozen_project_names_the_reason_and_the_operator(engine):
    await engine.desk.freeze(PROJECT, "release")
    await engine.start()
    said = await explained(engine)
    assert "release" in said.why
    assert (said.waits_for, said.who_can_unblock) == (Waiter.PERSON, "an operator")


async def test_work_under_way_names_the_worker_and_its_beginning(engine):
    waits_at(engine, GateName.ANALYSIS_COMPLETE)
    await engine.start()
    await engine.door.look((await engine.item()).task_id, "test")
    began = engine.clock.now()
    engine.clock.advance(HOUR)
    said = await explained(engine)
    assert said.why == "analyst is at work"
    assert (said.waits_for, said.since) == (Waiter.WORK, began)
    assert said.next == "stage architecture after check_analysis_complete, check_analysis_approved"
    assert await gate_lines(engine) == {
        GateName.ANALYSIS_COMPLETE: ("not asked", ""),
        GateName.ANALYSIS_APPROVED: ("not asked", ""),
    }


async def test_a_gate_that_does_not_know_yet_is_named_with_its_doubt(engine):
    item = await engine.placed(Stage.DEVELOPMENT)
    engine.gates.always(GateName.CI_GREEN, Inconclusive("two jobs are pending", HOUR))
    await engine.door.look(item.task_id, "test")
    said = await explained(engine)
    assert (said.why, said.waits_for) == ("check_ci_green: two jobs are pending", Waiter.TIME)
    assert await gate_lines(engine) == {GateName.CI_GREEN: ("inconclusive", "two jobs are pending")}


async def test_an_analysis_that_waits_for_approval_says_so(engine):
    item = await engine.placed(Stage.ANALYSIS)
    engine.gates.always(GateName.ANALYSIS_APPROVED, UNAPPROVED)
    await engine.door.look(item.task_id, "test")
    said = await explained(engine)
    assert (said.why, said.waits_for) == (UNAPPROVED.reason, Waiter.PERSON)
    assert said.who_can_unblock


async def test_a_merged_item_says_which_commit_may_be_confirmed(engine):
    item = await engine.placed(Stage.DEPLOY_STAGING)
    await engine.door.look(item.task_id, "test")
    merged = (await engine.item()).merged
    said = await explained(engine)
    assert merged[:10] in said.why
    assert said.waits_for == Waiter.PERSON
    assert "confirm-deploy" in said.who_can_unblock
    assert said.next == "stage done after check_deploy_status"


async def test_a_hold_says_why_since_when_and_who_can_end_it(engine):
    item = await engine.placed(Stage.REVIEW)
    engine.clock.advance(HOUR)
    engine.gates.always(GateName.REVIEWER_VERDICT, Inconclusive("the file is broken", None))
    await engine.door.look(item.task_id, "test")
    held = engine.clock.now()
    engine.clock.advance(HOUR)
    said = await explained(engine)
    assert "the file is broken" in said.why
    assert (said.since, said.waits_for) == (held, Waiter.PERSON)
    assert "orch item retry" in said.who_can_unblock
    assert said.next == "work in review begins again after a retry"


async def test_rounds_are_counted_against_the_cap(engine):
    item = await engine.placed(Stage.REVIEW)
    engine.gates.always(GateName.REVIEWER_VERDICT, failing("P0: count"))
    await engine.door.look(item.task_id, "test")
    said = await explained(engine)
    assert (said.stage, said.round, said.rounds_left) == (Stage.DEVELOPMENT, 2, 2)


async def test_an_answer_for_other_code_is_shown_as_stale(engine):
    item = await engine.placed(Stage.DEPLOY_STAGING)
    waits_at(engine, GateName.SECURITY)
    await engine.door.look(item.task_id, "test")
    assert (await gate_lines(engine))[GateName.STAGING_STATUS] == ("passed", "script")
    engine.workspace.push(PROJECT, item.branch, {"app.py": "two\n"})
    await engine.door.look(item.task_id, "test")
    lines = await gate_lines(engine)
    assert lines[GateName.STAGING_STATUS][0] == "stale"
    assert lines[GateName.COVERAGE][0] == "not asked"


async def test_an_item_at_the_end_of_its_road_waits_for_nothing(engine):
    item = await engine.placed(Stage.REVIEW)
    await engine.desk.stop(item.id, by="ada")
    said = await explained(engine)
    assert (said.next, said.waits_for, said.who_can_unblock) == ("nothing", "", "")
    assert said.gates == ()


@pytest.mark.parametrize("stage", [stage for stage in Stage if stage not in (Stage.DONE, Stage.CANCELLED)])
async def test_there_is_an_answer_to_every_question_in_every_stage(engine, stage):
    if stage is Stage.CREATED:
        await engine.start()
    else:
        await engine.placed(stage)
    said = await explained(engine)
    assert all((said.why, said.next, said.waits_for, said.who_can_unblock, said.since))


# The item as scripts read it.


async def view(engine, ident="SHOP-1"):
    now = engine.clock.now()
    return await engine.store.transact(lambda tx: item_view(tx, ident, Policy(), now))


async def test_the_view_of_an_item_carries_what_scripts_rely_on(engine):
    waits_at(engine, GateName.TESTS_PASSED)
    engine.gates.then(GateName.REVIEWER_VERDICT, [failing("P0: count", reason="REQUEST_CHANGES")])
    await engine.start()
    await engine.settle()
    shown = await view(engine, "shop-1")
    item = await engine.item()
    promised = "work_item title project stage hold round branch head pull_request verdicts timeline runs cost"
    assert set(promised.split()) <= shown.keys()
    assert (shown["stage"], shown["round"], shown["head"], shown["hold"]) == ("testing", 2, item.head, None)
    assert [(r["gate"], r["findings"]) for r in shown["rounds"]] == [
        (GateName.REVIEWER_VERDICT, ["P0: count"])
    ]
    kinds = [row["kind"] for row in shown["timeline"]]
    assert (kinds[0], kinds.count("send_back"), kinds.count("advance")) == ("created", 1, 6)
    assert [row["at"] for row in shown["timeline"]] == sorted(row["at"] for row in shown["timeline"])
    refused = [row for row in shown["verdicts"] if row["answer"] == "failed"]
    assert [(row["gate"], row["reason"], row["epoch"]) for row in refused] == [
        (GateName.REVIEWER_VERDICT, "REQUEST_CHANGES", 1)
    ]


async def test_a_hold_is_shown_with_its_reason_and_who_can_end_it(engine):
    await engine.start("x" * 81)
    hold = (await view(engine))["hold"]
    assert {"reason", "since", "who_can_unblock"} <= hold.keys()
    assert "80" in hold["reason"]


async def test_an_unknown_item_is_explained_to_the_person(engine):
    with pytest.raises(BadInput, match="SHOP-404"):
        await view(engine, "shop-404")


async def test_the_board_shows_every_item_newest_first(engine):
    for _ in range(3):
        await engine.start()
    now = engine.clock.now()
    cards = await engine.store.transact(lambda tx: board_view(tx, Policy(), now))
    assert [card["work_item"] for card in cards] == ["SHOP-3", "SHOP-2", "SHOP-1"]
    assert await engine.store.transact(lambda tx: board_view(tx, Policy(), now, "bank")) == []
