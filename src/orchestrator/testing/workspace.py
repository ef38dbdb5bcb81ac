"""A workspace in memory: repositories without git, worktrees as plain directories."""

import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from orchestrator.errors import AdapterError, Conflict, Rejected
from orchestrator.pipeline.ids import CodeId, Commit, Epoch
from orchestrator.ports.workspace import (
    Author,
    Blob,
    Branch,
    Head,
    RebaseConflict,
    Rebased,
    RebaseResult,
)
from orchestrator.testing.repository import (
    HEADS,
    MemoryRepository,
    Snapshot,
    blob_id,
    code_id,
    is_task_file,
    tree_id,
)


class MemoryWorkspace:
    """The port ``Workspace``; ``root`` is where worktrees are put.

    While ``outage`` is set every method of the port raises it. What others pushed or merged is seen after
    the next ``refresh``, of which ``refreshed`` lists every one; at once when the workspace is ``attentive``.
    """

    def __init__(self, root: Path, *, attentive: bool = False) -> None:
        """No project is known."""
        self._attentive = attentive
        self.outage: AdapterError | None = None
        self.refreshed: list[str] = []
        self._root = root
        self._repositories: dict[str, MemoryRepository] = {}
        self._seen: dict[str, dict[str, Commit]] = {}
        self._at: dict[Path, Commit] = {}
        self._checkouts = 0

    # What people do.

    def create(self, project: str, files: Mapping[str, str], base: str = "main") -> Commit:
        """Make the repository of ``project``, whose base branch holds ``files``."""
        repository = self._repositories[project] = MemoryRepository(base)
        first = repository.commit(_encoded(files), (), "first")
        repository.move(base, first)
        self._look(project)
        return first

    def push(
        self, project: str, branch: str, files: Mapping[str, str | bytes | None], message: str = "work"
    ) -> Commit:
        """A new commit at the end of ``branch``, which is cut from the base; ``None`` deletes a file."""
        repository = self.repository(project)
        head = repository.branch(branch) or repository.refs[f"{HEADS}{repository.base}"]
        tree = dict(repository.snapshot(head).tree)
        for path, text in files.items():
            tree.pop(path, None)
            if text is not None:
                tree[path] = text if isinstance(text, bytes) else text.encode()
        made = repository.commit(tree, (head,), message)
        repository.move(branch, made)
        return made

    def repository(self, project: str) -> MemoryRepository:
        """The repository of a project, for whoever hosts it.

        Raises:
            Rejected: the project was not created.
        """
        if project not in self._repositories:
            raise Rejected(f"project {project} is not registered on this host")
        return self._repositories[project]

    # The port.

    async def refresh(self, project: str) -> None:
        """See what others pushed."""
        self._known(project)
        self._look(project)
        self.refreshed.append(project)

    async def head(self, branch: Branch) -> Head:
        """Where ``branch`` stands as last refreshed; the base's head when it was not cut yet."""
        self._known(branch.project)
        found = self._known_branches(branch.project).get(branch.name)
        commit = found or self._base(branch)
        return Head(commit, await self.code_id(branch, commit), exists=found is not None)

    async def base_head(self, branch: Branch) -> Commit:
        """The head of the base branch as last refreshed."""
        self._known(branch.project)
        return self._base(branch)

    async def code_id(self, branch: Branch, commit: Commit) -> CodeId:
        """The code id of ``commit`` for the branch's item."""
        return code_id(self._snapshot(branch.project, commit).tree, branch.item)

    async def read(self, project: str, commit: Commit, path: str) -> Blob | None:
        """The file at ``path`` in ``commit``; ``None`` only when it is not there."""
        tree = self._snapshot(project, commit).tree
        if any(name.startswith(f"{path}/") for name in tree):
            raise Rejected(f"{path} is a directory in {commit}")
        content = tree.get(path)
        return None if content is None else Blob(blob_id(content), content)

    async def paths(self, project: str, commit: Commit, prefix: str) -> Sequence[str]:
        """Paths below ``prefix`` in ``commit``, sorted."""
        place = prefix.rstrip("/")
        paths = sorted(self._snapshot(project, commit).tree)
        return [path for path in paths if not place or path == place or path.startswith(f"{place}/")]

    async def changed(self, project: str, old: Commit, new: Commit) -> Sequence[str]:
        """Paths that differ between two commits, sorted."""
        one, other = self._snapshot(project, old).tree, self._snapshot(project, new).tree
        return sorted(path for path in {*one, *other} if one.get(path) != other.get(path))

    async def contains(self, project: str, ancestor: Commit, commit: Commit) -> bool:
        """Whether ``ancestor`` is ``commit`` or one of its ancestors."""
        repository = self._known(project)
        repository.snapshot(ancestor)
        return repository.contains(ancestor, commit)

    async def tree_of(self, project: str, commit: Commit) -> str:
        """Id of the tree of ``commit``."""
        return tree_id(self._snapshot(project, commit).tree)

    async def check_out(self, branch: Branch, at: Commit) -> Path:
        """The item's worktree with exactly the files of ``at``."""
        directory = self._directory(branch)
        _fill(directory, self._snapshot(branch.project, at))
        self._at[directory] = at
        return directory

    async def location(self, branch: Branch) -> Path:
        """Where the item's worktree is (or would be)."""
        self._known(branch.project)
        return self._directory(branch)

    async def lend(self, branch: Branch, directory: Path) -> None:
        """Copy the item's worktree, unless ``directory`` holds a copy."""
        self._known(branch.project)
        worktree = self._worktree(branch)
        if not directory.exists() or not any(directory.iterdir()):
            shutil.copytree(worktree, directory, dirs_exist_ok=True)

    async def take_back(self, branch: Branch, directory: Path) -> None:
        """Make the item's worktree hold what the copy holds."""
        self._known(branch.project)
        worktree = self._worktree(branch)
        if not directory.is_dir():
            raise Rejected(f"nothing was lent to {directory}")
        shutil.rmtree(worktree)
        shutil.copytree(directory, worktree)

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
        """Commit what the worktree holds and move the branch from ``started_at`` to it."""
        repository = self._known(branch.project)
        directory = self._worktree(branch)
        text = f"{message.strip()}\n\nWork-Item: {branch.item}\nEpoch: {epoch}\n"
        by = f"{author.name} <{author.email}>"
        saved = self._committed(repository, directory, text, by=by, within=within)
        if not repository.contains(started_at, saved):
            raise Rejected(f"history was rewritten: {saved} does not contain {started_at}")
        kept = f"refs/orchestrator/{branch.item}/{epoch}"
        repository.refs[kept] = saved
        present = repository.branch(branch.name)
        if present not in {None, started_at, saved}:
            raise Conflict(f"{branch.name} was moved to {present} by somebody else; the work is at {kept}")
        self._move(branch, saved)
        self._at[directory] = saved
        return saved

    async def rebase(self, branch: Branch, *, expected: Commit) -> RebaseResult:
        """Put the branch on top of its base, as one commit."""
        repository = self._known(branch.project)
        self._look(branch.project)
        if repository.branch(branch.name) != expected:
            raise Conflict(f"{branch.name} is at {repository.branch(branch.name)}, not at {expected}")
        base = self._base(branch)
        if repository.contains(base, expected):
            return Rebased(expected)
        tree, conflicts = repository.merged(base, expected)
        if conflicts:
            return RebaseConflict(conflicts)
        last = repository.snapshot(expected)
        made = repository.commit(tree, (base,), last.message, last.author)
        self._move(branch, made)
        return Rebased(made)

    @asynccontextmanager
    async def clean_checkout(self, project: str, commit: Commit) -> AsyncIterator[Path]:
        """A separate checkout of ``commit``, removed at the end."""
        self._checkouts += 1
        directory = self._root / "checkouts" / f"{project}-{self._checkouts}"
        _fill(directory, self._snapshot(project, commit))
        try:
            yield directory
        finally:
            shutil.rmtree(directory)

    async def rescue(self, branch: Branch, name: str) -> Commit | None:
        """Keep uncommitted work at ``refs/orchestrator/rescue/<item>/<name>``."""
        repository = self._known(branch.project)
        directory = self._directory(branch)
        if directory not in self._at:
            return None
        rescued = self._committed(repository, directory, f"Rescued: {name}")
        if rescued == self._at[directory]:
            return None
        repository.refs[f"refs/orchestrator/rescue/{branch.item}/{name}"] = rescued
        return rescued

    async def discard(self, branch: Branch) -> None:
        """Remove the item's worktree."""
        self._known(branch.project)
        directory = self._directory(branch)
        if self._at.pop(directory, None) is not None:
            shutil.rmtree(directory)

    def _known(self, project: str) -> MemoryRepository:
        if self.outage is not None:
            raise self.outage
        return self.repository(project)

    def _snapshot(self, project: str, commit: Commit) -> Snapshot:
        return self._known(project).snapshot(commit)

    def _known_branches(self, project: str) -> Mapping[str, Commit]:
        if self._attentive:
            self._look(project)
        return self._seen[project]

    def _look(self, project: str) -> None:
        self._seen[project] = self.repository(project).branches()

    def _move(self, branch: Branch, commit: Commit) -> None:
        self.repository(branch.project).move(branch.name, commit)
        self._seen[branch.project][branch.name] = commit

    def _base(self, branch: Branch) -> Commit:
        found = self._known_branches(branch.project).get(branch.base)
        if found is None:
            raise Rejected(f"{branch.project} has no branch {branch.base}")
        return found

    def _directory(self, branch: Branch) -> Path:
        return self._root / "worktrees" / branch.project / branch.name.replace("/", "_")

    def _worktree(self, branch: Branch) -> Path:
        directory = self._directory(branch)
        if directory not in self._at:
            raise Rejected(f"{branch.name} has no worktree at {directory}")
        return directory

    def _committed(
        self, repository: MemoryRepository, directory: Path, message: str, *, by: str = "", within: str = ""
    ) -> Commit:
        """The commit of what ``directory`` holds; where it stands already when nothing was changed."""
        tree = {
            path.relative_to(directory).as_posix(): path.read_bytes()
            for path in sorted(directory.rglob("*"))
            if path.is_file() and not is_task_file(path.relative_to(directory).as_posix())
        }
        at = self._at[directory]
        if within:
            tree = _fenced(tree, repository.snapshot(at).tree, within)
        if tree == repository.snapshot(at).tree:
            return at
        return repository.commit(tree, (at,), message, by)


def _fenced(tree: Mapping[str, bytes], before: Mapping[str, bytes], within: str) -> dict[str, bytes]:
    """``tree`` without what is new outside of ``within``; what was changed there is refused."""
    below = f"{within.rstrip('/')}/"
    strays = [path for path in before if not path.startswith(below) and tree.get(path) != before[path]]
    if strays:
        raise Rejected(f"{', '.join(sorted(strays))} changed, and only {within} may be")
    return {path: data for path, data in tree.items() if path.startswith(below) or path in before}


def _encoded(files: Mapping[str, str]) -> dict[str, bytes]:
    return {path: text.encode() for path, text in files.items()}


def _fill(directory: Path, snapshot: Snapshot) -> None:
    if directory.exists():
        shutil.rmtree(directory)
    directory.mkdir(parents=True)
    for path, content in snapshot.tree.items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
