"""What an agent left in a worktree, as a commit: the next one of the branch, or a snapshot on the side."""

import asyncio
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from orchestrator.errors import Rejected
from orchestrator.forges.mirror import TRACKING
from orchestrator.pipeline.ids import Commit
from orchestrator.plumbing.git import Author, Git
from orchestrator.plumbing.git.locks import remove_stale_locks
from orchestrator.plumbing.git.trees import NOTES, changed_paths, head_of, is_ancestor, is_note
from orchestrator.plumbing.git.worktrees import commit_all, status

_SHOWN: Final = 5


class Work:
    """Reads worktrees, and commits in them."""

    def __init__(self, git: Git) -> None:
        self._git = git

    async def commit(
        self,
        directory: Path,
        message: str,
        *,
        by: Author,
        since: tuple[Commit, Commit | None],
        within: str = "",
    ) -> Commit:
        """The worktree's head after everything in it is committed; commits that stand there already count.

        ``since`` is where the run began and where the base stands: whoever rebased the branch onto its base
        has not lost it. ``within`` is the only directory below which something may be changed; new files
        elsewhere are left out.

        Raises:
            Rejected: conflicts are not resolved, the head contains neither any more, or a file outside of
                ``within`` was changed.
        """
        await remove_stale_locks(directory)
        state = await status(self._git, directory)
        if state.conflicted:
            raise Rejected(f"conflicts are not resolved in {', '.join(state.conflicted[:_SHOWN])}")
        head = state.head
        if head is None or not await self._continues(directory, since, head):
            place = head or "the worktree"
            raise Rejected(f"history was rewritten: {place} does not contain {since[0]}, where the run began")
        if within:
            committed = await changed_paths(self._git, directory, since[0], head) if head != since[0] else ()
            _refuse_strays((*state.changed, *committed), within)
        if state.clean:
            return Commit(head)
        unstage = state.has_staged_notes
        made = await commit_all(
            self._git, directory, message, author=by, unstage=unstage, below=within or "."
        )
        return Commit(made or head)

    async def _continues(self, directory: Path, since: tuple[Commit, Commit | None], head: str) -> bool:
        started_at, base = since
        if head == started_at or await is_ancestor(self._git, directory, started_at, head):
            return True
        rebased = base is not None and head != base
        return rebased and await is_ancestor(self._git, directory, str(base), head)

    async def snapshot(self, directory: Path, *, by: Author, message: str) -> Commit | None:
        """A commit of everything that no branch of the forge has; ``None`` when there is nothing.

        The worktree, its index and its head stay as they are.
        """
        head = await head_of(self._git, directory, "HEAD")
        if head is None:
            return None
        state = await status(self._git, directory)
        if not state.clean:
            return await self._committed(directory, Commit(head), by=by, message=message)
        known = await self._git.run(
            "for-each-ref", "--count=1", f"--contains={head}", "--format=%(refname)", TRACKING, cwd=directory
        )
        return None if known.text else Commit(head)

    async def _committed(self, directory: Path, head: Commit, *, by: Author, message: str) -> Commit:
        place = await asyncio.to_thread(tempfile.mkdtemp)
        env = {"GIT_INDEX_FILE": str(Path(place) / "index")}
        try:
            await self._git.run("read-tree", head, cwd=directory, env=env)
            everything = ("add", "--all", "--", ".", f":(exclude,top,glob){NOTES}")
            await self._git.run(*everything, cwd=directory, env=env)
            tree = (await self._git.run("write-tree", cwd=directory, env=env)).text
        finally:
            await asyncio.to_thread(_delete, Path(place))
        made = await self._git.run(
            "commit-tree", tree, "-p", head, cwd=directory, env=by.environment(), input=message.encode()
        )
        return Commit(made.text)


def _refuse_strays(changed: Iterable[str], within: str) -> None:
    below = f"{within.rstrip('/')}/"
    strays = sorted({path for path in changed if not path.startswith(below) and not is_note(path)})
    if strays:
        raise Rejected(f"{', '.join(strays[:_SHOWN])} changed, and only {within} may be")


def _delete(place: Path) -> None:
    for file in place.iterdir():
        file.unlink()
    place.rmdir()
