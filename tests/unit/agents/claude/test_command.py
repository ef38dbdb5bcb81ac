"""What is started of claude: a command line that fences the role in, and no secret of ours."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from orchestrator.agents.clis.claude import ClaudeCli, ClaudeOptions
from orchestrator.errors import Rejected
from orchestrator.pipeline.budgets import Bound, Ceiling
from orchestrator.pipeline.stages import Role
from orchestrator.ports.agent import Session
from orchestrator.testing.clock import ManualClock
from tests.unit.agents.tasks import ENDED, agent_task


@pytest.fixture
def program(tmp_path):
    place = tmp_path / "bin" / "claude"
    place.parent.mkdir()
    place.write_text("#!/bin/sh\n")
    place.chmod(0o755)
    return place


def cli(program, **options) -> ClaudeCli:
    chosen = ClaudeOptions(command=str(program), **options)
    return ClaudeCli(ManualClock(ENDED), home=program.parent.parent, options=chosen, extra={"SHOP": "open"})


def flag(argv, name):
    return argv[argv.index(name) + 1] if name in argv else None


def test_the_command_line_streams_and_keeps_foreign_settings_out(program, tmp_path):
    argv = cli(program).launch(agent_task(tmp_path)).argv
    assert argv[0] == str(program)
    assert str(tmp_path / "shop" / ".task-dev.md") in flag(argv, "-p")
    assert flag(argv, "--output-format") == "stream-json"
    assert {"--verbose", "--include-partial-messages", "--strict-mcp-config"} <= set(argv)
    assert flag(argv, "--setting-sources") == ""
    assert flag(argv, "--permission-mode") == "dontAsk"
    assert "--mcp-config" not in argv


def test_what_was_not_asked_for_is_left_to_the_cli(program, tmp_path):
    launch = cli(program).launch(agent_task(tmp_path))
    absent = ("--model", "--effort", "--fallback-model", "--max-turns", "--max-budget-usd", "--session-id")
    assert not {*absent, "--resume", "--system-prompt-file"} & set(launch.argv)
    assert launch.files == {}


def test_the_prompt_of_the_role_lies_in_a_file_of_the_run(program, tmp_path):
    task = replace(agent_task(tmp_path), prompt="You build.\n" * 20_000)
    launch = cli(program).launch(task)
    place = flag(launch.argv, "--system-prompt-file")
    assert launch.files == {"system-prompt.md": task.prompt}
    assert place == str(task.run_dir / "system-prompt.md")
    assert place in launch.readable


def test_model_effort_session_and_ceilings_are_handed_on(program, tmp_path):
    ceiling = Ceiling(cost_usd=Bound(0.5, "the run budget of $0.50"), turns=Bound(7, "the turns"))
    task = replace(
        agent_task(tmp_path),
        model="claude-opus-4-5",
        effort="xhigh",
        fallback_model="claude-sonnet-4-5",
        session="0b0b0b0b-0000-4000-8000-000000000000",
        ceiling=ceiling,
    )
    argv = cli(program).launch(task).argv
    assert flag(argv, "--model") == "claude-opus-4-5"
    assert flag(argv, "--effort") == "xhigh"
    assert flag(argv, "--fallback-model") == "claude-sonnet-4-5"
    assert flag(argv, "--session-id") == "0b0b0b0b-0000-4000-8000-000000000000"
    assert flag(argv, "--max-turns") == "7"
    assert flag(argv, "--max-budget-usd") == "0.500000"


def test_a_conversation_goes_on_instead_of_beginning(program, tmp_path):
    ceiling = Ceiling(cost_usd=Bound(0.0, "nothing left"))
    task = replace(agent_task(tmp_path), session="new", resume=Session("old", 3.0), ceiling=ceiling)
    argv = cli(program).launch(task).argv
    assert flag(argv, "--resume") == "old"
    assert "--session-id" not in argv
    # The CLI counts what this run spends only, and takes no ceiling of zero.
    assert flag(argv, "--max-budget-usd") == "0.000001"


def test_the_environment_holds_what_is_handed_over_on_purpose(program, tmp_path, monkeypatch):
    for name in ("ORCH_PLANE_API_TOKEN", "ANTHROPIC_API_KEY", "AWS_PROFILE", "HTTPS_PROXY"):
        monkeypatch.setenv(name, f"ours-{name}")
    task = agent_task(tmp_path)
    driven = cli(
        program,
        base_url="http://127.0.0.1:8080/path",
        api_key="a-key",
        passthrough=("HTTPS_PROXY", "NOT_THERE"),
        agent_home=tmp_path / "agents",
        api_timeout=timedelta(seconds=90),
    )
    launch = driven.launch(task)
    env = launch.env
    assert "ORCH_PLANE_API_TOKEN" not in env
    assert "AWS_PROFILE" not in env
    assert "NOT_THERE" not in env
    assert (env["HTTPS_PROXY"], env["SHOP"]) == ("ours-HTTPS_PROXY", "open")
    assert (env["ANTHROPIC_BASE_URL"], env["ANTHROPIC_API_KEY"]) == ("http://127.0.0.1:8080/path", "a-key")
    assert env["HOME"] == str(tmp_path / "agents")
    assert (env["CLAUDE_CODE_MAX_RETRIES"], env["API_TIMEOUT_MS"]) == ("2", "90000")
    assert env["CLAUDE_CODE_TMPDIR"] == str(task.run_dir / "tmp")
    assert (env["ORCH_ROLE"], env["ORCH_WORK_ITEM"], env["ORCH_RUN_ID"]) == ("developer", "SHOP-1", "41")
    assert launch.endpoint == "http://127.0.0.1:8080"


def test_no_secret_shows_in_what_is_printed_of_a_launch(program, tmp_path):
    driven = cli(program, api_key="a-key-for-nothing")
    shown = repr(driven.launch(agent_task(tmp_path))) + repr(ClaudeOptions(api_key="a-key-for-nothing"))
    assert "a-key-for-nothing" not in shown


def test_retries_are_enough_to_come_to_the_fallback_model(program, tmp_path):
    task = replace(agent_task(tmp_path), model="claude-opus-4-5", fallback_model="claude-sonnet-4-5")
    assert cli(program, max_retries=0).launch(task).env["CLAUDE_CODE_MAX_RETRIES"] == "3"
    same = replace(task, fallback_model="claude-opus-4-5")
    launch = cli(program, max_retries=0).launch(same)
    assert launch.env["CLAUDE_CODE_MAX_RETRIES"] == "0"
    assert "--fallback-model" not in launch.argv


def test_the_login_is_shown_when_there_is_no_key(program, tmp_path):
    login = tmp_path / "agents" / ".claude" / ".credentials.json"
    login.parent.mkdir(parents=True)
    login.write_text("{}")
    task, home = agent_task(tmp_path), tmp_path / "agents"
    launch = cli(program, agent_home=home).launch(task)
    assert "ANTHROPIC_API_KEY" not in launch.env
    assert str(login) in launch.readable
    assert launch.endpoint == "https://api.anthropic.com"
    assert str(login) not in cli(program, agent_home=home, api_key="a-key").launch(task).readable


def test_a_program_of_npm_is_shown_with_its_packages(tmp_path):
    package = tmp_path / "lib" / "node_modules" / "@anthropic-ai" / "claude-code"
    package.mkdir(parents=True)
    (package / "cli").write_text("#!/bin/sh\n")
    (package / "cli").chmod(0o755)
    (tmp_path / "claude").symlink_to(package / "cli")
    readable = cli(tmp_path / "claude").launch(agent_task(tmp_path)).readable
    assert readable == (str(tmp_path / "claude"), str(tmp_path / "lib" / "node_modules"))


@pytest.mark.parametrize(
    ("command", "why"),
    [("no-such-cli", "is not on PATH; install it with"), ("bin/nothing", "there is no agent CLI")],
)
def test_a_missing_program_is_explained(tmp_path, command, why):
    driven = ClaudeCli(ManualClock(ENDED), home=tmp_path, options=ClaudeOptions(command=command))
    with pytest.raises(Rejected, match=why):
        driven.launch(agent_task(tmp_path))
    with pytest.raises(Rejected, match=why):
        _ = driven.version_argv("")


@pytest.mark.parametrize(
    ("said", "is_driven"),
    [
        ("2.1.332 (Claude Code)", True),
        ("2.1.100", True),
        ("2.99.0", True),
        ("2.1.99 (Claude Code)", False),
        ("1.0.128", False),
        ("3.0.0", False),
        ("", False),
        ("command not found", False),
    ],
)
def test_versions_out_of_range_are_refused_with_what_to_install(program, said, is_driven):
    problem = cli(program).version_problem(said)
    assert (problem is None) is is_driven
    assert problem is None or "npm install -g @anthropic-ai/claude-code@2" in problem


@pytest.mark.parametrize("role", list(Role))
def test_no_role_has_the_network_or_agents_below_it(program, tmp_path, role):
    argv = cli(program).launch(agent_task(tmp_path, role)).argv
    assert set(flag(argv, "--tools").split(",")) == {"Bash", "Edit", "Glob", "Grep", "Read", "Write"}
    permissions = json.loads(flag(argv, "--settings"))["permissions"]
    assert {"Agent", "Task", "WebFetch", "WebSearch", "Bash(git push *)"} <= set(permissions["deny"])
    builds = role in {Role.DEVELOPER, Role.TESTER, Role.DEPLOYER}
    assert ({"Bash", "Edit", "Write"} <= set(permissions["allow"])) is builds
    assert ("Bash" in permissions["allow"]) is builds
