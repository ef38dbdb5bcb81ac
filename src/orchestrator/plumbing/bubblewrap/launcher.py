"""The small program that turns into bubblewrap with a command inside of it.

Started as `python -I -S launcher.py <spec file>` with the command's environment as its own. Bubblewrap hands
that environment on, so nothing of it stands in any argv; neither does the command, which goes in through a
descriptor.

Bubblewrap gets SIGTERM ignored and is therefore not ended by it, while the command inside (see `start.py`)
gets it with its default meaning: whoever signals the whole tree gives the command its grace. When the command
has ended, the kernel ends everything else in its process namespace, and bubblewrap passes the exit code on.
SIGKILL of bubblewrap ends everything inside at once.

The spec file holds fields separated by NUL bytes: see `Cell.spec`. Standard library only, and only what loads
in about a millisecond: each run pays for it.
"""

# The C modules behind `socket` and `signal`: the public ones take longer to load than all the rest here.
import _socket
import os
import resource
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

NOT_STARTED = 127
RUN_VARIABLE = "ORCH_SUPERVISED_RUN"
"""By this variable a run's processes are found when its supervisor has died; the bridge carries it too."""


class Fields:
    """Reads the spec file from front to back."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            self._rest = [os.fsdecode(field) for field in file.read().split(b"\0")]
        self._rest.reverse()

    def text(self) -> str:
        """The next field."""
        return self._rest.pop()

    def texts(self) -> list[str]:
        """As many fields as the next one says."""
        return [self.text() for _ in range(int(self.text()))]


def make_place(home: str, place: str, *, is_directory: bool) -> None:
    """Make the mount point `place` below `home`, both absolute, without following a link on the way.

    Earlier runs could write in the home: a link that was left there would let bubblewrap make its mount point
    wherever the link leads. What stands in the way is removed.

    Raises:
        OSError: the place cannot be made.
    """
    here = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        *parents, last = os.path.relpath(place, home).split("/")
        for name in parents:
            inner = entered(here, name)
            os.close(here)
            here = inner
        if is_directory:
            os.close(entered(here, last))
        else:
            make_file(here, last)
    finally:
        os.close(here)


def entered(here: int, name: str) -> int:
    """A descriptor of the directory `name` in the directory `here`, made if it is none."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        return os.open(name, flags, dir_fd=here)
    except FileNotFoundError:
        pass
    except NotADirectoryError:
        os.unlink(name, dir_fd=here)
    os.mkdir(name, 0o700, dir_fd=here)
    return os.open(name, flags, dir_fd=here)


def make_file(here: int, name: str) -> None:
    """An ordinary file `name` in the directory `here`; one that is there stays as it is."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        os.close(os.open(name, flags, 0o600, dir_fd=here))
    except OSError:
        # A link, or something that is no file; a directory cannot be removed like this and stays an error.
        os.unlink(name, dir_fd=here)
        os.close(os.open(name, flags, 0o600, dir_fd=here))


def poured(name: str, fields: list[str]) -> int:
    """An inheritable descriptor from which the fields can be read, without a file somewhere."""
    descriptor = os.memfd_create(name)
    rest = b"\0".join(os.fsencode(field) for field in fields)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.set_inheritable(descriptor, True)
    return descriptor


def begin_bridge(program: str, kind: str, address: list[str]) -> int:
    """Start the outside end of the bridge; the descriptor is the inside end's way to reach it."""
    ours, inside = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
    descriptor = ours.fileno()
    os.set_inheritable(descriptor, True)
    argv = [sys.executable, "-I", "-S", program, str(descriptor), str(os.getpid()), kind, *address]
    # It needs no secret of the command.
    known = {name: value for name, value in os.environ.items() if name == RUN_VARIABLE}
    os.posix_spawn(sys.executable, argv, known)
    ours.close()
    handed = inside.detach()
    os.set_inheritable(handed, True)
    return handed


def limit_memory(size: int) -> None:
    """Give each process from here on that many bytes of address space; 0 changes nothing."""
    if size:
        # More than what we were given ourselves cannot be given away.
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        size = size if hard == resource.RLIM_INFINITY else min(size, hard)
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def become(spec: str) -> None:
    """Turn into bubblewrap as the spec file says.

    Raises:
        OSError: something that is needed is missing.
    """
    fields = Fields(spec)
    program, interpreter, inside, port = (fields.text() for _ in range(4))
    memory = int(fields.text())
    bridge = fields.texts()
    home = fields.text()
    os.makedirs(home, 0o700, exist_ok=True)
    for place in fields.texts():
        make_place(home, place[1:], is_directory=place[0] == "d")
    options, command = fields.texts(), fields.texts()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    channel = begin_bridge(bridge[0], bridge[1], bridge[2:]) if bridge else -1
    limit_memory(memory)
    handed = str(poured("command", command))
    start = ["--", interpreter, "-I", "-S", inside, handed, str(channel), port]
    os.execv(program, [program, "--args", str(poured("options", options)), *start])  # noqa: S606 — it is the point.


def main() -> None:
    """Become what the spec file, the only argument, says."""
    try:
        become(sys.argv[1])
    except OSError as error:
        os.write(2, f"the sandbox cannot be started: {error}\n".encode(errors="replace"))
    os._exit(NOT_STARTED)


if __name__ == "__main__":
    main()
