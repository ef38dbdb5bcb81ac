"""A whole installation in a directory: its own home, a user's repository, an agent, and the `orch` command.

Everything is asked through the front door: the command line, HTTP, git, and what is left in files.
"""

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import httpx
import psutil

from orchestrator.plumbing.processes.leftovers import RUN_VARIABLE
from orchestrator.plumbing.sockets import free_ports

HERE: Final = Path(__file__).resolve().parent
IDENTITY: Final = ("-c", "user.name=Sam", "-c", "user.email=sam@localhost")
DEADLINE_S: Final = 30.0
_PAUSE: Final = threading.Event()
View = dict[str, Any]
Found = TypeVar("Found")


def eventually(look: Callable[[], Found], what: str, *, within: float = DEADLINE_S) -> Found:
    """What ``look`` gives as soon as it gives something true."""
    last = time.monotonic() + within
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < last, f"not within {within:g} s: {what}"
        _PAUSE.wait(0.02)


def git(path: Path, *words: str) -> str:
    """Run git as the user of the repository; what it prints."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(
        ["git", *IDENTITY, *words], cwd=path, env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, f"git {' '.join(words)}: {done.stderr}"
    return done.stdout.strip()


def repository(path: Path, files: Mapping[str, str]) -> Path:
    """A user's repository with these files as its first commit on main."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    return commit(path, files, "first")


