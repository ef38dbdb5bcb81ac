"""What agents consumed is shown by whatever a person asks for, with how much of each budget is used."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from orchestrator.pipeline.budgets import Bound, Ceiling
from orchestrator.pipeline.ids import Commit, WorkItemId
from orchestrator.ports.agent import Usage
from orchestrator.ports.queue import JobKind
from orchestrator.ports.store import NewRun
from orchestrator.store import Owner, SqlQueue, SqlStore
from orchestrator.testing.clock import ManualClock
from tests.unit.cli import repositories
from tests.unit.store import rigs

LONG_AGO = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)


@pytest.fixture
def tally(orch, tmp_path, monkeypatch):
    """One item; a developer cost two dollars long ago, a reviewer is at work and may spend five."""
    monkeypatch.setenv("ORCH_BUDGETS_JSON", '{"item": {"cost_usd": 20}, "run": {"cost_usd": 5}}')
    repositories.made(tmp_path / "tally")
    budgets = ("--budget", "item.cost_usd=10", "--budget", "role.runs=3", "--budget", "day.tokens=1000")
    assert orch("project", "add", "tally", "--prefix", "TAL", *budgets).code == 0
    assert orch("item", "new", "Add /average to the service").code == 0
    asyncio.run(worked(tmp_path / "home" / "orchestrator.db"))
    return orch


async def worked(database):
    clock = ManualClock(LONG_AGO)
    store = SqlStore(f"sqlite:///{database}", clock, Owner(1, "boot"))
    queue = SqlQueue(store.database)
    try:
        job, run = await launched(store, queue, "developer")
        clock.advance(timedelta(minutes=31))
        usage = Usage(100, 20, 2.0, 3, 4)
        await store.transact(lambda tx: tx.runs.end(run.id, exit_code=0, outcome="finished", usage=usage))
        await queue.finish(job, {})
        await launched(store, queue, "reviewer")
    finally:
        store.close()


async def launched(store, queue, role):
    item = await store.transact(lambda tx: tx.items.by_id(WorkItemId("TAL-1")))
    await store.transact(lambda tx: tx.jobs.enqueue(rigs.produce(item, agent=role)))
    job = await queue.claim([JobKind.PRODUCE])
    ceiling = Ceiling(cost_usd=Bound(5, "the run budget of $5.00"))
    new = NewRun(role, f"model-{role}", None, "log", Commit("a" * 40), ceiling=ceiling)
    return job, await store.transact(lambda tx: tx.runs.start(job, new))


def test_costs_are_added_up_by_item_unless_something_else_is_asked_for(tally):
    answer = tally("costs", "--json").json
    (row,) = answer["rows"]
    assert row == {
        "key": "TAL-1",
        "runs": 2,
        "input_tokens": 100,
        "output_tokens": 20,
        "cache_read_tokens": 3,
        "cache_write_tokens": 4,
        "cost_usd": 2.0,
        "seconds": 1860.0,
    }
    assert answer["total"] == {**row, "key": ""}


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("role", ["developer", "reviewer"]),
        ("model", ["model-developer", "model-reviewer"]),
        ("day", ["2026-03-01", "2026-03-02"]),
        ("project", ["tally"]),
    ],
)
def test_costs_are_added_up_by_what_is_asked_for(tally, by, keys):
    answer = tally("costs", "--by", by, "--json").json
    assert [row["key"] for row in answer["rows"]] == keys


def test_every_budget_in_force_says_how_much_of_it_is_used(tally):
    rows = tally("costs", "-p", "tally", "--json").json["budgets"]
    told = [
        tuple(row[name] for name in ("scope", "of", "measure", "limit", "spent", "reserved", "left"))
        for row in rows
    ]
    assert told == [
        ("run", "each run", "cost_usd", 5, 0, 0, 5),
        ("day", "", "tokens", 1000, 0, 0, 1000),
        ("item", "TAL-1", "cost_usd", 10, 2, 5, 3),
        ("role", "TAL-1/developer", "runs", 3, 1, 0, 2),
        ("role", "TAL-1/reviewer", "runs", 3, 1, 0, 2),
    ]


def test_costs_begin_with_the_day_that_is_named(tally, monkeypatch):
    rows = tally("costs", "--since", "2026-03-02", "--by", "role", "--json").json["rows"]
    assert [row["key"] for row in rows] == ["reviewer"]
    monkeypatch.setenv("ORCH_TIME_ZONE", "Europe/Berlin")
    answer = tally("costs", "--since", "2026-03-02", "--by", "day", "--json").json
    assert [(row["key"], row["runs"]) for row in answer["rows"]] == [("2026-03-02", 2)]


def test_a_person_reads_tables(tally):
    shown = tally("costs", "--by", "role").out
    assert "developer" in shown
    assert "2.0000" in shown
    assert "total" in shown
    assert "TAL-1/reviewer" in shown


def test_without_runs_it_says_so(orch):
    ran = orch("costs")
    assert (ran.code, ran.out) == (0, "no runs of agents yet\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--project", "nobody"], "unknown project nobody"),
        (["--since", "yesterday"], "yesterday is no day"),
        (["--by", "mood"], "mood"),
    ],
)
def test_what_cannot_be_asked_is_one_line(orch, words, told):
    ran = orch("costs", *words)
    assert ran.code == 2
    assert told in ran.err
    assert ran.err.count("\n") == 1
