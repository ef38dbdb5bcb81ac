"""The place in which a demonstration happens: a home of its own, the sample's repository, the services."""

import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

import psutil

from orchestrator.errors import BadInput, Unavailable
from orchestrator.plumbing.git import Author, Git
from orchestrator.plumbing.processes import CommandSpec, Processes, clean_environment
from orchestrator.plumbing.processes.leftovers import RUN_VARIABLE

HERE: Final = Path(__file__).resolve().parent
PROJECT: Final = "tally"
PREFIX: Final = "DEMO"
OWNER: Final = Author("Demo", "demo@orchestrator.invalid")
_CACHES: Final = shutil.ignore_patterns("__pycache__", ".*_cache", "*.pyc")
_LIMIT: Final = timedelta(seconds=15)
_GRACE: Final = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Request:
    """The work item that is filed."""

    title: str
    description: str


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A directory that everything of a demonstration is below; it must be new or empty."""

    root: Path

    @classmethod
    def made(cls, directory: Path | None) -> "Sandbox":
        """A temporary directory, or the one that the person named.

        Raises:
            BadInput: the named directory holds something, or cannot be made.
        """
        if directory is None:
            return cls(Path(tempfile.mkdtemp(prefix="orch-demo-")).resolve())
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if any(directory.iterdir()):
                raise BadInput(f"{directory} is not empty; the demo takes a new directory with --home")
        except OSError as error:
            raise BadInput(f"{directory} cannot be used: {error.strerror}") from error
        return cls(directory.resolve())

    @property
    def home(self) -> Path:
        """Data directory of the orchestrator."""
        return self.root / "home"

    @property
    def repository(self) -> Path:
        """The user's repository, from which the project is taken."""
        return self.root / PROJECT

    @property
    def agent(self) -> Path:
        """The scripted agent, in a place where it is executable for sure."""
        return self.root / "agent" / "agent.py"

    async def furnish(self, git: Git) -> None:
        """Put the agent and the sample's repository with its first commit into place."""
        shutil.copytree(HERE / "playbook", self.agent.parent / "playbook", ignore=_CACHES)
        shutil.copy(HERE / "agent.py", self.agent)
        self.agent.chmod(0o755)
        shutil.copytree(HERE / "sample", self.repository, ignore=_CACHES)
        await git.run("init", "--quiet", "--initial-branch=main", cwd=self.repository)
        await git.run("add", "--all", cwd=self.repository)
        first = ("commit", "--quiet", "--message", "The tally service")
        await git.run(*first, cwd=self.repository, env=OWNER.environment())

    def request(self) -> Request:
        """The work item of the playbook."""
        ticket = tomllib.loads((HERE / "playbook" / "ticket.toml").read_text(encoding="utf-8"))
        return Request(ticket["title"], ticket["description"].strip())

    async def stop_services(self, processes: Processes) -> None:
        """Stop what runs as staging and as production, with the sample's own script."""
        for identity in sorted(self.root.rglob("service.json")):
            name, state = identity.parent.name, identity.parent.parent
            script = self.repository / "ops" / "service.py"
            words = ("stop", "--name", name, "--root", str(state), "--port", "1")
            spec = CommandSpec(
                argv=(sys.executable, str(script), *words),
                cwd=self.repository,
                env=clean_environment({"PYTHONDONTWRITEBYTECODE": "1"}),
                limit=_LIMIT,
                grace=_GRACE,
            )
            record = await processes.run(self.root / "ending" / name, spec)
            if not record.ok:
                raise Unavailable(f"the {name} service could not be stopped; look at {identity}")

    def leftovers(self) -> list[psutil.Process]:
        """Living processes that belong to this place: by the mark of a run, or by their directory."""
        return [process for process in psutil.process_iter() if self._owns(process)]

    def _owns(self, process: psutil.Process) -> bool:
        if process.pid == os.getpid():
            return False
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            places = (process.environ().get(RUN_VARIABLE, ""), process.cwd(), *process.cmdline())
        except (psutil.NoSuchProcess, psutil.AccessDenied, OSError):
            # Processes of other users and of the system are not ours.
            return False
        return any(place.startswith(f"{self.root}{os.sep}") for place in places)

    def end_leftovers(self) -> list[str]:
        """End every process that is left, the polite way first; what they were."""
        told: dict[int, str] = {}
        for end in (psutil.Process.terminate, psutil.Process.kill):
            left = self.leftovers()
            for process in left:
                try:
                    told.setdefault(process.pid, f"{process.pid} {' '.join(process.cmdline())[:80]}")
                    end(process)
                except psutil.NoSuchProcess:
                    continue
            psutil.wait_procs(left, timeout=_GRACE.total_seconds())
        return list(told.values())

    def worktrees(self) -> list[str]:
        """Worktrees of work items that are still there."""
        places = self.home / "worktrees"
        return sorted(str(path.parent.relative_to(places)) for path in _tops(places))

    def remove(self) -> None:
        """Remove the directory with everything in it."""
        shutil.rmtree(self.root)


def _tops(places: Path) -> Iterator[Path]:
    """The `.git` entries that stand at the top of worktrees, without looking into the worktrees."""
    for directory, folders, files in os.walk(places):
        if ".git" in files or ".git" in folders:
            folders.clear()
            yield Path(directory, ".git")
