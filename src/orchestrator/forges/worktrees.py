"""The workspace on bare mirrors: one detached worktree for each work item, pushed with leases."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from orchestrator.errors import Conflict, Rejected
from orchestrator.forges.checkouts import Checkouts, is_worktree
from orchestrator.forges.commits import Commits
from orchestrator.forges.lending import Lending
from orchestrator.forges.mirror import Mirror, Remote, check_name
from orchestrator.forges.work import Work
from orchestrator.pipeline.artifacts import artifact_dir
from orchestrator.pipeline.ids import CodeId, Commit, Epoch
from orchestrator.plumbing import git as plumbing
from orchestrator.plumbing.git import refs, trees
from orchestrator.plumbing.git.worktrees import worktree_directory_name
from orchestrator.ports.workspace import Author, Blob, Branch, Head, RebaseConflict, Rebased, RebaseResult

log = structlog.get_logger(__name__)

COMMITTER: Final = plumbing.Author("Orchestrator", "orchestrator@localhost")


@dataclass(frozen=True, slots=True)
class Places:
    """Where mirrors, worktrees of items and temporary checkouts are kept."""

    repositories: Path
    worktrees: Path
    checkouts: Path

    @classmethod
    def below(cls, home: Path) -> "Places":
        """The usual places in the data directory."""
        return cls(home / "repos", home / "worktrees", home / "checkouts")


class MirrorWorkspace:
    """The port ``Workspace``; ``remotes`` says where the forge keeps a project.

    Only the item's own branch and refs below ``refs/orchestrator`` are ever pushed: never the base.
    """

    def __init__(
        self,
        places: Places,
        remotes: Callable[[str], Remote],
        git: plumbing.Git,
        *,
        follow: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        self._places = places
        self._remotes = remotes
        self._follow = follow
        self._git = git
        self._committer = COMMITTER
        self._checkouts = Checkouts(git)
        self._work = Work(git)
        self._lending = Lending(git, self._checkouts)
        self._mirrors: dict[str, Mirror] = {}
        self._commits = Commits(git)

    async def register(self, project: str, base: str, remote: Remote | None = None) -> None:
        """Make the project's mirror; again brings it up to date.

        Without ``remote`` it is where ``remotes`` says.

        Raises:
            BadInput: the forge's repository is missing, is none, lacks the base branch, or is a working
                repository with changes that are not committed.
        """
        mirror = Mirror(self._git, self._path(project), remote or self._remotes(project))
        await mirror.create(base)
        self._mirrors[project] = mirror

    async def unregister(self, project: str) -> None:
        """Remove the project's mirror and its worktrees; for one that turned out to be of no use."""
        self._mirrors.pop(project, None)
        for place in (
            self._path(project),
            self._places.worktrees / project,
            self._places.checkouts / project,
        ):
            await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)

    async def sweep(self, in_use: Callable[[Path], bool]) -> None:
        """Remove the temporary checkouts that a killed process left and in which nothing works any more."""
        for project in sorted(self._places.checkouts.glob("*")):
            await self._checkouts.sweep(self._mirror(project.name), project, in_use)

    # The port.

    async def refresh(self, project: str) -> None:
        """Fetch what others pushed, after the forge has taken over what it follows."""
        if self._follow is not None:
            await self._follow(project)
        await self._mirror(project).refresh()

    async def head(self, branch: Branch) -> Head:
        """Where ``branch`` stands as last refreshed; the base's head when it was not cut yet."""
        found = await self._mirror(branch.project).branches(branch.name, branch.base)
        commit = found.get(branch.name) or _base(branch, found)
        return Head(commit, await self.code_id(branch, commit), exists=branch.name in found)

    async def base_head(self, branch: Branch) -> Commit:
        """The head of the base branch as last refreshed."""
        return _base(branch, await self._mirror(branch.project).branches(branch.base))

    async def code_id(self, branch: Branch, commit: Commit) -> CodeId:
        """The code id of ``commit`` for the branch's item (architecture §2a)."""
        return await self._commits.code_id(self._mirror(branch.project).path, commit, branch.item)

    async def read(self, project: str, commit: Commit, path: str) -> Blob | None:
        """The file at ``path`` in ``commit``; ``None`` only when it is not there."""
        return await self._commits.read(self._mirror(project).path, commit, path)

    async def paths(self, project: str, commit: Commit, prefix: str) -> Sequence[str]:
        """Paths below ``prefix`` in ``commit``, sorted."""
        below = prefix.rstrip("/")
        return sorted(await trees.list_paths(self._git, self._mirror(project).path, commit, below))

    async def changed(self, project: str, old: Commit, new: Commit) -> Sequence[str]:
        """Paths that differ between two commits, sorted."""
        return sorted(await trees.changed_paths(self._git, self._mirror(project).path, old, new))

    async def contains(self, project: str, ancestor: Commit, commit: Commit) -> bool:
        """Whether ``ancestor`` is ``commit`` or one of its ancestors."""
        return await self._commits.contains(self._mirror(project).path, ancestor, commit)

    async def tree_of(self, project: str, commit: Commit) -> str:
        """Object id of the tree of ``commit``."""
        return await self._commits.tree_of(self._mirror(project).path, commit)

    async def check_out(self, branch: Branch, at: Commit) -> Path:
        """The item's worktree, clean and detached at ``at``; leftovers of dead runs are removed."""
        mirror, directory = self._mirror(branch.project), self._directory(branch)
        if not await self._commits.exists(mirror.path, at, branch.item):
            raise Rejected(f"{branch.project} has no commit {at}")
        await self._checkouts.put(mirror, directory, at)
        return directory

    async def location(self, branch: Branch) -> Path:
        """Where the item's worktree is (or would be)."""
        return self._directory(branch)

    async def lend(self, branch: Branch, directory: Path) -> None:
        """Make a plain clone of the item's worktree, unless ``directory`` holds one."""
        _, worktree = self._worktree(branch)
        await self._lending.lend(worktree, directory, branch)

    async def take_back(self, branch: Branch, directory: Path) -> None:
        """Bring commits and changes of a lent clone into the item's worktree."""
        mirror, worktree = self._worktree(branch)
        place = artifact_dir(branch.item)
        await self._lending.take_back(mirror, worktree, directory, artifacts=place)

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
        """Commit what the worktree holds, push it, and move the branch from ``started_at`` to it."""
        mirror, directory = self._worktree(branch)
        text = f"{message.strip()}\n\nWork-Item: {branch.item}\nEpoch: {epoch}\n"
        by = plumbing.Author(author.name, author.email)
        base = (await mirror.branches(branch.base)).get(branch.base)
        head = await self._work.commit(directory, text, by=by, since=(started_at, base), within=within)
        # Whoever saves asks for the code id next: it is found out while the forge takes the work.
        published, _ = await asyncio.gather(
            self._publish(mirror, branch, head, started_at=started_at, epoch=epoch),
            self.code_id(branch, head),
            return_exceptions=True,
        )
        if isinstance(published, BaseException):
            raise published
        await mirror.note(branch.name, head)
        return head

    async def _publish(
        self, mirror: Mirror, branch: Branch, head: Commit, *, started_at: Commit, epoch: Epoch
    ) -> None:
        kept, target = f"refs/orchestrator/{branch.item}/{epoch}", f"refs/heads/{branch.name}"
        known = (await mirror.branches(branch.name)).get(branch.name)
        if known in {None, started_at, head}:
            try:
                # Nearly always the forge is as we know it, and one push does everything.
                await mirror.send_together(head, kept, target, known)
                return
            except (Conflict, Rejected) as error:
                log.info("saved_one_by_one", branch=branch.name, reason=str(error))
        found = await mirror.at_forge(kept, target)
        if found.get(kept) != head:
            await mirror.send(head, kept, found.get(kept))
        present = found.get(target)
        if present not in {None, started_at, head}:
            raise Conflict(f"{branch.name} was moved to {present} by somebody else; the work is at {kept}")
        if present != head:
            await mirror.send(head, target, present)

    async def rebase(self, branch: Branch, *, expected: Commit) -> RebaseResult:
        """Put the branch on top of its base, pushed with a lease on ``expected``; the base never moves."""
        mirror = self._mirror(branch.project)
        await mirror.refresh()
        found = await mirror.branches(branch.name, branch.base)
        if found.get(branch.name) != expected:
            raise Conflict(f"{branch.name} is at {found.get(branch.name, 'no commit')}, not at {expected}")
        base = _base(branch, found)
        if await self._commits.contains(mirror.path, base, expected):
            return Rebased(expected)
        directory = await self.check_out(branch, expected)
        result = await refs.rebase(self._git, directory, base, committer=self._committer)
        if isinstance(result, refs.RebaseConflict):
            return RebaseConflict(result.paths)
        head = Commit(result.head)
        await mirror.send(head, f"refs/heads/{branch.name}", expected)
        await mirror.note(branch.name, head)
        return Rebased(head)

    @asynccontextmanager
    async def clean_checkout(self, project: str, commit: Commit) -> AsyncIterator[Path]:
        """A separate clean checkout of ``commit``, removed at the end."""
        mirror = self._mirror(project)
        async with self._checkouts.temporary(mirror, self._places.checkouts / project, commit) as directory:
            yield directory

    async def rescue(self, branch: Branch, name: str) -> Commit | None:
        """Keep work that the forge does not have at ``refs/orchestrator/rescue/<item>/<name>``."""
        mirror, directory = self._mirror(branch.project), self._directory(branch)
        if not is_worktree(mirror, directory):
            return None
        commit = await self._work.snapshot(directory, by=self._committer, message=f"Rescued: {name}")
        if commit is not None:
            await mirror.keep(commit, f"refs/orchestrator/rescue/{branch.item}/{check_name('rescue', name)}")
        return commit

    async def discard(self, branch: Branch) -> None:
        """Remove the item's worktree; removing what is not there is no change."""
        await self._checkouts.drop(self._mirror(branch.project), self._directory(branch))

    def _mirror(self, project: str) -> Mirror:
        if project not in self._mirrors:
            path = self._path(project)
            if not (path / "HEAD").is_file():
                raise Rejected(f"project {project} is not registered on this host")
            self._mirrors[project] = Mirror(self._git, path, self._remotes(project))
        self._mirrors[project].purify()
        return self._mirrors[project]

    def _worktree(self, branch: Branch) -> tuple[Mirror, Path]:
        mirror, directory = self._mirror(branch.project), self._directory(branch)
        if not is_worktree(mirror, directory):
            raise Rejected(f"{branch.name} has no worktree at {directory}")
        return mirror, directory

    def _path(self, project: str) -> Path:
        if "/" in check_name("project", project):
            raise Rejected(f"the name of a project holds no slash: {project}")
        return self._places.repositories / f"{project}.git"

    def _directory(self, branch: Branch) -> Path:
        name = worktree_directory_name(check_name("branch", branch.name))
        if branch.name == branch.base:
            raise Rejected(f"{branch.base} is the base: no work is done on it")
        return self._places.worktrees / branch.project / name


def _base(branch: Branch, found: dict[str, Commit]) -> Commit:
    if branch.base not in found:
        raise Rejected(f"{branch.project} has no branch {branch.base}")
    return found[branch.base]
