"""Runs, events, projects: one run for an attempt, one event for a cause, one state for a project."""

from dataclasses import replace
from datetime import timedelta

import pytest

from orchestrator.errors import Conflict, Rejected
from orchestrator.pipeline.budgets import Bound, Ceiling
from orchestrator.pipeline.ids import Commit, RunId
from orchestrator.ports.agent import Usage
from orchestrator.ports.queue import JobKind
from orchestrator.ports.store import NewRun
from tests.unit.store import rigs

BEFORE, AFTER = Commit("a" * 40), Commit("b" * 40)
LAUNCH = NewRun(role="developer", model="m-1", effort="high", log_path="runs/1/log", start_commit=BEFORE)


@pytest.fixture(params=rigs.DATABASES)
def rig(request, tmp_path):
    with rigs.opened(request.param, tmp_path) as rig:
        yield rig


async def claimed(rig, item):
    await rig.enqueue(rigs.produce(item))
    return await rig.queue.claim([JobKind.PRODUCE])


async def start(rig, job, commit=BEFORE, **launch):
    new = replace(LAUNCH, start_commit=commit, **launch)
    return await rig.store.transact(lambda tx: tx.runs.start(job, new))


async def test_an_attempt_has_one_run_with_the_stamp_that_it_started_with(rig):
    job = await claimed(rig, await rig.item())
    first = await start(rig, job, ceiling=Ceiling(turns=Bound(9, "the run budget")))
    assert (first.start_commit, first.ceiling) == (BEFORE, Ceiling(turns=Bound(9.0, "the run budget")))
    assert await start(rig, job, AFTER) == first
    assert await rig.store.transact(lambda tx: (tx.runs.resume(job), tx.runs.stamped(first.id))) == (
        first,
        first,
    )


async def test_a_job_that_is_found_after_a_crash_is_the_same_attempt(rig):
    other, item = rig.another(2000), await rig.item()
    await rig.enqueue(rigs.produce(item))
    first = await start(other, await other.queue.claim([JobKind.PRODUCE]))
    rig.kill(other)
    await rig.queue.requeue_dead()
    again = await rig.queue.claim([JobKind.PRODUCE])
    assert await rig.store.transact(lambda tx: tx.runs.resume(again)) == first
    assert await start(rig, again, AFTER) == first


@pytest.mark.parametrize("spend", [True, False])
async def test_a_job_that_is_put_back_gets_a_new_run_and_the_one_left_open_is_lost(rig, spend):
    job = await claimed(rig, item := await rig.item())
    first = await start(rig, job)
    await rig.queue.retry(job, after=timedelta(), error="", spend=spend)
    job = await rig.queue.claim([JobKind.PRODUCE])
    assert await rig.store.transact(lambda tx: tx.runs.resume(job)) is None
    again = await start(rig, job, AFTER)
    assert (again.id != first.id, again.start_commit) == (True, AFTER)
    runs = await rig.store.transact(lambda tx: tx.runs.of_item(item.task_id))
    assert [(run.outcome, run.finished_at) for run in runs] == [("lost", rigs.START), ("", None)]


async def test_an_unknown_run_has_no_stamp(rig):
    assert await rig.store.transact(lambda tx: tx.runs.stamped(RunId(5))) is None


async def test_a_run_needs_an_item(rig):
    await rig.enqueue()
    with pytest.raises(Rejected, match="no work item"):
        await start(rig, await rig.queue.claim([JobKind.LOOK]))


async def test_a_run_is_settled_once(rig):
    item = await rig.item()
    run_id = (await start(rig, await claimed(rig, item), cli="claude", cli_version="2.1")).id
    rig.pass_time(seconds=90)
    usage = Usage(10_000_000_000, 20, 0.25, cache_read_tokens=10_000_000_000, cache_write_tokens=7)
    end = {"exit_code": 0, "outcome": "finished", "usage": usage}
    await rig.store.transact(lambda tx: tx.runs.end(run_id, **end))
    rig.pass_time(seconds=90)
    await rig.store.transact(lambda tx: tx.runs.end(run_id, exit_code=1, outcome="failed", usage=Usage()))
    (view,) = await rig.store.transact(lambda tx: tx.runs.of_item(item.task_id))
    assert await rig.store.transact(lambda tx: tx.runs.get(run_id)) == view
    assert await rig.store.transact(lambda tx: tx.runs.get(RunId(run_id + 1))) is None
    assert (view.exit_code, view.outcome, view.usage) == (0, "finished", usage)
    assert view.finished_at - view.started_at == timedelta(seconds=90)
    assert (view.role, view.stage, view.model, view.effort) == ("developer", "created", "m-1", "high")
    assert (view.cli, view.cli_version) == ("claude", "2.1")


async def test_the_end_of_an_unknown_run_changes_nothing(rig):
    before = rig.store.version()
    await rig.store.transact(lambda tx: tx.runs.end(RunId(5), exit_code=0, outcome="", usage=Usage()))
    assert rig.store.version() == before


async def noted(rig, run_id, usage):
    await rig.store.transact(lambda tx: tx.runs.note_usage(run_id, usage))


async def usage_of(rig, item):
    (view,) = await rig.store.transact(lambda tx: tx.runs.of_item(item.task_id))
    return view.usage


async def test_what_a_run_consumes_on_its_way_is_noted_and_never_lowered(rig):
    run_id = (await start(rig, await claimed(rig, item := await rig.item()))).id
    await noted(rig, run_id, Usage(100, 10, 0.5, 40, 4))
    await noted(rig, run_id, Usage(90, 20, 0.25, 50, 0))
    assert await usage_of(rig, item) == Usage(100, 20, 0.5, 50, 4)


