"""Worktrees of a mirror, always detached: made, brought back into order, and removed."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from orchestrator.errors import Malformed, Rejected, Unavailable
from orchestrator.forges.mirror import Mirror
from orchestrator.pipeline.ids import Commit
from orchestrator.plumbing.git import Git
from orchestrator.plumbing.git.locks import remove_stale_locks
from orchestrator.plumbing.git.trees import NOTES
from orchestrator.plumbing.git.worktrees import (
    clean,
    detached_head,
    git_directory,
    prune,
    remove,
    reset_hard,
)


class Checkouts:
    """Puts commits of mirrors into directories."""

    def __init__(self, git: Git) -> None:
        self._git = git

    async def put(self, mirror: Mirror, directory: Path, commit: Commit) -> None:
        """Make ``directory`` a clean worktree at ``commit``; ignored files, such as caches, stay.

        Raises:
            Unavailable: a file cannot be written or deleted.
        """
        if is_worktree(mirror, directory) and await self._restored(directory, commit):
            return
        async with mirror.busy:
            if directory.exists():
                await remove(self._git, mirror.path, directory)
            await self._add(mirror, directory, commit)

    async def drop(self, mirror: Mirror, directory: Path) -> None:
        """Remove the worktree; removing what is not there is no change."""
        async with mirror.busy:
            await remove(self._git, mirror.path, directory)

    @asynccontextmanager
    async def temporary(self, mirror: Mirror, parent: Path, commit: Commit) -> AsyncIterator[Path]:
        """A worktree of its own below ``parent`` for the time of the block."""
        try:
            parent.mkdir(parents=True, exist_ok=True)
            place = Path(tempfile.mkdtemp(prefix=f"{commit[:12]}-", dir=parent))
        except OSError as error:
            raise Unavailable(f"cannot make a directory in {parent}: {error.strerror}") from error
        # Git names its own record of a worktree after the last part of the path: that is unique as well.
        directory = place / place.name
        try:
            async with mirror.busy:
                await self._add(mirror, directory, commit)
            yield directory
        finally:
            await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
            async with mirror.busy:
                await prune(self._git, mirror.path)

    async def sweep(self, mirror: Mirror, parent: Path, in_use: Callable[[Path], bool]) -> None:
        """Remove what is below ``parent`` and not in use: temporary worktrees whose block never ended."""
        for place in sorted(parent.glob("*")):
            if not in_use(place):
                await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
        async with mirror.busy:
            await prune(self._git, mirror.path)

    async def _restored(self, directory: Path, commit: Commit) -> bool:
        """Bring a worktree back into order; False when it is damaged and must be made anew."""
        await remove_stale_locks(directory)
        try:
            if detached_head(directory) is None:
                # Detached first: a branch that somebody checked out here must not be moved along.
                await self._git.run("update-ref", "--no-deref", "HEAD", commit, cwd=directory)
            await reset_hard(self._git, directory, commit)
            await clean(self._git, directory)
        except (Malformed, Rejected):
            return False
        await asyncio.to_thread(_delete_notes, directory)
        return True

    async def _add(self, mirror: Mirror, directory: Path, commit: Commit) -> None:
        directory.parent.mkdir(parents=True, exist_ok=True)
        await self._git.run(
            "worktree", "add", "--quiet", "--force", "--detach", str(directory), commit, cwd=mirror.path
        )


def is_worktree(mirror: Mirror, directory: Path) -> bool:
    """Whether ``directory`` is a finished worktree of the mirror."""
    if not (directory / ".git").is_file():
        return False
    try:
        git_dir = git_directory(directory)
    except Rejected:
        return False
    ours = git_dir.parent == (mirror.path / "worktrees").resolve()
    return ours and (git_dir / "HEAD").is_file() and (git_dir / "index").is_file()


def _delete_notes(directory: Path) -> None:
    for note in directory.glob(NOTES):
        note.unlink(missing_ok=True)
