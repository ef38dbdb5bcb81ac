"""The small process that starts one command, ends its whole tree in time and leaves an exit record.

`runs.py` starts it as `python -I -S supervisor.py <run directory>` in a session of its own, so that it does
not die with the orchestrator (tree kill: ORCH-110, adr-0042). It gets:

- the file `command`: cwd, limit and grace in seconds, `keep` or `end`, then the argv, separated by NUL bytes.
  Not JSON, because importing `json` would double the time to the command's first instruction; not as its own
  argv, because a command that runs `pkill -f <its name>` would then end its supervisor;
- the command's environment as its own, so that secrets are never written down;
- standard output and error opened on the log, which the command inherits: there is no pipe to wait for;
- an flock on the file `lock`, as descriptor 3, held until it ends. That tells others whether it is alive:
  unlike a process id, the lock cannot pass to a stranger.

Standard library only, and only what loads in about a millisecond: each run pays for it.
"""

import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    # The C module behind `signal`: the public one builds its enums for 9 ms before it answers.
    import _signal as signal

IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
DEFAULT_FOR_THE_COMMAND = (*IGNORED, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ)
LOCK_DESCRIPTOR = 3
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
LEFTOVER_GRACE_S = 2.0
KILL_ROUNDS = 100
KILL_ROUND_S = 0.05
GROUP_POLL_S = 0.02
LONGEST_WAIT_S = 3600.0
WRITE_ATTEMPTS = 600

_ESCAPES = {code: f"\\u{code:04x}" for code in range(32)} | {ord('"'): '\\"', ord("\\"): "\\\\"}


class Command:
    """What is to be run, as the file `command` says it."""

    def __init__(self, directory: str) -> None:
        with open(f"{directory}/command", "rb") as file:
            fields = [os.fsdecode(field) for field in file.read().split(b"\0")]
        self.cwd = fields[0]
        self.limit_s = float(fields[1])
        self.grace_s = float(fields[2])
        self.keep_children = fields[3] == "keep"
        self.argv = fields[4:]


class Bell:
    """Rings when a child ended or when somebody asked to stop."""

    def __init__(self) -> None:
        self.stop_asked = False
        self._read, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in IGNORED:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._on_stop)
        # The starter blocked these, so that none could hit before the handlers stood.
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def _on_stop(self, *_: object) -> None:
        self.stop_asked = True

    def wait(self, seconds: float) -> None:
        """Return at the next signal, or after that many seconds."""
        ready, _, _ = select.select([self._read], [], [], max(0.0, min(seconds, LONGEST_WAIT_S)))
        if ready:
            os.read(self._read, 4096)


