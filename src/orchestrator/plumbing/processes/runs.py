"""Starts supervised commands, finds them again by their directory, waits for them and stops them.

Files of a run directory: `lock` (held by the living supervisor), `command`, `supervisor.json`, `output.log`,
`exit.json`. A run is begun at most once: whoever holds the lock and finds that nothing was begun begins it.
"""

import asyncio
import contextlib
import fcntl
import os
import signal
import stat
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import psutil

from orchestrator.errors import Unavailable
from orchestrator.plumbing.processes import supervisor
from orchestrator.plumbing.processes.leftovers import RUN_VARIABLE, kill_leftovers
from orchestrator.plumbing.processes.records import (
    SUPERVISOR_IS_GONE,
    CommandSpec,
    ExitRecord,
    read_exit,
    read_identity,
)

# The supervisor lifts this block when its handlers stand, so a stop in its first milliseconds is not lost.
_BLOCKED_AT_START = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)


class SupervisedRun:
    """A run that was started, by us or by an orchestrator before us."""

    def __init__(self, run_dir: Path, pid: int | None, processes: "Processes") -> None:
        self.run_dir = run_dir
        self.pid = pid
        """The supervisor's process id; None when the run had ended before we looked."""
        self._processes = processes

    @property
    def log_path(self) -> Path:
        """Where standard output and error of the command go."""
        return self.run_dir / "output.log"

    async def wait(self) -> ExitRecord:
        """Wait for the end; cancelling the wait leaves the run alone.

        A supervisor that died without a record has what is left of its command killed, and the record says
        so (`ExitRecord.lost`).

        Raises:
            Malformed: the exit record is damaged.
        """
        if self.pid is not None:
            await self._processes.await_end(self.run_dir, self.pid)
        record = read_exit(self.run_dir / "exit.json")
        return record if record is not None else await self._write_off()

    async def stop(self) -> ExitRecord:
        """Ask the supervisor to end the whole tree (SIGTERM, grace, SIGKILL) and wait for it.

        A run that has ended already keeps the record it has.

        Raises:
            Malformed: the exit record is damaged.
        """
        # The lock is looked at first: only its holder can be meant by the process id.
        if self.pid is not None and _is_held(self.run_dir):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
        return await self.wait()

    async def _write_off(self) -> ExitRecord:
        identity = read_identity(self.run_dir / "supervisor.json")
        await asyncio.to_thread(kill_leftovers, str(self.run_dir), identity)
        started = identity.started if identity is not None else None
        return ExitRecord(exit_code=None, started=started, error=SUPERVISOR_IS_GONE)


