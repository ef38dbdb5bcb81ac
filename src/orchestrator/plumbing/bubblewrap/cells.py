"""What a command that is locked in may see, as options of bubblewrap.

Inside there is the system below /usr, the few files of /etc that programs need, own /proc, /dev, /tmp and
/run, and what was mounted on purpose; nothing else exists. The command has namespaces of its own, no
capability, cannot make user namespaces, and is user 1000 even where the service is root.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from orchestrator.plumbing.bubblewrap import bridge, launcher, start

SPEC: Final = "sandbox"
"""Name of the file that the launcher reads."""

INNER_PORT: Final = 19100
"""Where the bridge listens inside; nobody else is in that network."""

NAMESPACES: Final = (
    *("--unshare-user", "--uid", "1000", "--gid", "1000", "--disable-userns", "--cap-drop", "ALL"),
    *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox"),
    *("--die-with-parent", "--new-session"),
)
_MERGED: Final = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
# Only what is public: /etc/ssl as a whole holds private keys, and root's files are ours when we are root.
_ETC: Final = (
    *("alternatives", "ca-certificates", "crypto-policies", "ld.so.cache", "ld.so.conf", "ld.so.conf.d"),
    *("localtime", "nsswitch.conf", "pki/ca-trust", "pki/tls/certs", "protocols", "services"),
    *("ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf", "timezone"),
)
_NETWORK: Final = ("gai.conf", "host.conf", "hosts", "resolv.conf")
_INSIDE: Final = "/run/orchestrator/start.py"
_MEGABYTE: Final = 1 << 20


class BridgeKind(StrEnum):
    """How the one address is reached: each connection passed on, or a proxy that grants CONNECT to it."""

    RAW = "raw"
    CONNECT = "connect"


@dataclass(frozen=True, slots=True)
class Bridge:
    """The one address that a command without network reaches, at `INNER_PORT` of its loopback."""

    kind: BridgeKind
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Mount:
    """A path of the host and where it is seen inside; one that is missing is left out, but not a writable."""

    source: str
    target: str
    writable: bool = False

    def options(self) -> tuple[str, str, str]:
        """The option that mounts it."""
        return ("--bind" if self.writable else "--ro-bind-try", self.source, self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A place to lock a command in.

    ``program`` is bubblewrap, ``directory`` the run's own directory, where ``files`` have to lie. ``home`` is
    mounted where it is on the host, before the ``mounts``, which come in their order. ``memory_mb`` limits
    the address space of each process; 0: not.
    """

    program: str
    directory: Path
    home: Path
    cwd: Path
    mounts: Sequence[Mount] = ()
    network: bool = True
    bridge: Bridge | None = None
    memory_mb: int = 0

    def argv(self) -> tuple[str, ...]:
        """What is started; the environment of the command is given to it."""
        return (sys.executable, "-I", "-S", launcher.__file__, str(self.directory / SPEC))

    def files(self, command: Sequence[str]) -> Mapping[str, str]:
        """What has to lie in the directory before the start, by name."""
        return {SPEC: self._spec(command), **{f"{SPEC}.{name}": text for name, text in self._own().items()}}

    def _own(self) -> dict[str, str]:
        """The files of /etc that are ours."""
        own = {
            "passwd": f"agent:x:1000:1000::{self.home}:/bin/sh\nnobody:x:65534:65534::/:/usr/sbin/nologin\n",
            "group": "agent:x:1000:\nnogroup:x:65534:\n",
        }
        return own if self.network else own | {"hosts": "127.0.0.1 localhost\n::1 localhost\n"}

    def _spec(self, command: Sequence[str]) -> str:
        ways = [] if self.bridge is None else [bridge.__file__, self.bridge.kind.value, self.bridge.host]
        if self.bridge is not None:
            ways.append(str(self.bridge.port))
        fields = (
            *(self.program, interpreter(), _INSIDE, str(INNER_PORT), str(self.memory_mb * _MEGABYTE)),
            *_counted(ways),
            str(self.home),
            *_counted(list(self._places())),
            *_counted(self._options()),
            *_counted(command),
        )
        return "\0".join(fields)

    def _places(self) -> Iterator[str]:
        """Mount points that the launcher makes: those in the home, where runs before could write."""
        for mount in self.mounts:
            if mount.target.startswith(f"{self.home}/") and os.path.exists(mount.source):
                yield f"{'d' if os.path.isdir(mount.source) else 'f'}{mount.target}"

    def _options(self) -> list[str]:
        options = [*NAMESPACES, *(() if self.network else ("--unshare-net",)), *system(network=self.network)]
        size = ("--size", str(self.memory_mb * _MEGABYTE)) if self.memory_mb else ()
        for place in ("/tmp", "/var/tmp", "/run"):  # noqa: S108 — empty ones of its own.
            options += [*size, "--tmpfs", place]
        options += [*Mount(start.__file__, _INSIDE).options(), *_interpreter_mount()]
        for name in self._own():
            options += Mount(str(self.directory / f"{SPEC}.{name}"), f"/etc/{name}").options()
        options += Mount(str(self.home), str(self.home), writable=True).options()
        for mount in self.mounts:
            options += mount.options()
        return [*options, "--remount-ro", "/", "--chdir", str(self.cwd)]


def system(*, network: bool) -> Iterator[str]:
    """The options that show the system itself."""
    yield from ("--ro-bind", "/usr", "/usr")
    for name in _MERGED:
        place = f"/{name}"
        if os.path.islink(place):
            yield from ("--symlink", os.readlink(place), place)
        else:
            yield from ("--ro-bind-try", place, place)
    for name in (*_ETC, *(_NETWORK if network else ())):
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    yield from ("--proc", "/proc", "--dev", "/dev")


def interpreter() -> str:
    """The Python that starts the command inside: the one behind a virtual environment."""
    plain = Path(sys.base_prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}")
    return str(plain) if plain.is_file() else os.path.realpath(sys.executable)


def _interpreter_mount() -> tuple[str, ...]:
    """Shows the Python where it is, if /usr does not."""
    prefix = os.path.abspath(sys.base_prefix)
    return () if is_below(prefix, "/usr") else Mount(prefix, prefix).options()


def is_system(path: str) -> bool:
    """Whether a path is seen inside anyway, as a part of the system's programs and libraries."""
    return any(is_below(path, f"/{name}") for name in ("usr", *_MERGED))


def is_below(path: str, above: str) -> bool:
    """Whether a path is another one or lies below it, as they are spelled."""
    return Path(path).is_relative_to(above)


def _counted(fields: Sequence[str]) -> tuple[str, ...]:
    return (str(len(fields)), *fields)
