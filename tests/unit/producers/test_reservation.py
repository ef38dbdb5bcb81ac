"""Budgets: an agent starts with what they leave, waits for what is reserved, and stops where they end."""

from datetime import timedelta

import pytest

from orchestrator.pipeline.budgets import Bound, Ceiling
from orchestrator.pipeline.ids import Commit
from orchestrator.pipeline.stages import Stage
from orchestrator.pipeline.verdicts import FailureClass
from orchestrator.ports.agent import AgentFailed, BudgetReached, Finished, Usage
from orchestrator.ports.producer import Deferred, GaveUp, Produced
from orchestrator.ports.store import NewRun
from tests.unit.producers.bench import OneProject
from tests.unit.producers.desk import at_work
from tests.unit.store.rigs import produce

REVIEW = "---\nverdict: APPROVED\n---\n\n# Review\n"
WAY_ON = "(raise ORCH_BUDGETS_JSON or the project's budget, then orch item retry ORCH-1)"
FIVE = Ceiling(cost_usd=Bound(5, "the item budget of $5.00"))


def reviews(desk, cost):
    """A reviewer that leaves its report; it takes a minute and costs as much as is said."""

    def act(task):
        (task.artifact_dir / "12-review.md").write_text(REVIEW)
        now = desk.rig.clock.now()
        desk.rig.pass_time(seconds=60)
        return Finished(Usage(100, cost_usd=cost), now, desk.rig.clock.now())

    return act


async def another_run(desk, ceiling):
    """A run of another item of the project, which is under way."""
    item = await desk.rig.item(2)
    await desk.rig.enqueue(produce(item))
    return await desk.rig.store.transact(
        lambda tx: tx.runs.start(
            tx.jobs.of_item(item.task_id)[0],
            NewRun("developer", None, None, "log", Commit("a" * 40), ceiling=ceiling),
        )
    )


async def test_a_run_gets_what_the_budgets_leave_and_its_stamp_says_so(tmp_path):
    budgets = '{"item": {"cost_usd": 20, "tokens": 5000}, "day": {"wall_s": 600}}'
    given = {"budgets_json": budgets, "agent_cli": "codex", "agent_max_turns": 40}
    async with at_work(tmp_path, Stage.REVIEW, **given) as desk:
        desk.projects = OneProject(None, budgets={"item": {"cost_usd": 3}})
        desk.script = reviews(desk, 0.5)
        assert isinstance(await desk.produce(await desk.assignment()), Produced)
        (task,) = desk.agent.tasks
        assert task.ceiling == Ceiling(
            tokens=Bound(5000, "the item budget of 5000 tokens"),
            cost_usd=Bound(3, "the item budget of $3.00"),
            turns=Bound(40, "the limit of 40 turns (ORCH_AGENT_MAX_TURNS)"),
            wall_s=Bound(600, "the day budget of 600 s of wall time"),
        )
        assert task.limit == timedelta(seconds=600)
        (run,) = await desk.runs()
        assert (run.cli, run.usage.cost_usd) == ("codex", 0.5)


async def test_the_role_has_its_own_time_limit_where_no_budget_comes_first(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW, budgets_json='{"day": {"wall_s": 90000}}') as desk:
        desk.script = reviews(desk, 0)
        await desk.produce(await desk.assignment())
        (task,) = desk.agent.tasks
        assert (task.ceiling.wall_s, task.limit) == (None, timedelta(seconds=3000))


async def test_a_budget_that_is_used_up_calls_a_person_and_starts_nothing(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW, budgets_json='{"item": {"cost_usd": 1}}') as desk:
        desk.script = reviews(desk, 1.25)
        given = await desk.assignment()
        await desk.produce(given)
        await desk.put_back(given.job, spend=True)
        gave_up = await desk.produce(await desk.assignment())
        reason = f"the item budget of $1.00 is used up: $1.25 {WAY_ON}"
        assert gave_up == GaveUp(reason, FailureClass.LIMIT, retryable=False)
        assert len(desk.agent.tasks) == len(await desk.runs()) == 1


async def test_a_day_that_is_used_up_is_another_one_after_midnight(tmp_path):
    """The tests begin at noon in UTC, a quarter to six in the evening in Kathmandu."""
    async with at_work(tmp_path, Stage.REVIEW, budgets_json='{"day": {"runs": 1}}') as desk:
        desk.projects = OneProject(None, time_zone="Asia/Kathmandu")
        desk.script = lambda _: AgentFailed(Usage(), "exit code 2", 2)
        for passed, outcome in ((0, "failed"), (6, "runs is used up"), (1, "failed")):
            desk.rig.pass_time(hours=passed)
            given = await desk.assignment()
            gave_up = await desk.produce(given)
            assert outcome.replace("runs", "day budget of 1 run") in gave_up.reason
            await desk.put_back(given.job)


