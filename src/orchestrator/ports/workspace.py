"""The workspace: the item's isolated checkout, and reads from the committed tree."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from orchestrator.pipeline.ids import CodeId, Commit, Epoch, WorkItemId


@dataclass(frozen=True, slots=True)
class Branch:
    """Which branch of which project, and the base that it is cut from and merged to."""

    project: str
    name: str
    base: str
    item: WorkItemId


@dataclass(frozen=True, slots=True)
class Blob:
    """A file of a commit: its git object id and its bytes."""

    id: str
    data: bytes

    def text(self) -> str:
        """The content as text; bytes that are not UTF-8 are replaced."""
        return self.data.decode("utf-8", errors="replace")


@dataclass(frozen=True, slots=True)
class Head:
    """Where a branch stands: its commit and that commit's code id."""

    commit: Commit
    code: CodeId
    exists: bool = True
    """False when the branch was not cut yet and ``commit`` is the head of its base."""


@dataclass(frozen=True, slots=True)
class Author:
    """The git identity that a commit carries."""

    name: str
    email: str


@dataclass(frozen=True, slots=True)
class Rebased:
    """The branch now stands on the head of its base."""

    head: Commit


@dataclass(frozen=True, slots=True)
class RebaseConflict:
    """The branch does not apply to its base any more; ``paths`` name the files."""

    paths: tuple[str, ...]


RebaseResult: TypeAlias = Rebased | RebaseConflict


class Workspace(Protocol):
    """Branches and worktrees of all projects on this host.

    Every method raises ``Unavailable``, ``Rejected``, ``Malformed`` or ``Conflict``.
    """

    async def refresh(self, project: str) -> None:
        """Fetch what others pushed."""
        ...

    async def head(self, branch: Branch) -> Head:
        """Where ``branch`` stands as last refreshed; the base's head when it was not cut yet."""
        ...

    async def base_head(self, branch: Branch) -> Commit:
        """The head of the base branch as last refreshed."""
        ...

    async def code_id(self, branch: Branch, commit: Commit) -> CodeId:
        """The code id of ``commit`` for the branch's item (architecture §2a)."""
        ...

    async def read(self, project: str, commit: Commit, path: str) -> Blob | None:
        """The file at ``path`` in ``commit``; ``None`` only when it is not there."""
        ...

    async def paths(self, project: str, commit: Commit, prefix: str) -> Sequence[str]:
        """Paths below ``prefix`` in ``commit``, sorted."""
        ...

    async def changed(self, project: str, old: Commit, new: Commit) -> Sequence[str]:
        """Paths that differ between two commits, sorted."""
        ...

    async def contains(self, project: str, ancestor: Commit, commit: Commit) -> bool:
        """Whether ``ancestor`` is ``commit`` or one of its ancestors."""
        ...

    async def tree_of(self, project: str, commit: Commit) -> str:
        """Object id of the tree of ``commit``."""
        ...

    async def check_out(self, branch: Branch, at: Commit) -> Path:
        """The item's worktree, clean and detached at ``at``; leftovers of dead runs are removed."""
        ...

    async def location(self, branch: Branch) -> Path:
        """Where the item's worktree is (or would be)."""
        ...

    async def lend(self, branch: Branch, directory: Path) -> None:
        """Make a plain clone of the item's worktree in ``directory``, for an agent that is locked in.

        The branch is checked out under its name, with the full history of branch and base and nothing else of
        the project; task files and what lies in the item's artifact directory come along. A clone that is
        there already stays as it is: the agent may be at work in it.
        """
        ...

    async def take_back(self, branch: Branch, directory: Path) -> None:
        """Bring commits and changes of a lent clone into the item's worktree, for `save` to find them there.

        The clone is what an agent left and is trusted in nothing: its repository is read as data only, no
        link in it is followed, and repositories nested in it stay behind. Raises ``Rejected`` when it cannot
        be used, or holds conflicts. Taking back twice is taking back once, also when the work was saved
        in between.
        """
        ...

    async def save(
        self,
        branch: Branch,
        *,
        author: Author,
        message: str,
        started_at: Commit,
        epoch: Epoch,
        within: str = "",
    ) -> Commit:
        """Commit what the worktree holds, push it, and move the branch from ``started_at`` to it.

        Of a role that may write below ``within`` alone, nothing else is taken: what it left besides is left
        out, and ``Rejected`` names the files of the repository that it changed.

        Saving twice is saving once: what was pushed already is answered again. Raises ``Conflict`` when the
        branch was moved by somebody else meanwhile; the work is then kept at ``refs/orchestrator``.
        """
        ...

    async def rebase(self, branch: Branch, *, expected: Commit) -> RebaseResult:
        """Put the branch on top of its base and push it with a lease on ``expected``; the base stays."""
        ...

    def clean_checkout(self, project: str, commit: Commit) -> AbstractAsyncContextManager[Path]:
        """A separate clean checkout of ``commit``, removed at the end."""
        ...

    async def rescue(self, branch: Branch, name: str) -> Commit | None:
        """Keep uncommitted work at ``refs/orchestrator/rescue/<item>/<name>``; ``None`` without any."""
        ...

    async def discard(self, branch: Branch) -> None:
        """Remove the item's worktree; removing what is not there is no change."""
        ...
