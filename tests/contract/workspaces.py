"""The workspaces that keep one contract, each with what a person and a reader of the forge do around it."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from orchestrator.forges.mirror import Remote
from orchestrator.forges.worktrees import MirrorWorkspace, Places
from orchestrator.pipeline.ids import Commit, Epoch
from orchestrator.plumbing.git import Git
from orchestrator.ports.workspace import Author, Workspace
from orchestrator.testing import MemoryWorkspace
from tests.unit.forges.repositories import BRANCH, commit, git, push, ref, working_repository

AUTHOR = Author("developer", "developer@localhost")
HEAD = f"refs/heads/{BRANCH.name}"
BASE = "refs/heads/main"


class Bench(ABC):
    """A workspace with the project ``shop``, whose base holds ``app.py`` and ``docs/readme.md``."""

    workspace: Workspace

    # What a person does, and what stands at the forge.

    @abstractmethod
    def pushed(self, files: Mapping[str, str], branch: str = "main") -> Commit:
        """A person's commit at the end of a branch of the forge, which begins at the base."""

    @abstractmethod
    def at_forge(self, name: str) -> str:
        """Where a ref of the forge stands, by its full name; nothing when there is none."""

    @abstractmethod
    def parents(self, commit: Commit) -> list[str]:
        """What the commit was made on."""

    @abstractmethod
    def origin(self, commit: Commit) -> list[str]:
        """The author and the lines of the message."""

    # What every row does in the same way.

    async def base(self) -> Commit:
        return await self.workspace.base_head(BRANCH)

    async def save(self, started_at: Commit, epoch: int = 1, within: str = "") -> Commit:
        return await self.workspace.save(
            BRANCH, author=AUTHOR, message="Count", started_at=started_at, epoch=Epoch(epoch), within=within
        )

    async def work(self, files: Mapping[str, str]) -> Commit:
        """Check out where the branch stands, write files, save."""
        head = await self.workspace.head(BRANCH)
        tree = await self.workspace.check_out(BRANCH, head.commit)
        for name, text in files.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)
        return await self.save(head.commit)

    async def text(self, commit: Commit, path: str) -> str:
        blob = await self.workspace.read("shop", commit, path)
        assert blob is not None
        return blob.text()


class MirrorBench(Bench):
    """A mirror of a bare repository, to which a person pushes from a clone."""

    def __init__(self, workspace: Workspace, forge: Path, person: Path) -> None:
        self.workspace = workspace
        self.forge = forge
        self.person = person

    def pushed(self, files: Mapping[str, str], branch: str = "main") -> Commit:
        begin = branch if ref(self.forge, f"refs/heads/{branch}") else "main"
        git(self.person, "fetch", "--quiet", str(self.forge), begin)
        git(self.person, "checkout", "--quiet", "-B", branch, "FETCH_HEAD")
        made = commit(self.person, dict(files))
        push(self.person, self.forge, f"HEAD:refs/heads/{branch}")
        return made

    def at_forge(self, name: str) -> str:
        return ref(self.forge, name)

    def parents(self, commit: Commit) -> list[str]:
        return git(self.forge, "log", "-1", "--format=%P", commit).split()

    def origin(self, commit: Commit) -> list[str]:
        return git(self.forge, "log", "-1", "--format=%an <%ae>%n%B", commit).splitlines()


class MemoryBench(Bench):
    """The workspace for tests and simulations."""

    def __init__(self, workspace: MemoryWorkspace) -> None:
        self.workspace = self._memory = workspace

    def pushed(self, files: Mapping[str, str], branch: str = "main") -> Commit:
        return self._memory.push("shop", branch, files)

    def at_forge(self, name: str) -> str:
        return self._memory.repository("shop").refs.get(name, "")

    def parents(self, commit: Commit) -> list[str]:
        return list(self._memory.repository("shop").snapshot(commit).parents)

    def origin(self, commit: Commit) -> list[str]:
        snapshot = self._memory.repository("shop").snapshot(commit)
        return [snapshot.author, *snapshot.message.splitlines()]


async def mirror(tmp_path: Path) -> MirrorBench:
    person = working_repository(tmp_path / "person")
    forge = tmp_path / "forge.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(person), str(forge))
    workspace = MirrorWorkspace(Places.below(tmp_path / "home"), lambda _: Remote(str(forge)), Git())
    await workspace.register("shop", "main")
    return MirrorBench(workspace, forge, person)


async def memory(tmp_path: Path) -> MemoryBench:
    workspace = MemoryWorkspace(tmp_path / "places")
    workspace.create("shop", {"app.py": "one\n", "docs/readme.md": "read\n"})
    return MemoryBench(workspace)


ROWS: list[Callable[[Path], Awaitable[Bench]]] = [mirror, memory]