async def test_what_others_have_reserved_is_waited_for_and_costs_nothing(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW, budgets_json='{"project": {"cost_usd": 10}}') as desk:
        desk.script = reviews(desk, 1)
        given = await desk.assignment()
        run = await another_run(desk, Ceiling(cost_usd=Bound(10, "the project budget")))
        deferred = await desk.produce(given)
        assert deferred == Deferred(
            "what is left of the project budget of $10.00 is reserved by runs under way",
            after=timedelta(seconds=30),
        )
        assert await desk.runs() == []
        await desk.rig.store.transact(
            lambda tx: tx.runs.end(run.id, exit_code=0, outcome="finished", usage=Usage(cost_usd=4))
        )
        assert isinstance(await desk.produce(given), Produced)
        assert desk.agent.tasks[0].ceiling.cost_usd == Bound(6, "the project budget of $10.00")


async def test_a_run_that_is_found_again_keeps_its_ceiling(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW, budgets_json='{"item": {"cost_usd": 5}}') as desk:
        desk.script = reviews(desk, 1)
        given = await desk.assignment()
        await desk.produce(given)
        desk.settings = desk.settings.model_copy(update={"budgets_json": '{"item": {"cost_usd": 0.5}}'})
        assert isinstance(await desk.produce(given), Produced)
        assert len(desk.agent.tasks) == len(await desk.runs()) == 1


async def test_an_outage_before_the_start_neither_spends_nor_keeps_what_was_reserved(tmp_path):
    """The run is stamped, then the workspace is away: the job comes back and reserves anew."""
    budgets = '{"item": {"cost_usd": 5, "runs": 1}}'
    async with at_work(tmp_path, Stage.REVIEW, budgets_json=budgets, agent_max_turns=0) as desk:
        desk.script = reviews(desk, 1)
        for _ in range(3):
            given = await desk.assignment()
            await desk.rig.store.transact(
                lambda tx, job=given.job: tx.runs.start(
                    job, NewRun("reviewer", None, None, "log", Commit("a" * 40), ceiling=FIVE)
                )
            )
            await desk.put_back(given.job)
        assert isinstance(await desk.produce(await desk.assignment()), Produced)
        assert desk.agent.tasks[0].ceiling == FIVE
        assert [run.outcome for run in await desk.runs()] == ["lost", "lost", "lost", "finished"]


async def test_a_run_that_reached_its_ceiling_is_no_failure_and_never_tried_again(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW) as desk:
        desk.script = lambda _: BudgetReached(Usage(7, 1, 5.1), "the day budget is used up: $5.1000", 143)
        gave_up = await desk.produce(await desk.assignment())
        assert gave_up == GaveUp(
            f"the day budget is used up: $5.1000 {WAY_ON}", FailureClass.LIMIT, retryable=False
        )
        (run,) = await desk.runs()
        assert (run.outcome, run.exit_code, run.usage.cost_usd) == ("budget", 143, 5.1)


class Talkative:
    """Tells what the run has consumed and looks at what the store knows of it, before it ends."""

    def __init__(self, desk, outcome):
        self.desk, self.outcome, self.seen = desk, outcome, []

    async def run(self, task, progress=None):
        await progress(Usage(500, 50, 0.75))
        (run,) = await self.desk.runs()
        self.seen.append((run.usage, run.finished_at))
        return self.outcome

    async def stop(self, run_dir):
        """Nothing to end."""


@pytest.mark.parametrize(
    ("outcome", "kept"),
    [
        (AgentFailed(Usage(), "a signal", None), Usage(500, 50, 0.75)),
        (AgentFailed(Usage(400, 50, 0.5), "exit code 2", 2), Usage(400, 50, 0.5)),
    ],
    ids=["without figures", "with figures"],
)
async def test_what_a_run_consumes_is_noted_while_it_goes_on(tmp_path, outcome, kept):
    async with at_work(tmp_path, Stage.REVIEW) as desk:
        desk.agents = Talkative(desk, outcome)
        await desk.produce(await desk.assignment())
        assert desk.agents.seen == [(Usage(500, 50, 0.75), None)]
        (run,) = await desk.runs()
        assert run.usage == kept
