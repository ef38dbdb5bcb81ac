"""The agents that keep one contract: what a test lets them do, and what is seen of it."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

from orchestrator.agents.clis.script import ScriptCli
from orchestrator.agents.transport import CliTransport, Kinds
from orchestrator.agents.versions import Versions
from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.stages import Role
from orchestrator.plumbing.processes import Processes
from orchestrator.ports.agent import (
    AgentFailed,
    AgentOutcome,
    AgentTask,
    AgentTransport,
    LimitReached,
    NotStarted,
    Usage,
)
from orchestrator.testing import ManualClock, ScriptedAgent
from tests.unit.plumbing.processes.support import eventually

NOW = datetime(2026, 3, 1, tzinfo=UTC)
USED = Usage(1000, 100, 0.01)
USAGE_LINE = '{"usage": {"input": 1000, "output": 100, "cost_usd": 0.01}}'


@dataclass
class Bench(ABC):
    """An agent that marks each beginning in its workspace, and goes on when the file ``go`` is there."""

    home: Path

    def __post_init__(self) -> None:
        self.workspace = self.home / "workspace"
        self.workspace.mkdir()

    @abstractmethod
    def transport(self) -> AgentTransport:
        """The door to the agents of this host; asked again, as if the orchestrator had started again."""

    @abstractmethod
    def does(self, ending: str) -> None:
        """What every run comes to: ``done``, ``limit``, ``failed`` or ``missing``."""

    def task(self, run: str = "one") -> AgentTask:
        return AgentTask(
            role=Role.REVIEWER,
            work_item=WorkItemId("SHOP-1"),
            project="shop",
            title="Count visits",
            workspace=self.workspace,
            task_file=self.workspace / ".task-reviewer.md",
            artifact_dir=self.workspace / "docs" / "work-items" / "SHOP-1",
            branch="feature/SHOP-1-count",
            base="main",
            base_commit=None,
            round=1,
            run_id=41,
            run_dir=self.home / "runs" / run,
            limit=timedelta(seconds=20),
            grace=timedelta(milliseconds=300),
        )

    def go(self) -> None:
        (self.workspace / "go").touch()

    @property
    def beginnings(self) -> int:
        marks = self.workspace / "begun"
        return len(marks.read_text().splitlines()) if marks.exists() else 0

    async def begun(self) -> None:
        """Wait until the agent is at work."""
        await eventually(lambda: self.beginnings > 0)


class CliBench(Bench):
    """Real processes: the kind ``script``."""

    _ENDINGS: ClassVar = {
        "done": "exit 0",
        "limit": "echo 'back at nine'; exit 75",
        "failed": "echo 'oh no'; exit 3",
    }

    def does(self, ending: str) -> None:
        file = self.home / "agent"
        file.unlink(missing_ok=True)
        if ending == "missing":
            return
        waits = "echo x >> begun; until [ -e go ]; do sleep 0.01; done"
        file.write_text(f"#!/bin/sh\n{waits}\necho '{USAGE_LINE}'\n{self._ENDINGS[ending]}\n")
        file.chmod(0o755)

    def transport(self) -> AgentTransport:
        clock = ManualClock(NOW)
        cli = ScriptCli(clock, home=self.home, command=str(self.home / "agent"), extra={})
        processes = Processes()
        return CliTransport(
            processes,
            Kinds({"script": cli}, "script"),
            clock,
            versions=Versions(processes, self.home / "versions"),
        )


class ScriptedBench(Bench):
    """The agent for tests and simulations, whose runs are as old as itself."""

    _ENDINGS: ClassVar[dict[str, AgentOutcome | None]] = {
        "done": None,
        "limit": LimitReached(USED, "back at nine"),
        "failed": AgentFailed(USED, "exit code 3: oh no", 3),
        "missing": NotStarted("there is no agent"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        self._agent = ScriptedAgent(self._act, ManualClock(NOW))
        self._ending: AgentOutcome | None = None

    def does(self, ending: str) -> None:
        self._ending = self._ENDINGS[ending]

    def transport(self) -> AgentTransport:
        return self._agent

    async def _act(self, task: AgentTask) -> AgentOutcome | None:
        if isinstance(self._ending, NotStarted):
            return self._ending
        with (task.workspace / "begun").open("a") as marks:
            marks.write("x\n")
        await eventually((task.workspace / "go").exists)
        return self._ending


def script(home: Path) -> Bench:
    return CliBench(home)


def scripted(home: Path) -> Bench:
    return ScriptedBench(home)


ROWS: list[Callable[[Path], Bench]] = [script, scripted]


async def interrupted(running: "asyncio.Task[AgentOutcome]") -> None:
    """The orchestrator ends while it waits for a run."""
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
