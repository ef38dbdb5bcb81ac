"""Lock files that a killed git left behind: they would make every later command of that repository fail."""

import asyncio
import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psutil

from orchestrator.errors import Rejected
from orchestrator.plumbing.git.failures import file_errors
from orchestrator.plumbing.git.worktrees import git_directory

_LOCKS = ("index.lock", "HEAD.lock", "ORIG_HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock")


async def remove_stale_locks(path: Path) -> tuple[Path, ...]:
    """Deletes the lock files of a worktree (and of its repository) that nobody holds any more; says which.

    A lock is stale when it is older than this process and no git process of the file's owner is alive that
    works in the same worktree or, for a lock of the whole repository, in any of its worktrees. A process that
    hides where it works counts as one.

    Raises: Rejected when `path` is no worktree and no repository.
    """
    with file_errors():
        return await asyncio.to_thread(_remove, path, _process_start())


def _remove(path: Path, before: datetime) -> tuple[Path, ...]:
    own = git_directory(path).resolve()
    common = _common(own)
    old = [lock for lock in _locks({own, common}) if _changed(lock) < before.timestamp()]
    if not old:
        return ()
    owners = list(_git_processes())
    removed = []
    for lock in old:
        with contextlib.suppress(FileNotFoundError):
            user = lock.stat().st_uid
            shared = own == common or own not in lock.parents
            place = common if shared else own
            if not any(uid == user and _may_hold(where, place, shared=shared) for uid, where in owners):
                lock.unlink()
                removed.append(lock)
    return tuple(removed)


def _common(git_dir: Path) -> Path:
    """The git directory of the repository that a worktree's git directory belongs to."""
    return git_dir.parent.parent if git_dir.parent.name == "worktrees" else git_dir


def _locks(directories: set[Path]) -> Iterator[Path]:
    for directory in sorted(directories):
        yield from (lock for name in _LOCKS if (lock := directory / name).is_file())
        yield from sorted((directory / "refs").rglob("*.lock"))


def _changed(lock: Path) -> float:
    """The time of the last change; one that is gone meanwhile counts as new."""
    try:
        return lock.stat().st_mtime
    except FileNotFoundError:
        return float("inf")


def _git_processes() -> Iterator[tuple[int, Path | None]]:
    """The user of every git process and the git directory it works in; None for one that we may not see."""
    for process in psutil.process_iter(["name", "uids", "cwd", "status"]):
        name, uids, cwd, state = (process.info[key] for key in ("name", "uids", "cwd", "status"))
        if name and name.startswith("git") and uids is not None and state != psutil.STATUS_ZOMBIE:
            yield uids.effective, _git_directory_above(Path(cwd)) if cwd else None


def _git_directory_above(directory: Path) -> Path:
    """The git directory of the repository that a directory lies in, or the directory itself."""
    for place in (directory, *directory.parents):
        with contextlib.suppress(Rejected, OSError):
            return git_directory(place).resolve()
    return directory


def _may_hold(where: Path | None, place: Path, *, shared: bool) -> bool:
    return where is None or (_common(where) if shared else where) == place


def _process_start() -> datetime:
    return datetime.fromtimestamp(psutil.Process(os.getpid()).create_time(), UTC)
