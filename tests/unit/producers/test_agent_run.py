"""An agent's run is opened once, checked, saved in its role's name, and never lost or repeated in vain."""

from datetime import timedelta

import pytest

from orchestrator.agents.clis.script import ScriptCli
from orchestrator.agents.transport import CliTransport, Kinds
from orchestrator.agents.versions import Versions
from orchestrator.errors import Conflict, Unavailable
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.ids import Epoch
from orchestrator.pipeline.rounds import Round
from orchestrator.pipeline.stages import Role, Stage, role_in
from orchestrator.pipeline.verdicts import FailureClass
from orchestrator.plumbing.processes import Processes
from orchestrator.ports.agent import AgentFailed, LimitReached, NotStarted, Usage
from orchestrator.ports.producer import Deferred, GaveUp, Produced
from tests.unit.producers.bench import OneProject, contract, interrupted
from tests.unit.producers.desk import at_work

REVIEW = "---\nverdict: {verdict}\n---\n\n# Review\n"


def leaves(name, text):
    return lambda task: (task.artifact_dir / name).write_text(text) and None


def changes_code(task):
    (task.workspace / "feature.py").write_text("better\n")


def demands(number=1):
    findings = ("P1: count the empty list",)
    return Round(number, GateName.REVIEWER_VERDICT, Role.DEVELOPER, "changes wanted", findings)


async def test_the_task_is_written_and_what_the_agent_leaves_is_saved_in_its_name(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW) as desk:
        desk.script = leaves("12-review.md", REVIEW.format(verdict="request_changes"))
        produced = await desk.produce(await desk.assignment())
        assert isinstance(produced, Produced)
        assert produced.artifact == "docs/work-items/ORCH-1/12-review.md"
        assert produced.verdict == "REQUEST_CHANGES"
        assert (await desk.workspace.head(desk.branch)).commit == produced.delivered
        snapshot = desk.workspace.repository("tally").snapshot(produced.delivered)
        assert snapshot.message.startswith("review(ORCH-1): work of the reviewer")
        assert snapshot.author.startswith("reviewer <")
        (task,) = desk.agent.tasks
        text = task.task_file.read_text()
        assert text.splitlines()[:4] == [
            "Work item: ORCH-1",
            "Repo: tally",
            "Branch: feature/orch-1",
            "Stage: review",
        ]
        assert (task.run_dir / ".task-reviewer.md").read_text() == text
        assert task.run_dir.parent == tmp_path / "home" / "runs" / "ORCH-1"
        assert (task.base, task.branch, task.round) == ("main", "feature/orch-1", 1)


async def test_the_analyst_starts_from_the_request(tmp_path):
    async with at_work(tmp_path, Stage.ANALYSIS) as desk:
        seen = []
        desk.script = lambda task: seen.append((task.artifact_dir / "00-business-request.md").read_text())
        gave_up = await desk.produce(await desk.assignment())
        (text,) = seen
        assert text.startswith(
            "# Request for ORCH-1\n\nWork Item ID: ORCH-1\n\nText between a line `<<<UNTRUSTED"
        )
        source = "from the tracker, ref-1; on 2026-03-01T12:00:00+00:00"
        for words in (
            f"<<<UNTRUSTED Nfence1: title of the work item; {source}>>>\nCount twice\n<<<END Nfence1>>>\n",
            f"\n## Description\n\n<<<UNTRUSTED Nfence1: description of the work item; {source}>>>\n"
            "Once is not enough\n<<<END Nfence1>>>\n",
        ):
            assert words in text
        assert gave_up.reason == (
            "the analyst left no 01-brd.md, 02-trz.md, 03-acceptance-criteria.md, 04-test-plan.yaml"
        )


async def test_the_developer_gets_the_demands_and_the_rules(tmp_path):
    async with at_work(tmp_path, Stage.DEVELOPMENT) as desk:
        desk.script = changes_code
        rules = contract(test={"run": "pytest -q"}, protected_paths=["ops/secrets.py"])
        given = await desk.assignment(rounds=(demands(),), contract=rules)
        produced = await desk.produce(given)
        assert (produced.artifact, produced.verdict) == ("", "")
        (task,) = desk.agent.tasks
        text = task.task_file.read_text()
        assert (task.task_file.name, task.round) == (".task-dev.md", 2)
        for wanted in ("P1: count the empty list", "`ops/secrets.py`", "`.orchestrator.yml`", "`pytest -q`"):
            assert wanted in text


async def test_a_missing_document_spends_an_attempt_and_the_next_run_starts_clean(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW) as desk:
        desk.script = lambda task: (task.workspace / "litter").write_text("x") and None
        given = await desk.assignment()
        gave_up = await desk.produce(given)
        assert gave_up == GaveUp("the reviewer left no 12-review.md", FailureClass.AGENT)
        await desk.put_back(given.job, spend=True)
        desk.script = leaves("12-review.md", REVIEW.format(verdict="APPROVED"))
        produced = await desk.produce(await desk.assignment())
        changed = await desk.workspace.changed("tally", given.started_at, produced.delivered)
        assert changed == ["docs/work-items/ORCH-1/12-review.md"]
        assert [run.outcome for run in await desk.runs()] == ["finished", "finished"]


