"""Who may start: one item of a project at a time, in the order of intake; freezes and dependencies."""

from datetime import timedelta

import pytest

from orchestrator.config.projects import make_project
from orchestrator.errors import BadInput, Rejected
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.stages import Stage
from orchestrator.pipeline.verdicts import FailureClass, Inconclusive
from orchestrator.ports.producer import GaveUp
from orchestrator.ports.queue import JobKind
from orchestrator.testing import passing
from tests.unit.engine.bench import PROJECT, UNAPPROVED, waits_at


async def stages(engine):
    items = await engine.store.transact(lambda tx: tx.items.all())
    return {item.id: item.stage for item in items}


async def test_items_of_a_project_are_worked_on_one_after_the_other_in_the_order_of_intake(engine):
    waits_at(engine, GateName.CI_GREEN)
    for _ in range(3):
        await engine.start()
    await engine.settle()
    assert await stages(engine) == {
        "SHOP-1": Stage.DEVELOPMENT,
        "SHOP-2": Stage.CREATED,
        "SHOP-3": Stage.CREATED,
    }
    engine.gates.always(GateName.CI_GREEN, passing)
    waits_at(engine, GateName.REVIEWER_VERDICT)
    await engine.desk.stop("SHOP-1", by="ada")
    await engine.settle()
    assert await stages(engine) == {
        "SHOP-1": Stage.CANCELLED,
        "SHOP-2": Stage.REVIEW,
        "SHOP-3": Stage.CREATED,
    }


async def test_the_order_of_the_looks_does_not_decide_who_is_first(engine):
    waits_at(engine, GateName.CI_GREEN)
    first, second = await engine.start(), await engine.start()
    await engine.door.look(second.task_id, "test")
    assert await stages(engine) == {"SHOP-1": Stage.CREATED, "SHOP-2": Stage.CREATED}
    await engine.door.look(first.task_id, "test")
    await engine.settle()
    assert (await stages(engine))["SHOP-1"] is Stage.DEVELOPMENT


async def test_an_item_on_hold_does_not_keep_the_place(engine):
    engine.gates.then(GateName.CI_GREEN, [Inconclusive("broken", None)])
    waits_at(engine, GateName.REVIEWER_VERDICT)
    await engine.start()
    await engine.start()
    await engine.settle()
    assert await stages(engine) == {"SHOP-1": Stage.DEVELOPMENT, "SHOP-2": Stage.REVIEW}


async def test_an_item_whose_work_failed_does_not_keep_the_place(engine):
    waits_at(engine, GateName.REVIEWER_VERDICT)
    engine.producer.then(GaveUp("no login", FailureClass.ENVIRONMENT, retryable=False))
    await engine.start()
    await engine.start()
    await engine.settle()
    assert await stages(engine) == {"SHOP-1": Stage.ANALYSIS, "SHOP-2": Stage.REVIEW}


async def test_an_analysis_that_waits_for_a_person_does_not_keep_the_place(engine):
    engine.gates.then(GateName.ANALYSIS_APPROVED, [UNAPPROVED])
    waits_at(engine, GateName.REVIEWER_VERDICT)
    await engine.start()
    await engine.start()
    await engine.settle()
    assert await stages(engine) == {"SHOP-1": Stage.ANALYSIS, "SHOP-2": Stage.REVIEW}


async def test_an_item_that_waits_for_the_confirm_does_not_keep_the_place(engine):
    await engine.start()
    await engine.start()
    await engine.settle()
    assert await stages(engine) == {"SHOP-1": Stage.DEPLOY, "SHOP-2": Stage.DEPLOY}
    assert [a.item.id for a in engine.producer.assignments] == ["SHOP-1"] * 6 + ["SHOP-2"] * 6


async def test_items_of_another_project_do_not_wait(engine):
    bank = make_project({"name": "bank", "prefix": "BANK", "repo_url": "/srv/bank"})
    await engine.projects.put(bank, (0, 0))
    engine.workspace.create("bank", {"app.py": "one\n"})
    engine.tracker.create_project("bank", "BANK")
    waits_at(engine, GateName.ANALYSIS_COMPLETE)
    await engine.start()
    await engine.desk.file_item("bank", "Count money", by="ada")
    await engine.settle()
    assert await stages(engine) == {"SHOP-1": Stage.ANALYSIS, "BANK-1": Stage.ANALYSIS}


async def test_a_frozen_project_starts_nothing_until_it_is_thawed(engine):
    waits_at(engine, GateName.ANALYSIS_COMPLETE)
    await engine.desk.freeze(PROJECT, "release")
    await engine.start()
    served = await engine.settle()
    assert (await engine.item()).stage is Stage.CREATED
    assert served < 20
    await engine.desk.freeze(PROJECT, None)
    await engine.settle()
    assert (await engine.item()).stage is Stage.ANALYSIS


async def test_a_freeze_does_not_stop_what_is_under_way(engine):
    waits_at(engine, GateName.REVIEWER_VERDICT)
    await engine.start()
    await engine.settle(JobKind.LOOK)
    await engine.desk.freeze(PROJECT, "release")
    await engine.settle()
    assert (await engine.item()).stage is Stage.REVIEW


async def test_an_item_waits_for_those_it_depends_on_and_lets_others_go_first(engine):
    waits_at(engine, GateName.CI_GREEN)
    await engine.start()
    await engine.settle()
    await engine.start(blocked_by=["SHOP-1"])
    await engine.start()
    engine.gates.always(GateName.CI_GREEN, Inconclusive("broken", None))
    await engine.pass_time(timedelta(hours=1))
    after = await stages(engine)
    assert (after["SHOP-2"], after["SHOP-3"]) == (Stage.CREATED, Stage.DEVELOPMENT)
    engine.gates.always(GateName.CI_GREEN, passing)
    waits_at(engine, GateName.REVIEWER_VERDICT)
    await engine.desk.stop("SHOP-3", by="ada")
    await engine.desk.stop("SHOP-1", by="ada")
    await engine.settle()
    assert (await stages(engine))["SHOP-2"] is Stage.REVIEW


async def test_a_dependency_on_an_unknown_item_is_refused(engine):
    await engine.tracker.file(PROJECT, "Elsewhere", author="ada")
    with pytest.raises(BadInput, match="SHOP-1"):
        await engine.start(blocked_by=["SHOP-1"])
    assert await engine.store.transact(lambda tx: tx.items.all()) == []


async def test_a_cycle_of_dependencies_is_refused_with_its_name(engine):
    waits_at(engine, GateName.ANALYSIS_COMPLETE)
    first = await engine.start()
    second = await engine.start(blocked_by=["SHOP-1"])
    with pytest.raises(Rejected, match="SHOP-1 → SHOP-2 → SHOP-1"):
        await engine.store.transact(lambda tx: tx.items.depend(first.task_id, second.task_id))