class Tree:
    """The command with all its descendants: starts it, collects what ended, and ends the rest."""

    def __init__(self, bell: Bell, *, adopting: bool) -> None:
        self._bell = bell
        self._adopting = adopting
        self.child = 0
        self.status: int | None = None
        self.user_s = 0.0
        self.system_s = 0.0
        self.max_rss = 0

    def start(self, argv: list[str], cwd: str) -> None:
        """Start the command in a session of its own.

        Raises:
            OSError: the directory or the executable is missing or not usable.
            ValueError: the environment cannot be handed to a process.
        """
        try:
            os.chdir(cwd)
        except OSError as error:
            error.add_note("working directory")
            raise
        try:
            self.child = os.posix_spawnp(
                argv[0],
                argv,
                os.environ,
                setsid=True,
                setsigmask=(),
                setsigdef=DEFAULT_FOR_THE_COMMAND,
            )
        finally:
            # A worktree can be removed while its last processes are being ended.
            os.chdir("/")

    def reap(self) -> bool:
        """Collect what has ended; True while anything is left.

        Orphans become our children (see `adopt_orphans`), so having no child means that the tree is empty.
        """
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return not self._adopting and signal_group(self.child, 0)
            if pid == 0:
                return True
            self.user_s += usage.ru_utime
            self.system_s += usage.ru_stime
            self.max_rss = max(self.max_rss, usage.ru_maxrss)
            if pid == self.child:
                self.status = status

    def signal(self, number: int) -> None:
        """Send a signal to every process of the tree, passing by what has just ended or is out of reach."""
        if not self._adopting:
            signal_group(self.child, number)
            return
        for pid in descendants(os.getpid()):
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                continue

    def end(self, grace_s: float) -> bool:
        """SIGTERM, the grace, then SIGKILL until nothing is left; False if something cannot be killed."""
        if not self.reap():
            return True
        self.signal(signal.SIGTERM)
        if self._emptied(grace_s):
            return True
        # What forks while we look is found in the next round.
        for _ in range(KILL_ROUNDS):
            self.signal(signal.SIGKILL)
            if self._emptied(KILL_ROUND_S):
                return True
        return False

    def _emptied(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.reap():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            # Members of a group that are not our children end without ringing.
            self._bell.wait(left if self._adopting else min(left, GROUP_POLL_S))
        return True


def adopt_orphans() -> bool:
    """Become the parent of every descendant whose own parent ends; False where the system cannot do that.

    Without it a grandchild that forks twice and opens its own session could not be found again.
    """
    try:
        # The C module behind `ctypes`, which loads three times faster.
        import _ctypes  # noqa: PLC0415 — some builds of Python lack it, and only Linux needs it.
    except ImportError:
        return False
    # Unnamed in the type stubs, there in every CPython since 2.5.
    call = vars(_ctypes)["call_function"]
    try:
        # The empty name is the program itself.
        prctl = _ctypes.dlsym(_ctypes.dlopen("", os.RTLD_NOW), "prctl")
    except OSError:
        return False
    return bool(call(prctl, (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) == 0)


def descendants(root: int) -> list[int]:
    """Every living process below `root`, parents before children."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := stat_fields(name)):
            children.setdefault(int(fields[1]), []).append(int(name))
    found = list(children.get(root, ()))
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


def stat_fields(pid: int | str) -> list[bytes]:
    """The fields of /proc/<pid>/stat from the state on (proc_pid_stat(5) number 3); empty when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def start_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; with the pid and the boot it names one process."""
    fields = stat_fields(pid)
    return int(fields[19]) if fields else None


def boot_id() -> str | None:
    """Which boot of the machine this is; None where the system does not say."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return None


def signal_group(group: int, number: int) -> bool:
    """Signal a process group, where descendants cannot be listed; False when it has none in our reach."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def encode(value: object) -> str:
    """JSON of the few types that a record holds."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{encode(key)}: {encode(part)}" for key, part in value.items()) + "}"
    if isinstance(value, str):
        return '"' + value.translate(_ESCAPES) + '"'
    return repr(value)


def put(path: str, facts: dict[str, object]) -> None:
    """Write the facts so that a reader sees all of them or none, also after a power cut.

    Raises:
        OSError: the disk is full or the run directory is gone.
    """
    part = f"{path}.part"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        rest = (encode(facts) + "\n").encode("utf-8", "replace")
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(part, path)


def put_patiently(path: str, facts: dict[str, object]) -> None:
    """Write the facts, trying again each second for ten minutes: a full disk is often emptied.

    If that never works, or the directory is gone, whoever waits learns that the run is lost.
    """
    for _ in range(WRITE_ATTEMPTS):
        try:
            put(path, facts)
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(1)
        else:
            return


def instant(seconds: float) -> str:
    """ISO 8601 in UTC with milliseconds."""
    whole, milliseconds = divmod(int(seconds * 1000), 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{milliseconds:03d}+00:00"


def signal_name(status: int | None) -> str | None:
    """The name of the signal that ended the command, if one did."""
    if status is None or not os.WIFSIGNALED(status):
        return None
    number = os.WTERMSIG(status)
    named = {value: name for name, value in vars(signal).items() if name[:3] == "SIG" and name[3] != "_"}
    return named.get(number, f"signal {number}")


class Run:
    """One command from start to exit record."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._command = Command(directory)
        self._bell = Bell()
        self._tree = Tree(self._bell, adopting=adopt_orphans())
        self._started = time.time()
        self._clock = time.monotonic()
        self._timed_out = False
        self._stopped = False
        self._error: str | None = None

    def carry_out(self) -> None:
        """Start the command, see it end, and record how."""
        try:
            self._tree.start(self._command.argv, self._command.cwd)
        except (OSError, ValueError) as error:
            self._error = ": ".join([*getattr(error, "__notes__", ()), str(error)])
        else:
            self._watch()
        put_patiently(f"{self._directory}/exit.json", self._record())

    def _watch(self) -> None:
        try:
            put(f"{self._directory}/supervisor.json", self._identity())
        except OSError as error:
            # A run that nobody could find again does not go on; the record says why.
            self._error = f"cannot write into the run directory: {error}"
            self._stopped = True
            self._tree.end(0)
            return
        self._outlast()
        if self._timed_out or self._stopped:
            emptied = self._tree.end(self._command.grace_s)
        else:
            grace_s = min(self._command.grace_s, LEFTOVER_GRACE_S)
            emptied = self._command.keep_children or self._tree.end(grace_s)
        if not emptied:
            self._error = "some processes of the command could not be killed"

    def _outlast(self) -> None:
        deadline = self._clock + self._command.limit_s
        while True:
            self._tree.reap()
            if self._tree.status is not None:
                return
            if self._bell.stop_asked:
                self._stopped = True
                return
            left = deadline - time.monotonic()
            if left <= 0:
                self._timed_out = True
                return
            self._bell.wait(left)

    def _identity(self) -> dict[str, object]:
        return {
            "pid": os.getpid(),
            "child_pid": self._tree.child,
            "child_ticks": start_ticks(self._tree.child),
            "boot": boot_id(),
            "started": instant(self._started),
            "keep_children": self._command.keep_children,
        }

    def _record(self) -> dict[str, object]:
        status = self._tree.status
        # Kilobytes on Linux, bytes on macOS: getrusage(2) of each.
        per_kb = 1024 if sys.platform == "darwin" else 1
        return {
            "exit_code": None if status is None else os.waitstatus_to_exitcode(status),
            "timed_out": self._timed_out,
            "stopped": self._stopped,
            "signal": signal_name(status),
            "started": instant(self._started),
            "ended": instant(time.time()),
            "duration_s": round(time.monotonic() - self._clock, 4),
            "rusage": {
                "user_s": round(self._tree.user_s, 4),
                "system_s": round(self._tree.system_s, 4),
                "max_rss_kb": self._tree.max_rss // per_kb,
            },
            "error": self._error,
        }


def main() -> None:
    """Carry out the run whose directory is the only argument."""
    os.set_inheritable(LOCK_DESCRIPTOR, False)
    # Sockets that a service manager gave to the orchestrator are not for the command.
    os.closerange(LOCK_DESCRIPTOR + 1, 4096)
    Run(sys.argv[1]).carry_out()
    # Nothing is left to flush, and whoever waits need not wait for the interpreter to be taken down.
    os._exit(0)


if __name__ == "__main__":
    main()
