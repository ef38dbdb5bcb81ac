"""Accounts and costs: what runs consumed, what those under way have reserved, and who consumed it."""

import asyncio
from datetime import UTC, timedelta
from zoneinfo import ZoneInfo

import pytest

from orchestrator.pipeline.budgets import Account, Bound, Ceiling, Measure, Scope
from orchestrator.pipeline.ids import Commit
from orchestrator.ports.agent import Usage
from orchestrator.ports.queue import JobKind
from orchestrator.ports.store import CostKey, CostRow, NewRun
from tests.unit.store import rigs

CEILING = Ceiling(
    tokens=Bound(1000, "the item budget of 1000 tokens"),
    cost_usd=Bound(5, "the run budget of $5.00"),
    wall_s=Bound(300, "the day budget of 300 s of wall time"),
)


@pytest.fixture(params=rigs.DATABASES)
def rig(request, tmp_path):
    with rigs.opened(request.param, tmp_path) as rig:
        yield rig


async def launched(rig, item, *, role="developer", model="m-1", ceiling=None, limit=None):
    """A job of the item, claimed, and its run under way."""
    await rig.enqueue(rigs.produce(item, agent=role, project=item.project))
    job = await rig.queue.claim([JobKind.PRODUCE])
    new = NewRun(
        role=role,
        model=model,
        effort=None,
        log_path="log",
        start_commit=Commit("a" * 40),
        ceiling=ceiling or Ceiling(),
        limit=limit,
    )
    run = await rig.store.transact(lambda tx: tx.runs.start(job, new))
    return job, run.id


async def ended(rig, job, run_id, usage, outcome="finished"):
    await rig.store.transact(lambda tx: tx.runs.end(run_id, exit_code=0, outcome=outcome, usage=usage))
    await rig.queue.finish(job, {})


async def ran(rig, item, usage, *, takes=10, outcome="finished", **launch):
    job, run_id = await launched(rig, item, **launch)
    rig.pass_time(seconds=takes)
    await ended(rig, job, run_id, usage, outcome)


async def accounts(rig, since=rigs.START, project="tally", **item):
    return await rig.store.transact(lambda tx: tx.runs.accounts(project, since, **item))


def figures(account):
    """Tokens, cost, runs and seconds that were spent, and tokens, cost and seconds that are reserved."""
    reserved = [Measure.TOKENS, Measure.COST, Measure.WALL]
    return [account.spent[measure] for measure in Measure], [account.reserved[m] for m in reserved]


async def test_without_runs_nothing_was_consumed(rig):
    item = await rig.item()
    found = await accounts(rig, task_id=item.task_id, role="developer")
    nothing = Account(dict.fromkeys(Measure, 0.0), dict.fromkeys(Measure, 0.0))
    assert found == dict.fromkeys([Scope.PROJECT, Scope.DAY, Scope.ITEM, Scope.ROLE], nothing)
    assert set(await accounts(rig)) == {Scope.PROJECT, Scope.DAY}
    assert set(await accounts(rig, task_id=item.task_id)) == {Scope.PROJECT, Scope.DAY, Scope.ITEM}


async def test_each_scope_counts_its_own_runs(rig):
    one, two = await rig.item(1), await rig.item(2)
    foreign = await rig.item(3, project="shop")
    await ran(rig, one, Usage(100, 10, 0.5, 5, 5))
    rig.pass_time(days=1)
    today = rig.clock.now()
    await ran(rig, one, Usage(200, 0, 0.25), role="reviewer")
    await ran(rig, two, Usage(1000, 0, 2.0))
    await ran(rig, foreign, Usage(9999, 0, 9.0))
    found = await accounts(rig, today, task_id=one.task_id, role="reviewer")
    nothing = [0.0, 0.0, 0.0]
    assert {scope: figures(account) for scope, account in found.items()} == {
        Scope.ROLE: ([200, 0.25, 1, 10], nothing),
        Scope.ITEM: ([320, 0.75, 2, 20], nothing),
        Scope.PROJECT: ([1320, 2.75, 3, 30], nothing),
        Scope.DAY: ([1200, 2.25, 2, 20], nothing),
    }


async def test_a_run_under_way_reserves_what_it_has_not_consumed_yet(rig):
    item = await rig.item()
    job, run_id = await launched(rig, item, ceiling=CEILING, limit=timedelta(hours=1))
    rig.pass_time(seconds=100)
    await rig.store.transact(lambda tx: tx.runs.note_usage(run_id, Usage(300, 100, 1.5)))
    found = await accounts(rig, task_id=item.task_id, role="developer")
    assert figures(found[Scope.ITEM]) == ([400, 1.5, 1, 100], [600, 3.5, 200])
    assert len({str(figures(account)) for account in found.values()}) == 1
    await ended(rig, job, run_id, Usage(300, 200, 2.0))
    found = await accounts(rig, task_id=item.task_id)
    assert figures(found[Scope.ITEM]) == ([500, 2.0, 1, 100], [0, 0, 0])


async def test_a_run_reserves_its_own_time_limit_where_no_budget_comes_first(rig):
    item = await rig.item()
    await launched(rig, item, limit=timedelta(minutes=10))
    rig.pass_time(minutes=4)
    assert figures((await accounts(rig))[Scope.PROJECT])[1] == [0, 0, 360]


async def test_more_than_the_ceiling_reserves_nothing_more(rig):
    _, run_id = await launched(rig, await rig.item(), ceiling=CEILING)
    rig.pass_time(hours=1)
    await rig.store.transact(lambda tx: tx.runs.note_usage(run_id, Usage(5000, 0, 5.5)))
    assert figures((await accounts(rig))[Scope.PROJECT]) == ([5000, 5.5, 1, 3600], [0, 0, 0])