def commit(path: Path, files: Mapping[str, str], message: str = "more") -> Path:
    """Write these files and commit everything."""
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", message)
    return path


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Zygote:
    """Forks `orch` processes; see `zygote.py`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "zygote.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={name: value for name, value in os.environ.items() if not name.startswith("ORCH_")},
        )

    def ask(self, order: Mapping[str, object]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(order)}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(10)


@dataclass
class Server:
    """A running `orch serve`."""

    house: "House"
    pid: int
    _code: int | None = None

    def ended(self) -> bool:
        """Whether it is gone; its exit code is known then."""
        if self._code is None:
            self._code = self.house.zygote.ask({"poll": self.pid})
        return self._code is not None

    def kill(self, number: int) -> int:
        """Send a signal; the exit code, once it is gone."""
        os.kill(self.pid, number)
        eventually(self.ended, f"the server ends after signal {number}", within=10)
        assert self._code is not None
        return self._code


@dataclass
class House:
    """One installation with a user's repository and the scripted agent."""

    root: Path
    zygote: Zygote
    settings: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=lambda: free_ports(1)[0])
    servers: list[Server] = field(default_factory=list)
    decided: set[tuple[object, ...]] = field(default_factory=set)
    _count: int = 0

    def __post_init__(self) -> None:
        (self.root / "ledger").mkdir(parents=True)
        for name in ("agent.py", "step.sh"):
            (self.root / name).write_bytes((HERE / name).read_bytes())
            (self.root / name).chmod(0o755)
        self.settings = {
            "ORCH_HOME": str(self.home),
            "ORCH_PORT": str(self.port),
            "ORCH_MAX_CONCURRENCY": "2",
            "ORCH_POLL_INTERVAL": "0.05",
            "ORCH_AGENT_KILL_GRACE_SECONDS": "1",
            **self.settings,
        }

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def user(self) -> Path:
        """The user's own repository."""
        return self.root / "shop"

    def ledger(self, name: str) -> list[list[str]]:
        """The lines of a file of the ledger, split into words."""
        path = self.root / "ledger" / name
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def worked(self, item: str, role: str) -> bool:
        """Whether an agent has left its work for the item, be it still at work or not."""
        return any(line[:2] == [item, role] for line in self.ledger("worked"))

    def steer(self, name: str, text: str = "") -> None:
        """Put a file into the ledger that agent or commands look for."""
        (self.root / "ledger" / name).write_text(text)

    def release(self, name: str) -> None:
        """Take it away again."""
        (self.root / "ledger" / name).unlink()

    def contract(self) -> str:
        """A contract whose commands write down each start."""
        step = self.root / "step.sh"
        return (
            f"test: {{run: {step} test}}\n"
            f"staging: {{start: {step} start, check: {step} staging, revision: {step} staging-revision}}\n"
            f"deploy: {{run: {step} deploy, revision: {step} revision}}\n"
        )

    def environment(self) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return {**inherited, **self.settings}

    def _begin(self, *words: object) -> tuple[int, Path]:
        self._count += 1
        said = self.root / "said" / str(self._count)
        said.mkdir(parents=True)
        order = {
            "argv": [str(word) for word in words],
            "env": self.environment(),
            "cwd": str(self.root),
            "out": str(said / "out"),
            "err": str(said / "err"),
        }
        return int(self.zygote.ask(order)), said

    def orch(self, *words: object, within: float = DEADLINE_S) -> Ran:
        """Run one command to its end."""
        pid, said = self._begin(*words)
        codes: list[int] = []

        def ended() -> bool:
            code = self.zygote.ask({"poll": pid})
            codes.extend([] if code is None else [code])
            return bool(codes)

        eventually(ended, f"orch {' '.join(map(str, words))} ends", within=within)
        return Ran(codes[0], (said / "out").read_text(), (said / "err").read_text())

    def done(self, *words: object) -> Any:
        """Run one command that must succeed, with --json; its answer."""
        ran = self.orch(*words, "--json")
        assert ran.code == 0, ran
        return ran.json

    def serve(self) -> Server:
        """Start the server and wait until it is ready."""
        pid, said = self._begin("serve")
        server = Server(self, pid)
        self.servers.append(server)

        def is_ready() -> bool:
            assert not server.ended(), (said / "err").read_text()
            return "is ready" in (said / "out").read_text() if (said / "out").exists() else False

        eventually(is_ready, "the server is ready", within=20)
        return server

    # What it says over HTTP.

    def get(self, path: str) -> Any:
        answer = httpx.get(f"http://127.0.0.1:{self.port}{path}", trust_env=False, timeout=10)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Mapping[str, object] | None = None) -> Any:
        address = f"http://127.0.0.1:{self.port}{path}"
        answer = httpx.post(address, json=body or {}, trust_env=False, timeout=10)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def view(self, item: str) -> View:
        view: View = self.get(f"/api/v1/items/{item}")
        return view

    def file(self, title: str, project: str = "shop") -> str:
        """File an item over HTTP; its number."""
        return str(self.post("/api/v1/items", {"project": project, "title": title})["work_item"])

    def decide(self, view: View) -> None:
        """Take a person's decision when one is waited for, once for each visit."""
        about = (view["work_item"], view["stage"], view["epoch"])
        if view["explanation"]["waits_for"] != "person" or about in self.decided:
            return
        self.decided.add(about)
        if view["stage"] == "analysis":
            self.post(f"/api/v1/items/{view['work_item']}/approve", {"by": "sam"})
        elif view["stage"] == "deploy":
            self.post(f"/api/v1/items/{view['work_item']}/confirm-deploy", {"by": "sam"})

    def drive(self, item: str, until: Callable[[View], object], *, within: float = DEADLINE_S) -> View:
        """Go along with the item and take a person's decisions, until something is so."""

        def look() -> View | None:
            view = self.view(item)
            if until(view):
                return view
            assert view["hold"] is None, view["hold"]
            assert view["stage"] not in {"done", "cancelled"}, view["stage"]
            self.decide(view)
            return None

        return eventually(look, f"{item} gets there", within=within) or {}

    def drive_to_done(self, item: str) -> View:
        """To the end: done, and nothing left to do for it."""
        self.drive(item, lambda view: view["stage"] == "done")
        eventually(lambda: self.is_quiet(), "nothing is queued or running any more")
        return self.view(item)

    def is_quiet(self) -> bool:
        rows = self.rows("orchestrator.db", "SELECT count(*) FROM jobs WHERE status IN ('queued', 'running')")
        return bool(rows == [(0,)])

    # What is left in files.

    def rows(self, file: str, query: str) -> list[Any]:
        with closing(sqlite3.connect(f"file:{self.home / file}?mode=ro", uri=True, timeout=10)) as connection:
            return connection.execute(query).fetchall()

    def forge(self, project: str = "shop") -> Path:
        return self.home / "forge" / f"{project}.git"

    def processes(self) -> Iterator[psutil.Process]:
        """Living processes that carry the mark of a run of this installation."""
        for process in psutil.process_iter():
            try:
                mark = process.environ().get(RUN_VARIABLE, "")
                if mark.startswith(f"{self.home}{os.sep}") and process.status() != psutil.STATUS_ZOMBIE:
                    yield process
            except (psutil.NoSuchProcess, psutil.AccessDenied, OSError):
                continue

    def told_processes(self) -> list[str]:
        return [f"{process.pid} {' '.join(command_of(process))}" for process in self.processes()]


def command_of(process: psutil.Process) -> list[str]:
    """The words of its command; none when it has just ended."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