async def test_an_old_review_is_no_review_of_new_code(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW) as desk:
        old = {"docs/work-items/ORCH-1/12-review.md": REVIEW.format(verdict="APPROVED")}
        desk.workspace.push("tally", desk.item.branch, old)
        gave_up = await desk.produce(await desk.assignment())
        assert isinstance(gave_up, GaveUp)
        assert "left 12-review.md as it was" in gave_up.reason


async def test_a_developer_who_changes_nothing_at_all_has_failed(tmp_path):
    async with at_work(tmp_path, Stage.DEVELOPMENT) as desk:
        desk.workspace.push(
            "tally", desk.item.branch, {"feature.py": None, "docs/work-items/ORCH-1/01-brd.md": "x"}
        )
        gave_up = await desk.produce(await desk.assignment())
        assert gave_up == GaveUp("the developer changed nothing", FailureClass.AGENT)


async def test_a_developer_who_leaves_demands_unmet_makes_no_progress(tmp_path):
    async with at_work(tmp_path, Stage.DEVELOPMENT) as desk:
        gave_up = await desk.produce(await desk.assignment(rounds=(demands(),)))
        assert (gave_up.failure, gave_up.retryable) == (FailureClass.CODE, False)
        assert "no progress" in gave_up.reason


async def test_a_change_that_stands_already_need_not_be_made_again(tmp_path):
    """As after a retry by a person who mended something else."""
    async with at_work(tmp_path, Stage.DEVELOPMENT) as desk:
        given = await desk.assignment()
        produced = await desk.produce(given)
        assert isinstance(produced, Produced)
        assert produced.delivered == given.started_at


async def test_a_limit_costs_no_attempt_and_is_followed_by_another_run(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW) as desk:
        desk.script = lambda _: LimitReached(Usage(7, 1, 0.5), "come back")
        given = await desk.assignment()
        assert await desk.produce(given) == Deferred("come back", after=timedelta(seconds=90))
        await desk.put_back(given.job)
        desk.script = lambda _: LimitReached(
            Usage(), "at nine", retry_at=desk.rig.clock.now() + timedelta(hours=1)
        )
        given = await desk.assignment()
        assert await desk.produce(given) == Deferred("at nine", after=timedelta(hours=1))
        await desk.put_back(given.job)
        desk.script = leaves("12-review.md", REVIEW.format(verdict="APPROVED"))
        assert isinstance(await desk.produce(await desk.assignment()), Produced)
        runs = await desk.runs()
        assert [(run.outcome, run.exit_code) for run in runs] == [
            ("limit", 75),
            ("limit", 75),
            ("finished", 0),
        ]
        assert runs[0].usage == Usage(7, 1, 0.5)
        assert len({run.log_path for run in runs}) == 3


@pytest.mark.parametrize(
    ("outcome", "gave_up", "recorded"),
    [
        (
            AgentFailed(Usage(3), "exit code 2", 2),
            GaveUp("the reviewer failed: exit code 2", FailureClass.AGENT),
            ("failed", 2, Usage(3)),
        ),
        (
            AgentFailed(Usage(4), "too slow", -9, timed_out=True),
            GaveUp("the reviewer failed: too slow", FailureClass.AGENT),
            ("timeout", -9, Usage(4)),
        ),
        (
            NotStarted("no such CLI"),
            GaveUp("no such CLI", FailureClass.ENVIRONMENT, retryable=False),
            ("not started", None, Usage()),
        ),
    ],
    ids=["failed", "timed out", "not started"],
)
async def test_a_run_that_failed_saves_nothing_and_is_settled(tmp_path, outcome, gave_up, recorded):
    async with at_work(tmp_path, Stage.REVIEW) as desk:
        desk.script = lambda _: outcome
        given = await desk.assignment()
        assert await desk.produce(given) == gave_up
        (run,) = await desk.runs()
        assert (run.outcome, run.exit_code, run.usage) == recorded
        assert (await desk.workspace.head(desk.branch)).commit == given.started_at


async def test_work_that_is_produced_again_is_found_and_not_done_again(tmp_path):
    """As after a crash between the push and the end of the job."""
    async with at_work(tmp_path, Stage.REVIEW) as desk:
        desk.script = leaves("12-review.md", REVIEW.format(verdict="APPROVED"))
        given = await desk.assignment()
        first = await desk.produce(given)
        assert await desk.produce(given) == first
        assert len(desk.agent.tasks) == len(await desk.runs()) == 1


