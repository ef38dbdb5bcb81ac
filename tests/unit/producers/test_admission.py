"""A provider that refuses pauses its agents, a limit goes on where it stood, and what is left is kept."""

from datetime import timedelta

import pytest

from orchestrator.pipeline.breaker import State, from_text
from orchestrator.pipeline.stages import Stage
from orchestrator.pipeline.verdicts import FailureClass
from orchestrator.ports.agent import AgentFailed, BudgetReached, LimitKind, LimitReached, Session, Usage
from orchestrator.ports.producer import Deferred, GaveUp, Produced
from orchestrator.ports.queue import JobKind
from orchestrator.producers.agent_run.admission import breaker_key
from tests.unit.producers.desk import at_work

REVIEW = "---\nverdict: APPROVED\n---\n\n# Review\n"
HOUR = timedelta(hours=1)


def approves(task):
    (task.artifact_dir / "12-review.md").write_text(REVIEW)


def refused(desk, kind=LimitKind.RATE, *, after=None, session=None):
    retry_at = None if after is None else desk.rig.clock.now() + after
    return lambda _: LimitReached(Usage(7, 1, 0.5), "429 come back", retry_at, kind, session)


async def breaker(desk):
    return from_text(await desk.rig.store.transact(lambda tx: tx.projects.recall(breaker_key("script"))))


async def alerts(desk):
    jobs = await desk.rig.store.transact(lambda tx: tx.jobs.recent(50))
    return [job.data["text"] for job in jobs if job.kind is JobKind.NOTIFY]


async def tried(desk):
    """One more try of the same job; what it came to."""
    given = await desk.assignment()
    outcome = await desk.produce(given)
    await desk.put_back(given.job)
    return outcome


async def test_refusals_in_a_row_pause_agents_until_the_time_that_the_provider_names(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW, agent_cli="script") as desk:
        desk.script = refused(desk, after=HOUR)
        for _ in range(3):
            assert await tried(desk) == Deferred("429 come back", after=HOUR)
        assert (await breaker(desk)).state is State.OPEN
        assert await tried(desk) == Deferred("agents pause: 429 come back", after=HOUR)
        assert len(desk.agent.tasks) == 3
        (alert,) = await alerts(desk)
        assert "the provider of script refused 3 times: 429 come back" in alert
        desk.rig.clock.advance(HOUR)
        desk.script = approves
        assert isinstance(await desk.produce(await desk.assignment()), Produced)
        assert (await breaker(desk)).state is State.CLOSED


async def test_a_script_that_asks_for_time_says_nothing_of_a_provider(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW, agent_cli="script") as desk:
        desk.script = refused(desk, LimitKind.ASKED)
        for _ in range(4):
            assert await tried(desk) == Deferred("429 come back", after=timedelta(seconds=90))
        assert len(desk.agent.tasks) == 4


async def test_the_breaker_can_be_switched_off(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW, agent_cli="script", breaker_enabled=False) as desk:
        desk.script = refused(desk, LimitKind.AUTH)
        for _ in range(5):
            await tried(desk)
        assert len(desk.agent.tasks) == 5


async def test_a_machine_without_free_disk_starts_no_run_and_spends_nothing(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW, agent_cli="script", disk_min_free_mb=1_000_000) as desk:
        outcome = await tried(desk)
        assert isinstance(outcome, GaveUp)
        assert (outcome.failure, outcome.retryable) == (FailureClass.ENVIRONMENT, True)
        assert "MB are free" in outcome.reason
        assert desk.agent.tasks == []
        assert await desk.runs() == []


async def test_a_limit_in_the_middle_goes_on_with_the_conversation_where_it_stood(tmp_path):
    async with at_work(tmp_path, Stage.DEVELOPMENT, agent_cli="script") as desk:
        session = Session("7d1c", 1.25)

        def interrupted(task):
            (task.workspace / "half.py").write_text("half\n")
            return refused(desk, session=session)(task)

        desk.script = interrupted
        await tried(desk)
        first = desk.agent.tasks[0]
        assert (first.resume, bool(first.session)) == (None, True)
        (first.workspace / ".git").mkdir()

        def goes_on(task):
            assert (task.workspace / "half.py").read_text() == "half\n"
            assert task.task_file.exists()

        desk.script = goes_on
        assert isinstance(await desk.produce(await desk.assignment()), Produced)
        second = desk.agent.tasks[1]
        assert (second.resume, second.session) == (session, "")
        assert second.run_dir != first.run_dir


async def test_a_conversation_does_not_go_on_when_the_branch_was_moved_meanwhile(tmp_path):
    async with at_work(tmp_path, Stage.DEVELOPMENT, agent_cli="script") as desk:
        desk.script = refused(desk, session=Session("7d1c"))
        await tried(desk)
        (desk.agent.tasks[0].workspace / ".git").mkdir()
        desk.workspace.push("tally", desk.item.branch, {"other.py": "theirs\n"})
        await desk.workspace.refresh("tally")
        await tried(desk)
        assert desk.agent.tasks[1].resume is None


