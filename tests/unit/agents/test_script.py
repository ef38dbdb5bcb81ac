"""A script agent gets the protocol's names and nothing of ours, and its exit code says how it went."""

import asyncio
import json
import os
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from orchestrator.agents.clis.script import ScriptCli
from orchestrator.agents.transport import CliTransport, Kinds
from orchestrator.agents.versions import Versions
from orchestrator.errors import BadInput
from orchestrator.plumbing.processes import Processes
from orchestrator.plumbing.processes.leftovers import RUN_VARIABLE
from orchestrator.ports.agent import (
    AgentFailed,
    Finished,
    LimitReached,
    LogEvent,
    LogKind,
    NotStarted,
    Usage,
)
from orchestrator.testing.clock import ManualClock
from tests.unit.agents.scripts import script
from tests.unit.plumbing.processes.support import eventually, lives, pid_in

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def transport(home: Path, command: str = "", **extra: str) -> CliTransport:
    clock = ManualClock(NOW)
    cli = ScriptCli(clock, home=home, command=command, extra=extra)
    processes = Processes()
    return CliTransport(
        processes, Kinds({"script": cli}, "script"), clock, versions=Versions(processes, home / "versions")
    )


async def test_the_environment_is_the_protocol_and_nothing_of_ours(task, tmp_path, monkeypatch):
    monkeypatch.setenv("ORCH_PLANE_API_TOKEN", "secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    code = "import json, os; json.dump(dict(os.environ, cwd=os.getcwd()), open('env.json', 'w'))"
    command = script(tmp_path, f'exec python -c "{code}"')
    outcome = await transport(tmp_path, command, ORCH_DEMO_FAIL="tests", ORCH_ROLE="fake").run(task)
    assert isinstance(outcome, Finished)
    env = json.loads((task.workspace / "env.json").read_text())
    ours = {name: value for name, value in env.items() if name.startswith("ORCH_")}
    assert ours.pop(RUN_VARIABLE) == str(task.run_dir)
    assert ours == {
        "ORCH_ROLE": "reviewer",
        "ORCH_WORK_ITEM": "SHOP-1",
        "ORCH_TITLE": "Count 'twice'; $(really)\nnow",
        "ORCH_TASK_FILE": str(task.task_file),
        "ORCH_ARTIFACT_DIR": str(task.artifact_dir),
        "ORCH_BRANCH": "feature/SHOP-1-count",
        "ORCH_BASE": "main",
        "ORCH_ROUND": "2",
        "ORCH_RUN_ID": "41",
        "ORCH_DEMO_FAIL": "tests",
    }
    assert (env["GIT_AUTHOR_NAME"], env["GIT_COMMITTER_EMAIL"]) == ("reviewer", "reviewer@orch.example")
    assert "secret" not in env.values()
    assert env["cwd"] == str(task.workspace)
    assert env["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)


async def test_a_finished_run_counts_its_usage_wherever_it_was_told(task, tmp_path):
    lines = '{"usage": {"input": 10, "output": 2, "cost_usd": 0.25}}'
    command = script(tmp_path, f"echo '{lines}'; echo working; echo '{{\"usage\": oops'; echo '{lines}'")
    outcome = await transport(tmp_path, command).run(task)
    assert isinstance(outcome, Finished)
    assert outcome.usage == Usage(20, 4, 0.5)
    assert outcome.started <= outcome.ended
    assert "working" in (task.run_dir / "output.log").read_text()


async def test_exit_code_75_is_a_limit_and_carries_the_last_words(task, tmp_path):
    usage = '{"usage": {"input": 1}}'
    command = script(tmp_path, f"echo 'back at nine' >&2; echo '{usage}'; exit 75")
    assert await transport(tmp_path, command).run(task) == LimitReached(Usage(1), "back at nine")


@pytest.mark.parametrize("code", [1, 2, 74, 76, 137])
async def test_any_other_exit_code_is_a_failure(task, tmp_path, code):
    command = script(tmp_path, f"echo 'token=hunter2secret'; exit {code}")
    outcome = await transport(tmp_path, command).run(task)
    assert outcome == AgentFailed(Usage(), f"exit code {code}: token=***", code)


async def test_a_run_that_takes_too_long_is_ended_with_everything_it_started(task, tmp_path):
    command = script(tmp_path, "sleep 60 & echo $! > child; wait")
    outcome = await transport(tmp_path, command).run(replace(task, limit=timedelta(seconds=1)))
    assert isinstance(outcome, AgentFailed)
    assert (outcome.timed_out, outcome.reason) == (True, "it did not end within 1 s")
    assert not lives(await pid_in(task.workspace / "child"))


async def test_an_interrupted_run_is_found_again(task, tmp_path):
    command = script(tmp_path, "echo x >> count; until [ -e go ]; do sleep 0.01; done; echo done > result")
    first = asyncio.create_task(transport(tmp_path, command).run(task))
    await eventually((task.workspace / "count").exists)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    # Its executable may be gone by now; the run is not.
    (tmp_path / command).unlink()
    (task.workspace / "go").touch()
    assert isinstance(await transport(tmp_path, command).run(task), Finished)
    assert (task.workspace / "count").read_text() == "x\n"


async def test_a_stopped_run_has_failed(task, tmp_path):
    command = script(tmp_path, "echo $$ > pid; sleep 60")
    agents = transport(tmp_path, command)
    running = asyncio.create_task(agents.run(task))
    pid = await pid_in(task.workspace / "pid")
    await transport(tmp_path).stop(task.run_dir)
    outcome = await running
    assert isinstance(outcome, AgentFailed)
    assert outcome.reason == "it was stopped"
    assert not lives(pid)
    await agents.stop(task.run_dir)
    await agents.stop(tmp_path / "runs" / "never begun")


async def test_a_run_whose_supervisor_died_has_failed(task, tmp_path):
    command = script(tmp_path, "echo $PPID > supervisor; sleep 60")
    running = asyncio.create_task(transport(tmp_path, command).run(task))
    psutil.Process(await pid_in(task.workspace / "supervisor")).kill()
    outcome = await running
    assert isinstance(outcome, AgentFailed)
    assert "supervisor is gone" in outcome.reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("", "no script agent is named"),
        ("no-such-agent", "'no-such-agent' is not on PATH"),
        ("bin/missing", "there is no script agent"),
        ("bin", "'bin' is not on PATH"),
    ],
)
async def test_what_cannot_be_found_is_not_started(task, tmp_path, command, reason):
    outcome = await transport(tmp_path, command).run(task)
    assert isinstance(outcome, NotStarted)
    assert reason in outcome.reason
    assert not task.run_dir.exists()