async def test_a_run_whose_process_died_reserves_until_it_is_found_again(rig):
    other, item = rig.another(2000), await rig.item()
    await launched(other, item, ceiling=CEILING)
    rig.kill(other)
    await rig.queue.requeue_dead()
    assert figures((await accounts(rig))[Scope.PROJECT])[1] == [1000, 5, 300]


async def test_a_run_whose_job_is_over_reserves_nothing_and_keeps_what_it_consumed(rig):
    item = await rig.item()
    _, run_id = await launched(rig, item, ceiling=CEILING)
    await rig.store.transact(lambda tx: tx.runs.note_usage(run_id, Usage(300, 0, 1.5)))
    rig.pass_time(seconds=20)
    await rig.store.transact(lambda tx: tx.jobs.cancel(item.task_id, [JobKind.PRODUCE]))
    rig.pass_time(days=30)
    assert figures((await accounts(rig))[Scope.PROJECT]) == ([300, 1.5, 1, 20], [0, 0, 0])


async def test_attempts_that_nobody_works_on_any_more_stand_in_nobodys_way(rig):
    job, _ = await launched(rig, await rig.item(), ceiling=CEILING)
    rig.pass_time(seconds=15)
    await rig.queue.retry(job, after=timedelta(), error="away", spend=False)
    again = await rig.queue.claim([JobKind.PRODUCE])
    assert await rig.store.transact(lambda tx: tx.runs.resume(again)) is None
    assert figures((await accounts(rig))[Scope.PROJECT]) == ([0, 0, 0, 0], [0, 0, 0])


@pytest.mark.parametrize(("outcome", "runs"), [("limit", 0), ("not started", 0), ("failed", 1)])
async def test_only_runs_that_got_to_work_are_counted_as_runs(rig, outcome, runs):
    await ran(rig, await rig.item(), Usage(7, 0, 0.1), outcome=outcome)
    spent = (await accounts(rig))[Scope.PROJECT].spent
    assert (spent[Measure.RUNS], spent[Measure.TOKENS]) == (runs, 7)


async def test_of_two_that_reserve_at_once_the_second_sees_what_the_first_took(rig):
    """As two orchestrators on one database would; on SQLite one transaction at a time writes anyway."""
    other = rig.another(2000)
    items = [await rig.item(1), await rig.item(2)]
    jobs = []
    for process, item in zip((rig, other), items, strict=True):
        await process.enqueue(rigs.produce(item))
        jobs.append(await process.queue.claim([JobKind.PRODUCE]))

    def reserve(tx, job):
        assert tx.runs.resume(job) is None
        reserved = tx.runs.accounts("tally", rigs.START)[Scope.PROJECT].reserved[Measure.COST]
        new = NewRun("developer", None, None, "log", Commit("a" * 40), ceiling=CEILING)
        tx.runs.start(job, new)
        return reserved

    seen = await asyncio.gather(
        rig.store.transact(lambda tx: reserve(tx, jobs[0])),
        other.store.transact(lambda tx: reserve(tx, jobs[1])),
    )
    assert sorted(seen) == [0, 5]


async def told(rig, by, zone=UTC, **which):
    return await rig.store.transact(lambda tx: tx.runs.costs(by, zone=zone, **which))


async def test_costs_are_added_up_by_item_role_model_and_project(rig):
    one, two = await rig.item(1), await rig.item(2, project="shop")
    await ran(rig, one, Usage(100, 10, 0.5, 3, 4))
    await ran(rig, one, Usage(100, 10, 0.25), role="reviewer", model=None)
    await ran(rig, two, Usage(1, 2, 1.0), model="m-2")
    assert await told(rig, CostKey.ITEM) == [
        CostRow("ORCH-1", 2, Usage(200, 20, 0.75, 3, 4), 20.0),
        CostRow("ORCH-2", 1, Usage(1, 2, 1.0), 10.0),
    ]
    assert [(row.key, row.runs) for row in await told(rig, CostKey.ROLE)] == [
        ("developer", 2),
        ("reviewer", 1),
    ]
    assert [row.key for row in await told(rig, CostKey.MODEL)] == ["", "m-1", "m-2"]
    assert [row.key for row in await told(rig, CostKey.PROJECT)] == ["shop", "tally"]
    assert [row.key for row in await told(rig, CostKey.ITEM, project="shop")] == ["ORCH-2"]
    assert await told(rig, CostKey.ITEM, since=rig.clock.now()) == []


async def test_a_day_of_costs_is_a_day_of_the_zone(rig):
    """The tests begin at noon in UTC, when the next day is an hour old in Kiritimati."""
    item = await rig.item()
    for _ in range(2):
        await ran(rig, item, Usage(1, 0, 0.5))
    rig.pass_time(hours=13)
    await ran(rig, item, Usage(1, 0, 0.25))
    utc = [(row.key, row.usage.cost_usd) for row in await told(rig, CostKey.DAY)]
    assert utc == [("2026-03-01", 1.0), ("2026-03-02", 0.25)]
    (there,) = await told(rig, CostKey.DAY, ZoneInfo("Pacific/Kiritimati"))
    assert (there.key, there.runs, there.usage.cost_usd, there.seconds) == ("2026-03-02", 3, 1.25, 30.0)


async def test_costs_of_a_run_under_way_are_those_that_were_noted(rig):
    _, run_id = await launched(rig, await rig.item())
    await rig.store.transact(lambda tx: tx.runs.note_usage(run_id, Usage(5, 0, 0.5)))
    assert await told(rig, CostKey.ROLE) == [CostRow("developer", 1, Usage(5, 0, 0.5), 0.0)]