@pytest.mark.parametrize(
    "outcome",
    [BudgetReached(Usage(5), "the item budget of $3.00 is used up"), AgentFailed(Usage(), "exit code 3", 3)],
)
async def test_what_a_run_left_that_is_not_taken_is_kept_aside(tmp_path, outcome):
    async with at_work(tmp_path, Stage.DEVELOPMENT, agent_cli="script") as desk:

        def half(task):
            (task.workspace / "half.py").write_text("half\n")
            return outcome

        desk.script = half
        await tried(desk)
        (run,) = await desk.runs()
        refs = desk.workspace.repository("tally").refs
        kept = refs[f"refs/orchestrator/rescue/{desk.item.id}/run-{run.id}"]
        assert (await desk.workspace.read("tally", kept, "half.py")).data == b"half\n"


async def test_an_agent_that_is_locked_in_works_in_a_clone_and_its_work_is_taken_back(tmp_path):
    async with at_work(
        tmp_path,
        Stage.DEVELOPMENT,
        agent_cli="script",
        agent_sandbox="bubblewrap",
        agent_sandbox_network=False,
    ) as desk:

        def works(task):
            assert task.workspace != worktree
            (task.workspace / "new.py").write_text("new\n")

        worktree = await desk.workspace.location(desk.branch)
        desk.script = works
        produced = await desk.produce(await desk.assignment())
        assert isinstance(produced, Produced)
        assert (await desk.workspace.read("tally", produced.delivered, "new.py")).data == b"new\n"
        (task,) = desk.agent.tasks
        assert task.confinement is not None
        assert not task.confinement.network
        assert task.confinement.home.is_dir()
        assert task.task_file.is_relative_to(task.workspace)


async def test_a_conversation_is_not_carried_over_to_another_kind_of_cli(tmp_path):
    async with at_work(tmp_path, Stage.DEVELOPMENT, agent_cli="script") as desk:

        def interrupted(task):
            (task.workspace / "half.py").write_text("half\n")
            return refused(desk, session=Session("7d1c"))(task)

        desk.script = interrupted
        given = await desk.assignment()
        await desk.produce(given)
        (desk.agent.tasks[0].workspace / ".git").mkdir()
        await desk.put_back(given.job)
        desk.settings = desk.settings.model_copy(update={"agent_cli": "codex"})
        await tried(desk)
        assert desk.agent.tasks[1].resume is None
        kept = desk.workspace.repository("tally").refs[
            f"refs/orchestrator/rescue/{desk.item.id}/job-{given.job.id}"
        ]
        assert (await desk.workspace.read("tally", kept, "half.py")).data == b"half\n"


async def test_a_run_that_is_found_again_is_what_it_was_started_as(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW, agent_cli="script") as desk:
        desk.script = approves
        given = await desk.assignment()
        opened = await desk.opening().open(given)
        desk.settings = desk.settings.model_copy(update={"agent_cli": "codex"})
        again = await desk.opening().open(given)
        assert again.task.cli == opened.task.cli == "script"


async def test_what_a_limit_leaves_without_a_conversation_is_kept_aside(tmp_path):
    async with at_work(tmp_path, Stage.DEVELOPMENT, agent_cli="script") as desk:

        def half(task):
            (task.workspace / "half.py").write_text("half\n")
            return refused(desk)(task)

        desk.script = half
        await tried(desk)
        (run,) = await desk.runs()
        assert (
            f"refs/orchestrator/rescue/{desk.item.id}/run-{run.id}" in desk.workspace.repository("tally").refs
        )


async def test_an_outage_that_would_buy_the_same_again_spends_an_attempt(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW, agent_cli="script") as desk:
        desk.script = refused(desk, LimitKind.UNAVAILABLE)
        outcome = await tried(desk)
        assert isinstance(outcome, GaveUp)
        assert (outcome.failure, outcome.retryable) == (FailureClass.AGENT, True)


async def test_no_agent_starts_for_an_item_that_was_stopped_meanwhile(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW, agent_cli="script") as desk:
        given = await desk.assignment()
        item = desk.item
        await desk.rig.store.transact(
            lambda tx: tx.items.move(item, to=Stage.CANCELLED, epoch=item.epoch + 1)
        )
        outcome = await desk.produce(given)
        assert isinstance(outcome, GaveUp)
        assert desk.agent.tasks == []
        assert [run.outcome for run in await desk.runs()] == ["not started"]


async def test_a_run_whose_end_was_stored_before_a_crash_is_followed_by_another_one(tmp_path):
    """It is settled, and its job was not put back: what follows has a row of its own."""
    async with at_work(tmp_path, Stage.REVIEW, agent_cli="script") as desk:
        desk.script = refused(desk, LimitKind.ASKED)
        given = await desk.assignment()
        await desk.produce(given)
        desk.script = approves
        assert isinstance(await desk.produce(given), Produced)
        assert [run.outcome for run in await desk.runs()] == ["limit", "finished"]
