"""`orch serve` as a process of its own: it answers, works with the other commands, and ends in order."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.plumbing.sockets import free_ports
from tests.unit.cli import repositories

ORCH = [sys.executable, "-m", "orchestrator.cli"]
AGENT = "#!/bin/sh\necho token=sesame-open-now\necho looked at $ORCH_WORK_ITEM\nexit 1\n"


@dataclass
class Installation:
    """A home with one project, and the environment of its commands."""

    root: Path
    environment: dict[str, str]
    port: int

    def orch(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*ORCH, *words],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def json(self, *words: str) -> Any:
        return json.loads(self.orch(*words, "--json").stdout)

    def serve(self) -> "subprocess.Popen[str]":
        """A server that is ready."""
        server = subprocess.Popen(
            [*ORCH, "serve", "--log-json"],
            cwd=self.root,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert server.stdout is not None
        assert server.stdout.readline() == f"orchestrator is ready: http://127.0.0.1:{self.port}\n"
        return server


@pytest.fixture
def installation(tmp_path) -> Installation:
    port, staging = free_ports(2)
    agent = tmp_path / "agent.sh"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    ours = {name: value for name, value in os.environ.items() if not name.startswith("ORCH_")}
    environment = {
        **ours,
        "ORCH_HOME": str(tmp_path / "home"),
        "ORCH_PORT": str(port),
        "ORCH_STAGING_PORT": str(staging),
        "ORCH_AGENT_CLI": "script",
        "ORCH_AGENT_COMMAND": str(agent),
    }
    made = Installation(tmp_path, environment, port)
    repositories.made(tmp_path / "tally")
    assert made.orch("project", "add", "tally", "--prefix", "TAL").returncode == 0
    return made


@pytest.fixture
def server(installation) -> Iterator["subprocess.Popen[str]"]:
    process = installation.serve()
    with process:
        yield process
        process.kill()


def test_a_server_answers_and_ends_in_order_when_it_is_told(installation, server):
    with urllib.request.urlopen(f"http://127.0.0.1:{installation.port}/health", timeout=5) as answer:
        assert json.load(answer)["service"] == "orchestrator"
    second = installation.orch("serve")
    assert second.returncode == 2
    assert "an orchestrator runs on" in second.stderr
    server.send_signal(signal.SIGTERM)
    assert server.wait(timeout=10) == 0


def test_an_item_that_another_process_files_is_worked_on(installation, server):
    filed = installation.orch("item", "new", "A wish", "--project", "tally", "--by", "sam")
    assert (filed.returncode, filed.stderr) == (0, "")
    log = subprocess.Popen(
        [*ORCH, "item", "follow", "TAL-1", "--json"],
        cwd=installation.root,
        env=installation.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    with log:
        assert log.stdout is not None
        kinds: list[dict[str, Any]] = []
        for line in log.stdout:
            kinds.append(json.loads(line))
            if kinds[-1].get("to") == "analysis":
                break
        log.kill()
    assert kinds[0]["kind"] == "created"
    last = time.monotonic() + 30
    while not (runs := installation.json("item", "show", "TAL-1")["runs"]):
        assert time.monotonic() < last, "no run was begun"
    shown = installation.orch("item", "logs", "TAL-1", "-f", "--run", str(runs[0]["id"]))
    assert "looked at TAL-1" in shown.stdout
    assert "sesame" not in shown.stdout
    stopped = installation.json("item", "stop", "TAL-1", "--reason", "enough")
    assert stopped["stage"] == "cancelled"