class Processes:
    """The door to supervised commands; one per orchestrator process.

    Args:
        poll: How often to look where the system cannot tell us.
        pause: What waits between two looks.
        event_driven: Wait on a pidfd (Linux) instead of looking at the lock.
    """

    def __init__(
        self,
        *,
        poll: timedelta = timedelta(milliseconds=20),
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        event_driven: bool = hasattr(os, "pidfd_open"),
    ) -> None:
        self._poll_s = poll.total_seconds()
        self._pause = pause
        self._event_driven = event_driven
        self._unreaped: set[int] = set()

    async def run(self, run_dir: Path, spec: CommandSpec) -> ExitRecord:
        """Start the command, or find it started, and wait for its end.

        Cancelling leaves the run alone; it is found again by its directory.

        Raises:
            Unavailable: the run directory or a process could not be made.
            Malformed: a file of the run is damaged.
        """
        return await (await self.start(run_dir, spec)).wait()

    async def start(self, run_dir: Path, spec: CommandSpec) -> SupervisedRun:
        """Begin the run unless it was begun before, by anyone; a directory stands for one run only.

        A command that cannot be executed is not an error here: its record says so.

        Raises:
            Unavailable: the run directory or a process could not be made.
            Malformed: a file of the run is damaged.
        """
        self._reap()
        run_dir = run_dir.absolute()
        while True:
            try:
                pid = _begin(run_dir, spec)
            except OSError as error:
                raise Unavailable(f"cannot start {spec.argv[0]}: {error}") from error
            if pid is not None:
                self._unreaped.add(pid)
                return SupervisedRun(run_dir, pid, self)
            found = await self.attach(run_dir)
            if found is not None:
                return found

    async def attach(self, run_dir: Path) -> SupervisedRun | None:
        """The run of a directory, living or ended or lost; None when none was begun there.

        Raises:
            Malformed: a file of the run is damaged.
        """
        run_dir = run_dir.absolute()
        while _is_held(run_dir):
            identity = read_identity(run_dir / "supervisor.json")
            if identity is not None:
                return SupervisedRun(run_dir, identity.pid, self)
            # Its supervisor is just being started.
            await self._pause(self._poll_s)
        return SupervisedRun(run_dir, None, self) if was_begun(run_dir) else None

    async def stop_below(self, directory: Path) -> int:
        """Stop every living run whose directory is below ``directory``; how many there were.

        Raises:
            Malformed: a file of a run is damaged.
        """
        begun = [command.parent for command in directory.rglob("command")] if directory.is_dir() else []
        runs = [await self.attach(place) for place in begun if _is_held(place)]
        living = [run for run in runs if run is not None and run.pid is not None]
        await asyncio.gather(*(run.stop() for run in living))
        return len(living)

    async def sweep(self, run_dir: Path) -> set[int]:
        """Kill what still carries the mark of a run that has ended, and say what it was.

        Its supervisor has ended everything that descends from it; where the system does not tell descendants,
        the mark in the environment does.
        """
        return await asyncio.to_thread(kill_leftovers, str(run_dir.absolute()), None)

    def works_in(self, directory: Path) -> bool:
        """Whether a process of this machine has its current directory in ``directory`` or below."""
        place = directory.resolve()
        for process in psutil.process_iter(["cwd"]):
            cwd = process.info["cwd"]
            if cwd and Path(cwd).is_relative_to(place):
                return True
        return False

    async def await_end(self, run_dir: Path, pid: int) -> None:
        """Return when the supervisor of the run has ended, also one that is not our child."""
        with _pidfd(pid, wanted=self._event_driven) as descriptor:
            # The lock is looked at with the descriptor open: if it is held now, the id was not a stranger's.
            while _is_held(run_dir):
                if descriptor is None:
                    await self._pause(self._poll_s)
                else:
                    await _readable(descriptor)
                    break
        self._reap()

    def _reap(self) -> None:
        for pid in tuple(self._unreaped):
            try:
                ended = os.waitpid(pid, os.WNOHANG)[0] != 0
            except ChildProcessError:
                ended = True
            if ended:
                self._unreaped.discard(pid)


def was_begun(run_dir: Path) -> bool:
    """Whether the run of this directory was really started: its log is made by the start itself.

    A starter that was killed after it noted the command, and before it started anything, has begun nothing.
    """
    return (run_dir / "command").exists() and (run_dir / "output.log").exists()


def _begin(run_dir: Path, spec: CommandSpec) -> int | None:
    """Start a supervisor and give its process id; None when the run was begun or is just being begun.

    Raises:
        OSError: something that is needed could not be made.
    """
    run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if was_begun(run_dir):
        return None
    lock = os.open(run_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        if was_begun(run_dir):
            return None
        return _spawn(run_dir, spec, lock)
    finally:
        # The supervisor has inherited the same lock, so there is no moment at which nobody holds it.
        os.close(lock)


def _write_command(run_dir: Path, spec: CommandSpec) -> None:
    part = run_dir / "command.part"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(spec.encoded())
    part.replace(run_dir / "command")


def _spawn(run_dir: Path, spec: CommandSpec, lock: int) -> int:
    _write_command(run_dir, spec)
    try:
        return _spawn_supervisor(run_dir, spec, lock)
    except (OSError, ValueError):
        # Nothing was begun, so the same directory can be tried again.
        (run_dir / "command").unlink()
        raise


def _spawn_supervisor(run_dir: Path, spec: CommandSpec, lock: int) -> int:
    log = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", supervisor.__file__, str(run_dir)],
        {**spec.env, RUN_VARIABLE: str(run_dir)},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, lock, supervisor.LOCK_DESCRIPTOR),
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(run_dir / "output.log"), log, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigmask=_BLOCKED_AT_START,
    )


def _is_held(run_dir: Path) -> bool:
    """Whether somebody holds the lock of the run directory: a supervisor, or a starter for a moment."""
    try:
        # Without waiting and without following: whatever else stands there was never made by a supervisor.
        lock = os.open(run_dir / "lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        if not stat.S_ISREG(os.fstat(lock).st_mode):
            return False
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


@contextmanager
def _pidfd(pid: int, *, wanted: bool) -> Iterator[int | None]:
    """A descriptor that becomes readable when the process ends; None where there is no such thing."""
    if not wanted:
        yield None
        return
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        # Gone already, or forbidden by a sandbox: the lock tells which.
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
