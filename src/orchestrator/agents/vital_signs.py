"""Signs of life of a run: what its processes consume, and what changes in its workspace.

A CLI may be silent for a long time while its model thinks or a suite runs; only when nothing at all moves is
a run stalled.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

MOST_FILES: Final = 20_000
"""Files of a workspace that are looked at; in a larger one the others are not seen."""


@dataclass(frozen=True, slots=True)
class Load:
    """What the tree of a run is at the moment."""

    processes: frozenset[int]
    cpu_s: float
    rss_mb: float


def load_of(root: int) -> Load:
    """The processes below ``root``, their CPU time in seconds and their resident memory in megabytes."""
    pids: set[int] = set()
    cpu = rss = 0.0
    for process in _below(root):
        try:
            times, memory = process.cpu_times(), process.memory_info()
        except psutil.Error:
            continue
        pids.add(process.pid)
        cpu += times.user + times.system
        rss += memory.rss
    return Load(frozenset(pids), cpu, rss / 1_000_000)


def newest_change(workspace: Path) -> float:
    """When something in the workspace changed last, in seconds since 1970; 0 for an empty one. Blocking."""
    newest = 0.0
    for number, path in enumerate(_files(workspace)):
        if number >= MOST_FILES:
            break
        try:
            newest = max(newest, os.lstat(path).st_mtime)
        except OSError:
            # It was removed while we looked.
            continue
    return newest


def _below(root: int) -> list[psutil.Process]:
    try:
        return psutil.Process(root).children(recursive=True)
    except psutil.Error:
        return []


def _files(workspace: Path) -> Iterator[str]:
    for directory, _, names in os.walk(workspace):
        yield directory
        for name in names:
            yield os.path.join(directory, name)
