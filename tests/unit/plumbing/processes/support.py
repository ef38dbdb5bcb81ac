"""Commands that leave processes behind, and waiting for what they do."""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import psutil

from orchestrator.plumbing.processes import CommandSpec

PYTHON = (sys.executable, "-I", "-S", "-c")

# Writes its pid once it ignores SIGTERM, and then stays.
STUBBORN = """
import os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(sys.argv[1] + ".part", "w") as file:
    file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".part", sys.argv[1])
while True:
    signal.pause()
"""
# Forks twice with a session of its own in between, as a daemon does; the last of the family is stubborn.
DAEMON = (
    "import os\nif os.fork():\n    os.wait()\n    {then}\nos.setsid()\nif os.fork():\n    os._exit(0)\n"
    + STUBBORN
)


def spec(
    argv: tuple[str, ...],
    cwd: Path,
    *,
    limit_s: float = 20,
    grace_s: float = 5,
    keep_children: bool = False,
    **env: str,
) -> CommandSpec:
    """A command with an environment of nearly nothing."""
    return CommandSpec(
        argv,
        cwd,
        {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **env},
        limit=timedelta(seconds=limit_s),
        grace=timedelta(seconds=grace_s),
        keep_children=keep_children,
    )


def shell(script: str, cwd: Path, **options: object) -> CommandSpec:
    """The same for a line of shell."""
    return spec(("/bin/sh", "-c", script), cwd, **options)  # type: ignore[arg-type]


def daemon(pid_file: Path, *, then: str) -> tuple[str, ...]:
    """A command that makes a daemon, and then does what `then` says in Python."""
    return (*PYTHON, DAEMON.format(then=then), str(pid_file))


async def eventually(condition: Callable[[], object], *, within_s: float = 10) -> None:
    """Return as soon as the condition holds."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.003)


async def pid_in(file: Path) -> int:
    """The process id that a command writes into a file."""
    await eventually(lambda: file.exists() and file.read_text().strip())
    return int(file.read_text())


def lives(pid: int) -> bool:
    """Whether the process is there and not just waiting to be collected."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def marked(name: str, value: str) -> list[int]:
    """The living processes that carry this variable with this value."""
    found = []
    for process in psutil.process_iter():
        try:
            alive = process.status() != psutil.STATUS_ZOMBIE
            if alive and process.environ().get(name) == value:
                found.append(process.pid)
        except (psutil.Error, OSError):
            # Gone meanwhile, or of another user.
            continue
    return found
