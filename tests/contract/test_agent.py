"""What every way to an agent promises; a new one is one more row in `agents.ROWS`."""

import asyncio

import pytest

from orchestrator.ports.agent import AgentFailed, Finished, LimitReached, NotStarted
from tests.contract.agents import ROWS, USED, interrupted


@pytest.fixture(params=ROWS, ids=lambda row: row.__name__)
def bench(request, tmp_path):
    return request.param(tmp_path)


async def test_a_run_that_is_done_says_when_and_what_it_used(bench):
    bench.does("done")
    bench.go()
    outcome = await bench.transport().run(bench.task())
    assert isinstance(outcome, Finished)
    assert outcome.usage == USED
    assert outcome.started <= outcome.ended
    assert outcome.ended.tzinfo is not None


async def test_a_limit_is_no_failure_and_says_why(bench):
    bench.does("limit")
    bench.go()
    outcome = await bench.transport().run(bench.task())
    assert outcome == LimitReached(USED, "back at nine")


async def test_a_failure_says_how_it_ended_and_what_it_used(bench):
    bench.does("failed")
    bench.go()
    outcome = await bench.transport().run(bench.task())
    assert outcome == AgentFailed(USED, "exit code 3: oh no", 3, timed_out=False)


async def test_an_agent_that_is_not_there_was_not_started(bench):
    bench.does("missing")
    outcome = await bench.transport().run(bench.task())
    assert isinstance(outcome, NotStarted)
    assert outcome.reason
    assert bench.beginnings == 0


@pytest.mark.parametrize("ending", ["done", "limit", "failed"])
async def test_a_run_that_has_ended_is_answered_again_and_not_done_again(bench, ending):
    bench.does(ending)
    bench.go()
    first = await bench.transport().run(bench.task())
    assert await bench.transport().run(bench.task()) == first
    assert bench.beginnings == 1


async def test_a_run_that_is_asked_for_twice_at_once_is_one_run(bench):
    bench.does("done")
    bench.go()
    one, other = await asyncio.gather(
        bench.transport().run(bench.task()), bench.transport().run(bench.task())
    )
    assert one == other
    assert bench.beginnings == 1


async def test_another_run_directory_is_another_run(bench):
    bench.does("done")
    bench.go()
    await bench.transport().run(bench.task("one"))
    await bench.transport().run(bench.task("two"))
    assert bench.beginnings == 2


async def test_an_interrupted_run_goes_on_and_is_found_again(bench):
    bench.does("done")
    first = asyncio.create_task(bench.transport().run(bench.task()))
    await bench.begun()
    await interrupted(first)
    bench.go()
    assert isinstance(await bench.transport().run(bench.task()), Finished)
    assert bench.beginnings == 1


async def test_a_stopped_run_has_failed_and_is_not_started_again(bench):
    bench.does("done")
    running = asyncio.create_task(bench.transport().run(bench.task()))
    await bench.begun()
    await bench.transport().stop(bench.task().run_dir)
    outcome = await running
    assert isinstance(outcome, AgentFailed)
    assert (outcome.reason, outcome.timed_out) == ("it was stopped", False)
    bench.go()
    assert await bench.transport().run(bench.task()) == outcome
    assert bench.beginnings == 1


async def test_a_run_that_nobody_waits_for_can_be_stopped(bench):
    bench.does("done")
    first = asyncio.create_task(bench.transport().run(bench.task()))
    await bench.begun()
    await interrupted(first)
    await bench.transport().stop(bench.task().run_dir)
    assert isinstance(await bench.transport().run(bench.task()), AgentFailed)


async def test_stopping_what_has_ended_or_never_began_is_no_change(bench):
    bench.does("done")
    bench.go()
    outcome = await bench.transport().run(bench.task())
    await bench.transport().stop(bench.task().run_dir)
    await bench.transport().stop(bench.task().run_dir)
    assert await bench.transport().run(bench.task()) == outcome
    await bench.transport().stop(bench.task("never").run_dir)
    assert isinstance(await bench.transport().run(bench.task("never")), Finished)
    assert bench.beginnings == 2
