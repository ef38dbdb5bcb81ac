"""Real CLIs at work through the transport, in a repository of their own, with a script for a model."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from orchestrator.agents.clis import Cli
from orchestrator.agents.transport import CliTransport, Kinds
from orchestrator.agents.versions import Versions
from orchestrator.pipeline.stages import Role
from orchestrator.plumbing.processes import Processes
from orchestrator.ports.agent import AgentTask
from orchestrator.ports.clock import Clock
from tests.unit.agents.tasks import agent_task
from tests.unit.testing.models.workplaces import repository


def real_task(home: Path, role: Role = Role.DEVELOPER, run: str = "one") -> AgentTask:
    """A task in a repository that is there."""
    task = agent_task(home, role)
    if not task.workspace.exists():
        repository(task.workspace)
        task.artifact_dir.mkdir(parents=True)
    task.task_file.write_text("Do it.\n")
    return replace(task, run_dir=home / "runs" / run, prompt="You are an agent of the shop.")


def events(task: AgentTask) -> Iterator[dict]:
    """What the CLI printed."""
    for line in (task.run_dir / "output.log").read_text().splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def transport_of(kind: str, cli: Cli, clock: Clock, home: Path) -> CliTransport:
    """The transport with this one kind of CLI."""
    processes = Processes()
    return CliTransport(
        processes, Kinds({kind: cli}, kind), clock, versions=Versions(processes, home / "versions")
    )
