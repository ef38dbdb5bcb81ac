"""The doctor looks at everything that a real installation needs and knows the mend of each failure."""

import shutil
import socket

import pytest

from tests.unit.cli import repositories


@pytest.fixture
def agent(tmp_path, monkeypatch):
    path = tmp_path / "agent.sh"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setenv("ORCH_AGENT_CLI", "script")
    monkeypatch.setenv("ORCH_AGENT_COMMAND", str(path))
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        ports = [one.getsockname()[1], two.getsockname()[1]]
    monkeypatch.setenv("ORCH_PORT", str(ports[0]))
    monkeypatch.setenv("ORCH_STAGING_PORT", str(ports[1]))
    return path


def checks(ran):
    return {check["name"]: check for check in ran.json["checks"]}


def test_a_fresh_machine_with_an_agent_is_in_order(orch, agent):
    ran = orch("doctor", "--json")
    assert (ran.code, ran.json["ok"]) == (0, True), ran.out
    assert {"python", "git", "home", "disk", "clock", "agent", "database"} <= set(checks(ran))


def test_a_missing_agent_is_a_failure_with_its_mend(orch, agent):
    agent.unlink()
    ran = orch("doctor")
    assert ran.code == 1
    assert f"FAIL  agent: {agent} is not there or not executable" in ran.out
    assert "mend: set ORCH_AGENT_COMMAND" in ran.out


def test_a_taken_port_is_a_failure(orch, agent, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setenv("ORCH_PORT", str(port))
        check = checks(orch("doctor", "--json"))[f"port {port}"]
    assert (check["ok"], check["mend"]) == (False, "set ORCH_PORT to a free port")


def test_an_open_door_is_a_failure(orch, agent, monkeypatch):
    monkeypatch.setenv("ORCH_HOST", "0.0.0.0")
    check = checks(orch("doctor", "--json"))["access"]
    assert not check["ok"]
    assert check["mend"] == "set ORCH_HOST=127.0.0.1"


def cli(tmp_path, text):
    """An agent CLI that names a version."""
    program = tmp_path / "claude"
    program.write_text(f"#!/bin/sh\necho '{text}'\n")
    program.chmod(0o755)
    return program


def test_a_real_cli_is_asked_for_its_version_and_needs_a_login(orch, agent, monkeypatch, tmp_path):
    monkeypatch.setenv("ORCH_AGENT_CLI", "claude")
    monkeypatch.setenv("ORCH_AGENT_COMMAND", str(cli(tmp_path, "2.1.332 (Claude Code)")))
    monkeypatch.setenv("HOME", str(tmp_path))
    found = checks(orch("doctor", "--json"))
    assert (found["agent"]["ok"], found["agent"]["detail"]) == (True, "claude: 2.1.332 (Claude Code)")
    assert not found["agent login"]["ok"]
    assert found["agent login"]["mend"].endswith("or set ORCH_AGENT_API_KEY")
    monkeypatch.setenv("ORCH_AGENT_API_KEY", "sk-ant-of-somebody")
    assert checks(orch("doctor", "--json"))["agent login"]["ok"]


def test_a_cli_that_is_too_old_is_a_failure_with_its_mend(orch, agent, monkeypatch, tmp_path):
    monkeypatch.setenv("ORCH_AGENT_CLI", "claude")
    monkeypatch.setenv("ORCH_AGENT_COMMAND", str(cli(tmp_path, "1.0.9 (Claude Code)")))
    check = checks(orch("doctor", "--json"))["agent"]
    assert (check["ok"], check["detail"]) == (False, "claude 1.0.9 cannot be driven")
    assert check["mend"].startswith("install a version from 2.1.100")


def test_a_cli_that_is_not_there_is_a_failure_with_its_mend(orch, agent, monkeypatch):
    monkeypatch.setenv("ORCH_AGENT_CLI", "claude")
    monkeypatch.setenv("ORCH_AGENT_COMMAND", "no-such-claude")
    check = checks(orch("doctor", "--json"))["agent"]
    assert (check["ok"], check["detail"]) == (False, "the agent CLI 'no-such-claude' is not on PATH")
    assert check["mend"].startswith("install it with")


def test_a_sandbox_that_is_asked_for_has_to_be_there(orch, agent, monkeypatch, tmp_path):
    assert checks(orch("doctor", "--json"))["sandbox"]["ok"]
    monkeypatch.setenv("ORCH_AGENT_SANDBOX", "bubblewrap")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").symlink_to(shutil.which("git"))
    monkeypatch.setenv("PATH", str(programs))
    check = checks(orch("doctor", "--json"))["sandbox"]
    assert (check["ok"], check["detail"]) == (False, "bwrap is not installed; asked for by the installation")
    assert "apt-get install bubblewrap" in check["mend"]


def test_a_full_disk_is_a_failure(orch, agent, monkeypatch):
    monkeypatch.setenv("ORCH_DISK_MIN_FREE_MB", "1000000")
    check = checks(orch("doctor", "--json"))["disk"]
    assert not check["ok"]
    assert "free some space" in check["mend"]


def test_a_database_that_cannot_be_read_is_a_failure(orch, agent, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "orchestrator.db").write_bytes(b"this is no database at all" * 100)
    ran = orch("doctor", "--json")
    assert ran.code == 1
    assert not checks(ran)["database"]["ok"]


def test_each_project_is_looked_at(orch, agent, tmp_path):
    path = repositories.made(tmp_path / "tally", {".orchestrator.yml": repositories.CONTRACT})
    orch("project", "add", "tally", "--prefix", "TAL")
    good = orch("doctor", "--json")
    assert good.code == 0, good.out
    assert checks(good)["tally: contract"]["detail"] == "valid; without staging, deploy"
    path.rename(tmp_path / "elsewhere")
    ran = orch("doctor", "--json")
    assert ran.code == 1
    check = checks(ran)["tally: repository"]
    assert (check["ok"], check["detail"]) == (False, f"{path} is not there")
