"""Merges without a worktree: a commit is made of git objects, then the base is moved if nobody else did."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from orchestrator.errors import Conflict, Rejected
from orchestrator.pipeline.ids import Commit
from orchestrator.plumbing.git import Author, Git
from orchestrator.plumbing.git.refs import loose_ref, may_have_ref, merge_commit
from orchestrator.plumbing.git.trees import head_of, is_ancestor, tree_of

FORGE: Final = Author("Local forge", "forge@localhost")


class Method(StrEnum):
    """How the commits of the branch get into the base; the values are what a contract says."""

    MERGE = "merge"
    SQUASH = "squash"
    REBASE = "rebase"


@dataclass(frozen=True, slots=True)
class Merge:
    """What is merged into what; ``number`` is the pull request's."""

    number: int
    branch: str
    base: str
    head: Commit
    method: Method
    message: str


@dataclass(frozen=True, slots=True)
class Merged:
    """What was merged, and the commit by which the base got it."""

    head: Commit
    commit: Commit


class Merging:
    """Merges within one bare repository.

    Before the base is moved, where to is noted as ``refs/pulls/<number>/tried/<head>/<commit>``. So a merge
    whose process was killed before it was written down is recognised: the base contains a noted commit.
    """

    def __init__(self, git: Git, path: Path) -> None:
        self._git = git
        self._path = path

    async def head(self, branch: str) -> Commit | None:
        """Where the branch stands; None when it does not exist."""
        ref = f"refs/heads/{branch}"
        found = loose_ref(self._path, ref) or await head_of(self._git, self._path, ref)
        return None if found is None else Commit(found)

    async def merged(self, number: int, base: str) -> Merged | None:
        """How the pull request got into the base, if it did."""
        if not may_have_ref(self._path, _notes(number).rstrip("/")):
            return None
        answer = await self._git.run(
            "for-each-ref",
            f"--merged=refs/heads/{base}",
            "--format=%(refname)",
            _notes(number),
            cwd=self._path,
        )
        if not answer.text:
            return None
        head, commit = answer.text.splitlines()[0].split("/")[-2:]
        return Merged(Commit(head), Commit(commit))

    async def carry_out(self, merge: Merge) -> Commit:
        """Merge, and give the base's new commit.

        Raises:
            Conflict: the branch or the base moved meanwhile.
            Rejected: there is nothing to merge, the contents conflict, or the branch must be rebased first.
        """
        base = await self.head(merge.base)
        if base is None:
            raise Rejected(f"there is no base branch {merge.base}")
        if await self._contains(base, merge.head):
            raise Rejected(f"{merge.branch} has no commit that {merge.base} lacks")
        made = await self._commit(merge, base)
        note = f"{_notes(merge.number)}{merge.head}/{made}"
        await self._git.run("update-ref", note, made, cwd=self._path)
        await self._move(merge, base, made)
        return made

    async def _commit(self, merge: Merge, base: Commit) -> Commit:
        forward = await self._contains(merge.head, base)
        if merge.method is Method.REBASE:
            if not forward:
                raise Rejected(f"{merge.branch} is not on top of {merge.base}: rebase it first")
            return merge.head
        # On top of its base the branch has the merged tree already, with any version of git.
        tree = await tree_of(self._git, self._path, merge.head if forward else await self._both(merge, base))
        parents = ["-p", base] if merge.method is Method.SQUASH else ["-p", base, "-p", merge.head]
        text, identity = merge.message.encode(), FORGE.environment()
        made = await self._git.run("commit-tree", tree, *parents, cwd=self._path, env=identity, input=text)
        return Commit(made.text)

    async def _both(self, merge: Merge, base: Commit) -> str:
        try:
            return await merge_commit(
                self._git, self._path, base, merge.head, message=merge.message, author=FORGE
            )
        except Conflict as error:
            raise Rejected(f"{merge.branch} conflicts with {merge.base}: {error}") from error

    async def _move(self, merge: Merge, base: Commit, made: Commit) -> None:
        lines = [
            "start",
            f"verify refs/heads/{merge.branch} {merge.head}",
            f"update refs/heads/{merge.base} {made} {base}",
            "commit",
        ]
        try:
            await self._git.run(
                "update-ref", "--stdin", cwd=self._path, input=("\n".join(lines) + "\n").encode()
            )
        except Conflict as error:
            raise Conflict(f"{merge.branch} or {merge.base} moved meanwhile: {error}") from error

    async def _contains(self, commit: Commit, ancestor: Commit) -> bool:
        return await is_ancestor(self._git, self._path, ancestor, commit)


def _notes(number: int) -> str:
    return f"refs/pulls/{number}/tried/"
