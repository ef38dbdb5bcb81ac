"""A copy of the sample service in a repository of its own, and what tests do with it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import psutil

DEMO = Path(__file__).resolve().parents[3] / "src" / "orchestrator" / "demo"
PYTHON = str(Path(sys.executable))


@dataclass
class Bench:
    """A checkout of the sample with a state directory and two free ports."""

    root: Path
    state: Path
    ports: dict[str, int] = field(default_factory=dict)

    @classmethod
    def made(cls, directory: Path) -> "Bench":
        bench = cls(
            directory / "checkout", directory / "state", {"staging": free_port(), "production": free_port()}
        )
        shutil.copytree(DEMO / "sample", bench.root, ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
        bench.state.mkdir()
        return bench

    def command(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the checkout to its end."""
        ours = {
            "PATH": f"{Path(PYTHON).parent}{os.pathsep}{os.environ['PATH']}",
            "ORCH_STATE_DIR": str(self.state),
            "ORCH_PORT_STAGING": str(self.ports["staging"]),
            "ORCH_PORT_PRODUCTION": str(self.ports["production"]),
            "PYTHONDONTWRITEBYTECODE": "1",
            **variables,
        }
        return subprocess.run(
            words, cwd=self.root, env=ours, capture_output=True, text=True, timeout=30, check=False
        )

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=Sam", "-c", "user.email=sam@example.org")
        done = self.command("git", *identity, *words, GIT_CONFIG_GLOBAL=os.devnull)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self) -> str:
        """Make everything the checkout holds a commit; its id."""
        if not (self.root / ".git").exists():
            self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "state")
        return self.git("rev-parse", "HEAD")

    def suite(self) -> subprocess.CompletedProcess[str]:
        return self.command(PYTHON, "-m", "pytest", "tests", "-q")

    def operate(self, *words: str, revision: str = "one") -> subprocess.CompletedProcess[str]:
        return self.command(PYTHON, "ops/service.py", *words, ORCH_REVISION=revision)

    def status(self, name: str) -> dict[str, object]:
        said: dict[str, object] = json.loads(self.operate("status", "--name", name).stdout)
        return said

    def edit(self, path: str, old: str, new: str) -> None:
        file = self.root / path
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    def processes(self) -> list[psutil.Process]:
        """The living service processes that run from the state directory."""
        found = []
        for process in psutil.process_iter(["cwd", "status"]):
            cwd, status = process.info["cwd"] or "", process.info["status"]
            if cwd.startswith(f"{self.state}{os.sep}") and status != psutil.STATUS_ZOMBIE:
                found.append(process)
        return found

    def close(self) -> list[int]:
        """Stop what runs through the service's own script; the ids of processes that this did not reach."""
        for name in self.ports:
            if (self.state / name / "service.json").exists():
                self.operate("stop", "--name", name)
        left = [process.pid for process in self.processes()]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return left


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