async def test_an_interrupted_agent_is_found_again_in_the_workspace_that_it_left(tmp_path):
    async with at_work(tmp_path, Stage.DEVELOPMENT, agent_cli="script") as desk:
        script = tmp_path / "agent.sh"
        waits = "echo half > feature.py; until [ -e go ]; do sleep 0.01; done; rm go"
        script.write_text(f"#!/bin/sh\necho x >> {tmp_path}/count\n{waits}; cat feature.py > whole.py\n")
        script.chmod(0o755)
        cli = ScriptCli(desk.rig.clock, home=tmp_path, command=str(script))
        processes = Processes()
        desk.agents = CliTransport(
            processes,
            Kinds({"script": cli}, "script"),
            desk.rig.clock,
            versions=Versions(processes, tmp_path / "versions"),
        )
        given = await desk.assignment()
        worktree = await desk.workspace.location(desk.branch)
        half = worktree / "feature.py"
        await interrupted(desk.produce(given), lambda: half.exists() and half.read_text() == "half\n")
        (worktree / "go").touch()
        produced = await desk.produce(given)
        assert (await desk.workspace.read("tally", produced.delivered, "whole.py")).data == b"half\n"
        assert (tmp_path / "count").read_text() == "x\n"
        assert [run.outcome for run in await desk.runs()] == ["finished"]


async def test_finished_work_waits_for_a_forge_that_is_away(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW) as desk:
        review = leaves("12-review.md", REVIEW.format(verdict="APPROVED"))

        def act(task):
            review(task)
            desk.workspace.outage = Unavailable("the forge is away")

        desk.script = act
        given = await desk.assignment()
        deferred = await desk.produce(given)
        assert isinstance(deferred, Deferred)
        assert (deferred.marker, "the forge is away" in deferred.reason) == ("", True)
        desk.workspace.outage = None
        await desk.put_back(given.job)
        assert isinstance(await desk.produce(await desk.assignment()), Produced)
        assert len(desk.agent.tasks) == len(await desk.runs()) == 1


async def test_a_branch_that_was_moved_is_a_conflict_and_the_next_run_starts_there(tmp_path):
    async with at_work(tmp_path, Stage.DEVELOPMENT) as desk:

        def act(task):
            changes_code(task)
            desk.workspace.push("tally", desk.item.branch, {"person.py": "mine\n"})

        desk.script = act
        given = await desk.assignment()
        with pytest.raises(Conflict):
            await desk.produce(given)
        assert desk.workspace.refreshed == ["tally"]
        await desk.put_back(given.job)
        desk.script = changes_code
        produced = await desk.produce(await desk.assignment(started_at=given.started_at))
        assert (await desk.workspace.read("tally", produced.delivered, "person.py")) is not None
        assert len(desk.agent.tasks) == 2


async def test_nothing_is_pushed_for_an_item_that_moved_on(tmp_path):
    async with at_work(tmp_path, Stage.DEVELOPMENT) as desk:
        desk.script = changes_code
        given = await desk.assignment()
        await desk.rig.store.transact(
            lambda tx: tx.items.move(desk.item, to=Stage.CANCELLED, epoch=Epoch(desk.item.epoch + 1))
        )
        gave_up = await desk.produce(given)
        assert (gave_up.reason, gave_up.retryable) == ("the work item has moved on", False)
        assert (await desk.workspace.head(desk.branch)).commit == given.started_at


async def test_a_link_out_of_the_workspace_is_not_written_through(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW) as desk:
        given = await desk.assignment()
        desk.script = leaves("12-review.md", REVIEW.format(verdict="APPROVED"))
        await desk.produce(given)
        (task,) = desk.agent.tasks
        outside = tmp_path / "outside.txt"
        outside.write_text("keep")
        task.task_file.unlink()
        task.task_file.symlink_to(outside)
        await desk.put_back(given.job, spend=True)
        await desk.produce(await desk.assignment())
        assert outside.read_text() == "keep"


@pytest.mark.parametrize(
    ("settings", "project", "terms"),
    [
        ({}, {}, ("claude-opus-4-8", "high", 3000)),
        (
            {"agent_model_reviewer": "claude-x-1", "agent_effort_reviewer": "max"},
            {},
            ("claude-x-1", "max", 3000),
        ),
        (
            {"agent_effort_default": "low"},
            {"agent_models": {"reviewer": "claude-p-2"}},
            ("claude-p-2", "low", 3000),
        ),
        (
            {"agent_model_reviewer": "gpt"},
            {"agent_efforts": {"reviewer": "extreme"}},
            ("claude-opus-4-8", None, 3000),
        ),
        ({"agent_timeout_reviewer_s": 60}, {"agent_cli": "script"}, (None, None, 60)),
    ],
)
async def test_model_effort_and_limit_come_from_the_ladders(tmp_path, settings, project, terms):
    async with at_work(tmp_path, Stage.REVIEW, **settings) as desk:
        desk.projects = OneProject(None, **project)
        desk.script = leaves("12-review.md", REVIEW.format(verdict="APPROVED"))
        await desk.produce(await desk.assignment())
        (task,) = desk.agent.tasks
        (run,) = await desk.runs()
        assert (task.model, task.effort, task.limit.total_seconds()) == terms
        assert (run.model, run.effort) == terms[:2]


async def test_the_rows_take_every_stage_in_which_somebody_works(tmp_path):
    async with at_work(tmp_path, Stage.REVIEW) as desk:
        rows = desk.rows()
        takers = {stage: [row.name for row in rows if row.applies(desk.item, stage, None)] for stage in Stage}
        expected = {stage: [role.value] if (role := role_in(stage)) else [] for stage in Stage}
        assert takers == expected
