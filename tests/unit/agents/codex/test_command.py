"""What is started of codex: its own sandbox unless ours locks it in, and no secret of ours."""

import json
from dataclasses import replace

import pytest

from orchestrator.agents.clis.codex import CodexCli, CodexOptions
from orchestrator.agents.clis.codex.command import LONGEST_PROMPT, git_places
from orchestrator.errors import Rejected
from orchestrator.pipeline.stages import Role
from orchestrator.ports.agent import Confinement
from orchestrator.testing.clock import ManualClock
from tests.unit.agents.tasks import ENDED, agent_task


@pytest.fixture
def program(tmp_path):
    place = tmp_path / "bin" / "codex"
    place.parent.mkdir()
    place.write_text("#!/bin/sh\n")
    place.chmod(0o755)
    return place


def cli(program, **options) -> CodexCli:
    chosen = CodexOptions(command=str(program), **options)
    return CodexCli(ManualClock(ENDED), home=program.parent.parent, options=chosen, extra={"SHOP": "open"})


def settings(argv):
    """The settings that stand on a command line."""
    given = [argv[at + 1] for at, part in enumerate(argv) if part == "-c"]
    return {name: json.loads(value) for name, _, value in (one.partition("=") for one in given)}


def test_the_prompt_of_the_role_comes_before_the_request(program, tmp_path):
    task = replace(agent_task(tmp_path), prompt="--You build.\0", model="gpt-5", effort="max")
    argv = cli(program).launch(task).argv
    assert argv[:3] == (str(program), "exec", "--json")
    assert argv[-2] == "--"
    assert argv[-1].startswith("--You build.\n\nYou are the developer of work item SHOP-1.")
    assert argv[argv.index("-m") + 1] == "gpt-5"
    assert settings(argv)["model_reasoning_effort"] == "xhigh"


def test_a_prompt_that_no_command_line_takes_is_refused(program, tmp_path):
    with pytest.raises(Rejected, match="too long"):
        cli(program).launch(replace(agent_task(tmp_path), prompt="x" * LONGEST_PROMPT))


def test_its_own_sandbox_lets_a_committer_commit(program, tmp_path):
    task = agent_task(tmp_path)
    (task.workspace / ".git").mkdir(parents=True)
    argv = cli(program).launch(task).argv
    assert argv[argv.index("-s") + 1] == "workspace-write"
    assert settings(argv)["sandbox_workspace_write.writable_roots"] == [str(task.workspace / ".git")]
    reviewing = settings(cli(program).launch(agent_task(tmp_path, Role.REVIEWER)).argv)
    assert "sandbox_workspace_write.writable_roots" not in reviewing


def test_of_a_linked_worktree_hooks_and_settings_stay_closed(tmp_path):
    own = tmp_path / "shop.git" / "worktrees" / "one"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    workspace = tmp_path / "one"
    workspace.mkdir()
    (workspace / ".git").write_text(f"gitdir: {own}\n")
    shared = tmp_path / "shop.git"
    for name in ("objects", "refs", "hooks"):
        (shared / name).mkdir()
    assert git_places(workspace) == (str(own), str(shared / "objects"), str(shared / "refs"))
    (shared / "logs").mkdir()
    assert str(shared / "logs") in git_places(workspace)


def test_locked_in_by_us_it_has_no_sandbox_of_its_own(program, tmp_path):
    task = replace(agent_task(tmp_path), confinement=Confinement(tmp_path / "home"))
    argv = cli(program).launch(task).argv
    assert "--dangerously-bypass-approvals-and-sandbox" in argv
    assert "-s" not in argv
    assert "sandbox_workspace_write.writable_roots" not in settings(argv)


def test_an_address_makes_a_provider_of_its_own(program, tmp_path):
    launch = cli(program, base_url="http://127.0.0.1:8080/v1", api_key="a-key").launch(agent_task(tmp_path))
    given = settings(launch.argv)
    assert given["model_provider"] == "orchestrator"
    assert given["model_providers.orchestrator.base_url"] == "http://127.0.0.1:8080/v1"
    assert given["model_providers.orchestrator.wire_api"] == "responses"
    assert launch.env[given["model_providers.orchestrator.env_key"]] == "a-key"
    assert launch.endpoint == "http://127.0.0.1:8080"
    assert "a-key" not in repr(launch)


def test_the_login_is_that_of_the_agents(program, tmp_path, monkeypatch):
    monkeypatch.setenv("ORCH_PLANE_API_TOKEN", "secret")
    login = tmp_path / "agents" / ".codex" / "auth.json"
    login.parent.mkdir(parents=True)
    login.write_text("{}")
    launch = cli(program, agent_home=tmp_path / "agents").launch(agent_task(tmp_path))
    assert launch.env["CODEX_HOME"] == str(login.parent)
    assert str(login) in launch.readable
    assert launch.endpoint == "https://chatgpt.com"
    assert (launch.env["SHOP"], launch.env["ORCH_ROUND"]) == ("open", "1")
    assert "secret" not in launch.env.values()


@pytest.mark.parametrize(
    ("said", "is_driven"),
    [("codex-cli 0.171.0", True), ("codex-cli 0.99.9", False), ("1.0.0", False), ("", False)],
)
def test_versions_out_of_range_are_refused_with_what_to_install(program, said, is_driven):
    problem = cli(program).version_problem(said)
    assert (problem is None) is is_driven
    assert problem is None or "npm install -g @openai/codex@0" in problem