async def test_the_figures_of_the_end_win_even_when_they_are_lower(rig):
    run_id = (await start(rig, await claimed(rig, item := await rig.item()))).id
    await noted(rig, run_id, Usage(100, 10, 0.5))
    settled = Usage(80, 10, 0.4)
    await rig.store.transact(lambda tx: tx.runs.end(run_id, exit_code=0, outcome="finished", usage=settled))
    await noted(rig, run_id, Usage(100, 10, 0.5))
    assert await usage_of(rig, item) == settled


async def test_a_run_that_ends_without_figures_keeps_what_was_noted(rig):
    run_id = (await start(rig, await claimed(rig, item := await rig.item()))).id
    await noted(rig, run_id, Usage(100, 10, 0.5))
    await rig.store.transact(lambda tx: tx.runs.end(run_id, exit_code=-9, outcome="failed", usage=None))
    assert await usage_of(rig, item) == Usage(100, 10, 0.5)


async def test_totals_add_up_by_role_and_model(rig):
    for number, model in enumerate(["m-1", "m-2", "m-1"]):
        run_id = (await start(rig, await claimed(rig, await rig.item(number)), model=model)).id
        rig.pass_time(seconds=10)
        usage = Usage(100, 10, 0.5)
        await rig.store.transact(
            lambda tx, run_id=run_id, usage=usage: tx.runs.end(run_id, exit_code=0, outcome="", usage=usage)
        )
    first, second = await rig.store.transact(lambda tx: tx.runs.totals())
    assert first == {
        "role": "developer", "model": "m-1", "runs": 2,
        "input_tokens": 200, "output_tokens": 20, "cost_usd": 1.0, "seconds": 20.0,
    }  # fmt: skip
    assert (second["model"], second["runs"]) == ("m-2", 1)


async def test_an_event_is_stored_once_for_its_content(rig):
    payload = {"action": "updated", "data": {"state": "Старт", "n": [1, None, 1.5]}}

    def add(tx, key="sha256:1"):
        return tx.events.add(source="plane", kind="issue", payload=payload, content_key=key)

    event_id = await rig.store.transact(add)
    assert await rig.store.transact(add) is None
    event = await rig.store.transact(lambda tx: tx.events.get(event_id))
    assert (event.source, event.kind, event.payload) == ("plane", "issue", payload)
    assert (event.received_at, event.task_id, event.outcome) == (rigs.START, None, "")
    assert await rig.store.transact(lambda tx: tx.events.count()) == 1


async def test_an_event_that_is_settled_belongs_to_its_item(rig):
    item = await rig.item()

    def settle(tx):
        one, two = [
            tx.events.add(source="board", kind="start", payload={}, content_key=key) for key in ("1", "2")
        ]
        tx.events.settle(one, outcome="started", task_id=item.task_id)
        return one, two, tx.events.of_item(item.task_id), tx.events.recent(1)

    one, two, of_item, recent = await rig.store.transact(settle)
    assert [(event.id, event.outcome) for event in of_item] == [(one, "started")]
    assert [event.id for event in recent] == [two]


async def test_a_project_keeps_its_state_when_its_settings_change(rig):
    def change(tx):
        tx.projects.put("tally", {"base": "main"})
        tx.projects.freeze("tally", "release day")
        tx.projects.raise_coverage("tally", 80.5)
        tx.projects.put("tally", {"base": "trunk"})
        return tx.projects.get("tally"), [state.name for state in tx.projects.all()]

    state, names = await rig.store.transact(change)
    assert (state.settings, state.frozen, state.coverage_baseline) == ({"base": "trunk"}, "release day", 80.5)
    assert names == ["tally"]


async def test_a_project_that_is_removed_is_forgotten_but_a_merge_into_it_stays_alone(rig):
    one, two = await rig.item(1), await rig.item(2)
    await rig.leases.take_merge("tally", one.task_id)

    def forget(tx):
        tx.projects.put("tally", {"base": "main"})
        tx.projects.freeze("tally", "release day")
        tx.projects.remove("tally")
        tx.projects.remove("never there")
        gone = tx.projects.get("tally"), list(tx.projects.all())
        tx.projects.put("tally", {})
        return gone, tx.projects.get("tally").frozen

    assert await rig.store.transact(forget) == ((None, []), None)
    with pytest.raises(Conflict):
        await rig.leases.take_merge("tally", two.task_id)


async def test_coverage_is_only_ever_raised(rig):
    def raise_to(tx, percents):
        tx.projects.put("tally", {})
        seen = []
        for percent in percents:
            tx.projects.raise_coverage("tally", percent)
            seen.append(tx.projects.get("tally").coverage_baseline)
        return seen

    assert await rig.store.transact(lambda tx: raise_to(tx, [70.0, 60.0, 71.5])) == [70.0, 70.0, 71.5]


async def test_a_frozen_project_thaws(rig):
    def thaw(tx):
        tx.projects.put("tally", {})
        tx.projects.freeze("tally", "release day")
        tx.projects.freeze("tally", None)
        return tx.projects.get("tally").frozen

    assert await rig.store.transact(thaw) is None


async def test_the_last_value_that_was_remembered_is_recalled(rig):
    def remember(tx):
        nothing = tx.projects.recall("cursor")
        tx.projects.remember("cursor", "1")
        tx.projects.remember("cursor", "2")
        return nothing, tx.projects.recall("cursor")

    assert await rig.store.transact(remember) == (None, "2")
