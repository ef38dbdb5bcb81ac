"""Who holds a job or a lease: a process, recognised by its pid and by the moment it was started."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import psutil

from orchestrator.ports.clock import Ids

_MARK_END: Final = "."
_KERNEL_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Owner:
    """A process: its pid, and a boot id that no other start of a process has."""

    pid: int
    boot: str


Alive: TypeAlias = Callable[[Owner], bool]
"""Tells whether a process is still there; in doubt it is (ORCH-114: fail closed)."""


def this_process(ids: Ids) -> Owner:
    """The present process under a fresh boot id, which carries the mark of its start."""
    pid = os.getpid()
    return Owner(pid, f"{_start_mark(pid)}{_MARK_END}{ids.new()}")


def is_alive(owner: Owner) -> bool:
    """Whether ``owner`` runs on this machine; a later process that got the same pid is somebody else.

    A boot id without a mark of the start is judged by the pid alone.
    """
    mark = _start_mark(owner.pid)
    known, found, _ = owner.boot.rpartition(_MARK_END)
    return bool(mark) and (not found or known in {"", mark})


def _start_mark(pid: int) -> str:
    """What tells the starts of processes with the same pid apart; empty when there is no such process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        kernel = _KERNEL_BOOT.read_text("ascii")[:8]
    except (OSError, ValueError):
        return _portable_mark(pid)
    # Field 3 is the state (Z and X are dead), field 22 the start in ticks since the kernel's own: unlike the
    # time of day it does not move when somebody sets the clock.
    return "" if fields[0] in {b"Z", b"X"} else f"{kernel}-{fields[19].decode('ascii')}"


def _portable_mark(pid: int) -> str:
    """The same for systems without ``/proc``."""
    try:
        process = psutil.Process(pid)
        return "" if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.NoSuchProcess:
        return ""
