"""Commands locked in as a transport would start them, with a service's home and data around them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from orchestrator.agents.clis import Launch
from orchestrator.agents.sandbox import confine
from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.stages import Role
from orchestrator.plumbing.bubblewrap.cells import interpreter
from orchestrator.plumbing.processes import CommandSpec, ExitRecord, Processes, SupervisedRun
from orchestrator.ports.agent import AgentTask, Confinement

PYTHON = (interpreter(), "-I", "-S", "-c")


@dataclass(frozen=True)
class Done:
    """A run's record and what it said."""

    record: ExitRecord
    said: str


class Locked:
    """Starts commands in ``workspace``, each run in a directory of its own below the service's data."""

    def __init__(self, tmp_path: Path) -> None:
        self.data = tmp_path / "data"
        self.service_home = tmp_path / "service"
        self.workspace = self.data / "lent" / "clone"
        self.home = self.data / "homes" / "SHOP-1"
        for place in (self.workspace, self.service_home):
            place.mkdir(parents=True)
        self._processes = Processes()
        self._count = 0

    def task(
        self, *, network: bool = True, memory_mb: int = 0, limit_s: float = 30, grace_s: float = 10
    ) -> AgentTask:
        self._count += 1
        return AgentTask(
            role=Role.DEVELOPER,
            work_item=WorkItemId("SHOP-1"),
            project="shop",
            title="Count",
            workspace=self.workspace,
            task_file=self.workspace / ".task-dev.md",
            artifact_dir=self.workspace / "docs" / "work-items" / "SHOP-1",
            branch="feature/SHOP-1-count",
            base="main",
            base_commit=None,
            round=1,
            run_id=self._count,
            run_dir=self.data / "runs" / str(self._count),
            limit=timedelta(seconds=limit_s),
            grace=timedelta(seconds=grace_s),
            confinement=Confinement(self.home, network=network, memory_mb=memory_mb),
        )

    def launch(
        self,
        *argv: str,
        readable: tuple[str, ...] = (),
        endpoint: str = "",
        env: Mapping[str, str] | None = None,
    ) -> Launch:
        own = {"PATH": "/usr/bin:/bin", "HOME": str(self.service_home), "LC_ALL": "C.UTF-8"}
        return Launch(argv, own | dict(env or {}), readable, endpoint)

    async def start(self, launch: Launch, task: AgentTask) -> SupervisedRun:
        """Start it as the transport does: the files are written first."""
        inside = confine(launch, task)
        task.run_dir.mkdir(parents=True)
        for name, text in inside.files.items():
            (task.run_dir / name).write_text(text, "utf-8", "surrogateescape")
        spec = CommandSpec(inside.argv, task.workspace, inside.env, limit=task.limit, grace=task.grace)
        return await self._processes.start(task.run_dir, spec)

    async def run(self, launch: Launch, task: AgentTask | None = None) -> Done:
        """Run it to its end."""
        run = await self.start(launch, task or self.task())
        record = await run.wait()
        return Done(record, run.log_path.read_text())

    async def shell(self, script: str, task: AgentTask | None = None) -> Done:
        """Run some lines of shell."""
        return await self.run(self.launch("/bin/sh", "-c", script), task)

    async def python(self, code: str, task: AgentTask, **options: object) -> Done:
        """Run some lines of Python."""
        return await self.run(self.launch(*PYTHON, code, **options), task)  # type: ignore[arg-type]


def command_lines() -> list[str]:
    """The argv of every process of this machine."""
    return [text for text in map(_read, Path("/proc").glob("[0-9]*/cmdline")) if text]


def _read(path: Path) -> str:
    try:
        return path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def pids_saying(text: str) -> list[int]:
    """The living processes that have this text in their argv."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        if text in _read(path) and int(path.parent.name) != os.getpid():
            found.append(int(path.parent.name))
    return found


def bridges_of(run_dir: Path) -> list[int]:
    """The bridges of one run."""
    return [pid for pid in pids_saying("bubblewrap/bridge.py") if str(run_dir) in environment_of(pid)]


def environment_of(pid: int) -> str:
    """The environment that a process was started with."""
    return _read(Path(f"/proc/{pid}/environ"))
