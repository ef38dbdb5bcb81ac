"""Ends what is left of a run whose supervisor died: nobody else would enforce its limit."""

import time
from collections.abc import Iterable

import psutil

from orchestrator.plumbing.processes.records import Identity
from orchestrator.plumbing.processes.supervisor import boot_id, start_ticks

RUN_VARIABLE = "ORCH_SUPERVISED_RUN"
"""Holds the run directory in the environment of a run's processes, to find them when parents are gone."""

_PATIENCE_S = 3.0
_ROUND_S = 0.01


def kill_leftovers(mark: str, identity: Identity | None) -> set[int]:
    """Kill every process of the run and say which; blocking, for a thread.

    A command that was meant to leave a service behind, and had ended before the supervisor died, keeps it.
    A process is recognised by the mark in its environment, or by descent from the command (pid and start).

    Args:
        mark: The run directory, as the run's processes carry it in `ORCH_SUPERVISED_RUN`.
        identity: What the supervisor wrote about itself, if it came to that.
    """
    if identity is not None and identity.boot != boot_id():
        return set()
    command = _command(identity)
    if identity is not None and identity.keep_children and command is None:
        return set()
    killed: set[int] = set()
    deadline = time.monotonic() + _PATIENCE_S
    # What forked while we looked is found in the next round.
    while (found := [*_below(command), *_marked(mark)]) and time.monotonic() < deadline:
        killed |= _kill(found)
        time.sleep(_ROUND_S)
    return killed


def _command(identity: Identity | None) -> psutil.Process | None:
    if identity is None or identity.child_ticks is None:
        return None
    try:
        process = psutil.Process(identity.child_pid)
    except psutil.NoSuchProcess:
        return None
    same = start_ticks(identity.child_pid) == identity.child_ticks
    return process if same and _lives(process) else None


def _below(command: psutil.Process | None) -> list[psutil.Process]:
    if command is None:
        return []
    try:
        family = [command, *command.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
    return [process for process in family if _lives(process)]


def _lives(process: psutil.Process) -> bool:
    try:
        # Whoever has to collect a zombie may take its time; it does nothing any more.
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _marked(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(RUN_VARIABLE) == mark:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, OSError):
            # Zombies, kernel threads and other users' processes.
            continue
    return found


def _kill(processes: Iterable[psutil.Process]) -> set[int]:
    killed = set()
    for process in processes:
        try:
            process.kill()
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        killed.add(process.pid)
    return killed