async def test_what_is_not_executable_is_not_started(task, tmp_path):
    command = script(tmp_path, "true")
    (tmp_path / command).chmod(0o644)
    outcome = await transport(tmp_path, command).run(task)
    assert isinstance(outcome, NotStarted)
    assert "chmod +x" in outcome.reason


async def test_what_the_system_refuses_to_execute_is_not_started(task, tmp_path):
    command = script(tmp_path, "true")
    (tmp_path / command).write_text("#!/no/such/interpreter\n")
    assert isinstance(await transport(tmp_path, command).run(task), NotStarted)


async def test_a_bare_name_is_looked_up_and_the_tasks_own_command_comes_first(task, tmp_path):
    assert isinstance(await transport(tmp_path, "false").run(replace(task, command="true")), Finished)
    other = replace(task, command=str(tmp_path / script(tmp_path, "exit 9")), run_dir=tmp_path / "two")
    assert isinstance(await transport(tmp_path, "true").run(other), AgentFailed)


async def test_a_task_may_name_another_kind_of_cli(task, tmp_path):
    clock, processes = ManualClock(NOW), Processes()
    clis = {name: ScriptCli(clock, home=tmp_path, command=name) for name in ("true", "false")}
    agents = CliTransport(
        processes, Kinds(clis, "false"), clock, versions=Versions(processes, tmp_path / "v")
    )
    assert isinstance(await agents.run(replace(task, cli="true")), Finished)
    other = replace(task, run_dir=tmp_path / "two")
    assert isinstance(await agents.run(other), AgentFailed)
    unknown = await agents.run(replace(task, cli="none", run_dir=tmp_path / "three"))
    assert isinstance(unknown, NotStarted)
    assert "'none'" in unknown.reason


def test_a_default_that_is_no_kind_is_refused():
    with pytest.raises(BadInput, match="'claude' is no kind"):
        Kinds({}, "claude")


@pytest.mark.parametrize("kind", ["script", ""])
def test_the_log_of_a_script_tells_what_it_counted(tmp_path, kind):
    told = transport(tmp_path).transcript(kind)
    assert told('{"usage": {"input": 5, "output": 2, "cost_usd": 0.5}}') == (
        LogEvent(LogKind.COST, "7 tokens, $0.5000"),
    )


def test_each_line_of_an_unknown_kind_is_a_text(tmp_path):
    told = transport(tmp_path).transcript("another")
    assert told('{"usage": {"input": 5}} ') == (LogEvent(LogKind.TEXT, '{"usage": {"input": 5}}'),)
    assert told("  ") == ()
