"""The forges that keep one contract, each with what a person and a reader of its repository do around it."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from orchestrator.config.contract import Contract, parse_contract
from orchestrator.forges.local import LocalForge
from orchestrator.pipeline.ids import Commit
from orchestrator.plumbing.git import Git
from orchestrator.plumbing.processes import Processes
from orchestrator.ports.forge import CheckRun, Checks, CheckState, Forge, PullRequest
from orchestrator.testing import MemoryForge, MemoryWorkspace
from tests.unit.forges.repositories import commit, git, push, ref, working_repository
from tests.unit.trackers.clocks import TickingClock

BRANCH = "feature/SHOP-1-count"
SUITE = "test: {run: [sh, -c, 'echo looking; test -f good']}"


class Bench(ABC):
    """A forge with the project ``shop``; its CI passes a head that holds the file ``good``."""

    forge: Forge

    # What people do, and what stands in the repository.

    @abstractmethod
    def pushed(self, files: Mapping[str, str], branch: str = BRANCH) -> Commit:
        """A person's commit at the end of a branch, which begins where the base was at first."""

    @abstractmethod
    async def approve(self, number: int, head: Commit, who: str) -> None:
        """A person approves exactly ``head``."""

    @abstractmethod
    async def settled(self, head: Commit) -> Checks:
        """The checks of a head once they are not pending any more."""

    @abstractmethod
    def at(self, branch: str) -> str:
        """Where a branch stands; nothing when there is none."""

    @abstractmethod
    def parents(self, commit: Commit) -> list[str]:
        """What the commit was made on."""

    @abstractmethod
    def files(self, commit: str) -> dict[str, str]:
        """What the commit holds, by path."""

    @abstractmethod
    def length(self, branch: str) -> int:
        """How many commits the branch has."""

    # What every row does in the same way.

    async def pull(self, branch: str = BRANCH, base: str = "main") -> PullRequest:
        return await self.forge.ensure_pull_request(
            "shop", branch=branch, base=base, title="Count", body="text"
        )

    async def merge(self, pull: PullRequest, method: str = "merge") -> Commit:
        return await self.forge.merge(
            "shop", pull.number, expected_head=pull.head, method=method, message=f"Merge {pull.number}"
        )


class LocalBench(Bench):
    """The forge on bare repositories, to which a person pushes from a clone."""

    def __init__(self, forge: LocalForge, repository: Path, person: Path, told: asyncio.Event) -> None:
        self.forge = self._local = forge
        self.repository = repository
        self.person = person
        self._told = told

    def pushed(self, files: Mapping[str, str], branch: str = BRANCH) -> Commit:
        begin = ref(self.repository, f"refs/heads/{branch}") or "main"
        git(self.person, "checkout", "--quiet", "-B", branch, begin)
        made = commit(self.person, dict(files))
        push(self.person, self.repository, f"HEAD:refs/heads/{branch}")
        return made

    async def approve(self, number: int, head: Commit, who: str) -> None:
        await self._local.approve("shop", number, head=head, who=who)

    async def settled(self, head: Commit) -> Checks:
        async with asyncio.timeout(20):
            while (checks := await self.forge.checks("shop", head)).state is CheckState.PENDING:
                await self._told.wait()
                self._told.clear()
        return checks

    def at(self, branch: str) -> str:
        return ref(self.repository, f"refs/heads/{branch}")

    def parents(self, commit: Commit) -> list[str]:
        return git(self.repository, "log", "-1", "--format=%P", commit).split()

    def files(self, commit: str) -> dict[str, str]:
        paths = git(self.repository, "ls-tree", "-r", "--name-only", commit).split()
        texts = {path: git(self.repository, "show", f"{commit}:{path}") for path in paths}
        return {path: f"{text}\n" for path, text in texts.items()}

    def length(self, branch: str) -> int:
        return int(git(self.repository, "rev-list", "--count", branch))


class MemoryBench(Bench):
    """The forge for tests and simulations, and a CI that runs when its answer is waited for."""

    def __init__(self, workspace: MemoryWorkspace) -> None:
        self.forge = self._memory = MemoryForge(workspace, unasked=CheckState.PENDING)
        self._repository = workspace.repository("shop")
        self._begin = self._repository.refs["refs/heads/main"]

    def pushed(self, files: Mapping[str, str], branch: str = BRANCH) -> Commit:
        head = self._repository.branch(branch) or self._begin
        tree = {**self._repository.snapshot(head).tree, **{path: t.encode() for path, t in files.items()}}
        made = self._repository.commit(tree, [head], "change")
        self._repository.move(branch, made)
        return made

    async def approve(self, number: int, head: Commit, who: str) -> None:
        self._memory.approve("shop", number, head=head, who=who)

    async def settled(self, head: Commit) -> Checks:
        good = "good" in self._repository.snapshot(head).tree
        state = CheckState.SUCCESS if good else CheckState.FAILURE
        run = CheckRun("ci", state, log_tail="looking\n")
        self._memory.report("shop", head, Checks(state, (run,)))
        return await self.forge.checks("shop", head)

    def at(self, branch: str) -> str:
        return self._repository.branch(branch) or ""

    def parents(self, commit: Commit) -> list[str]:
        return list(self._repository.snapshot(commit).parents)

    def files(self, commit: str) -> dict[str, str]:
        tree = self._repository.snapshot(Commit(commit)).tree
        return {path: content.decode() for path, content in tree.items()}

    def length(self, branch: str) -> int:
        return len(list(self._repository.history(Commit(self.at(branch)))))


@asynccontextmanager
async def local(tmp_path: Path) -> AsyncIterator[LocalBench]:
    told = asyncio.Event()

    async def contract_for(project: str) -> Contract | None:
        return parse_contract(SUITE)

    async def on_event(kind: str, project: str, head: Commit) -> None:
        told.set()

    forge = LocalForge(
        tmp_path / "forge", git=Git(), clock=TickingClock(), processes=Processes(),
        contract_for=contract_for, on_event=on_event,
    )  # fmt: skip
    person = working_repository(tmp_path / "person")
    repository = await forge.host("shop", person, "main")
    yield LocalBench(forge, repository, person, told)
    await forge.aclose()


@asynccontextmanager
async def memory(tmp_path: Path) -> AsyncIterator[MemoryBench]:
    workspace = MemoryWorkspace(tmp_path)
    workspace.create("shop", {"app.py": "one\n", "docs/readme.md": "read\n"})
    yield MemoryBench(workspace)


Row = Callable[[Path], AbstractAsyncContextManager[Bench]]
ROWS: list[Row] = [local, memory]
