"""The ports in memory, small enough to read, and a bench of gates on them; commands are run for real."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from orchestrator.config.contract import Contract, parse_contract
from orchestrator.config.projects import Project, make_project
from orchestrator.delivery.clean_runs import CleanRuns
from orchestrator.delivery.commands import ContractCommands, Surroundings
from orchestrator.delivery.measurement import Measurement
from orchestrator.delivery.merge import MergeService
from orchestrator.delivery.rehearsal import Rehearsal
from orchestrator.delivery.retest import Suite
from orchestrator.delivery.scans import Scans
from orchestrator.errors import Conflict, Rejected
from orchestrator.gates import GateTools, Limits, bind
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.ids import CodeId, Commit, Epoch, JobId, TaskId, WorkItemId
from orchestrator.pipeline.items import Approval, Work, WorkItem, WorkState
from orchestrator.pipeline.stages import Stage, Track
from orchestrator.pipeline.verdicts import Verdict
from orchestrator.plumbing.processes import Processes
from orchestrator.ports.forge import Checks, CheckState, PullRequest, PullState
from orchestrator.ports.gate import Question
from orchestrator.ports.leases import Lease, MergeLease
from orchestrator.ports.workspace import Blob, Branch, Head, RebaseConflict, Rebased, RebaseResult
from orchestrator.testing.clock import SequentialIds

ENTERED = datetime(2026, 3, 2, 9, tzinfo=UTC)
ITEM = WorkItemId("ORCH-7")
DOCS = f"docs/work-items/{ITEM}"
BRANCH = Branch("tally", "feature/orch-7", "main", ITEM)
BASE_FILES = {"app.py": "one\n"}


def digest(*parts: str) -> str:
    return hashlib.sha1("\0".join(parts).encode(), usedforsecurity=False).hexdigest()


@dataclass
class Snapshot:
    files: dict[str, str]
    ancestors: frozenset[str]


class MemoryWorkspace:
    """Commits are dictionaries of files; the branch and its base are two names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commits: dict[str, Snapshot] = {}
        self.heads: dict[str, Commit] = {}
        self.conflicts: tuple[str, ...] = ()
        self.checkouts: list[str] = []
        self.heads["main"] = self.commit(BASE_FILES)
        self.heads[BRANCH.name] = self.heads["main"]

    def commit(self, files: dict[str, str], *parents: str) -> Commit:
        """A commit with exactly these files."""
        name = Commit(digest(str(len(self.commits)), *sorted(files)))
        above = frozenset(parents).union(*(self.commits[parent].ancestors for parent in parents))
        self.commits[name] = Snapshot(dict(files), above | {name})
        return name

    def push(self, files: dict[str, str | None], branch: str = BRANCH.name) -> Commit:
        """Change files of a branch (``None`` removes); its new head."""
        old = self.heads[branch]
        merged = {**self.commits[old].files, **files}
        kept = {path: text for path, text in merged.items() if text is not None}
        self.heads[branch] = self.commit(kept, old)
        return self.heads[branch]

    async def refresh(self, project: str) -> None: ...

    async def head(self, branch: Branch) -> Head:
        commit = self.heads[branch.name]
        return Head(commit, await self.code_id(branch, commit))

    async def base_head(self, branch: Branch) -> Commit:
        return self.heads[branch.base]

    async def code_id(self, branch: Branch, commit: Commit) -> CodeId:
        files = self.commits[commit].files.items()
        return CodeId(digest(*(f"{p}={t}" for p, t in sorted(files) if not p.startswith(DOCS))))

    async def read(self, project: str, commit: Commit, path: str) -> Blob | None:
        text = self.commits[commit].files.get(path)
        return None if text is None else Blob(digest(text), text.encode())

    async def paths(self, project: str, commit: Commit, prefix: str) -> Sequence[str]:
        return sorted(path for path in self.commits[commit].files if path.startswith(f"{prefix}/"))

    async def changed(self, project: str, old: Commit, new: Commit) -> Sequence[str]:
        before, after = self.commits[old].files, self.commits[new].files
        return sorted(path for path in {*before, *after} if before.get(path) != after.get(path))

    async def contains(self, project: str, ancestor: Commit, commit: Commit) -> bool:
        return ancestor in self.commits[commit].ancestors

    async def tree_of(self, project: str, commit: Commit) -> str:
        return digest(*(f"{p}={t}" for p, t in sorted(self.commits[commit].files.items())))

    async def rebase(self, branch: Branch, *, expected: Commit) -> RebaseResult:
        if self.conflicts:
            return RebaseConflict(self.conflicts)
        base, head = self.heads[branch.base], self.heads[branch.name]
        assert head == expected
        files = {**self.commits[base].files, **self.commits[head].files}
        self.heads[branch.name] = self.commit(files, base)
        return Rebased(self.heads[branch.name])

    @asynccontextmanager
    async def clean_checkout(self, project: str, commit: Commit):
        self.checkouts.append(commit)
        place = self.folder / f"checkout-{len(self.checkouts)}"
        for path, text in self.commits[commit].files.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(text)
        yield place

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"no gate may call workspace.{name}")


@dataclass
class MemoryForge:
    workspace: MemoryWorkspace
    state: PullState = PullState.OPEN
    pull_head: Commit | None = None
    merged_as: Commit | None = None
    result: Checks = field(default_factory=lambda: Checks(CheckState.NONE))
    approved: dict[str, list[str]] = field(default_factory=dict)
    merges: list[str] = field(default_factory=list)

    async def pull_request(self, project: str, number: int) -> PullRequest:
        head = self.pull_head or self.workspace.heads[BRANCH.name]
        return PullRequest(number, BRANCH.name, "main", head, self.state, "Count", merged_as=self.merged_as)

    async def checks(self, project: str, commit: Commit) -> Checks:
        return self.result

    async def approvals(self, project: str, number: int, head: Commit) -> Sequence[str]:
        return self.approved.get(head, [])

    async def merge(
        self, project: str, number: int, *, expected_head: Commit, method: str, message: str
    ) -> Commit:
        self.merges.append(f"{method}: {message}")
        files = self.workspace.commits[expected_head].files
        self.merged_as = self.workspace.commit(files, self.workspace.heads["main"], expected_head)
        self.state, self.pull_head = PullState.MERGED, expected_head
        self.workspace.heads["main"] = self.merged_as
        return self.merged_as

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"no gate may call forge.{name}")


@dataclass
class MemoryLeases:
    holder: TaskId | None = None

    async def take_merge(self, project: str, task_id: TaskId) -> MergeLease:
        if self.holder not in {None, task_id}:
            raise Conflict("ORCH-9 is merging into tally")
        self.holder = task_id
        return MergeLease(project, task_id)

    async def give_back_merge(self, project: str, task_id: TaskId) -> None:
        if self.holder == task_id:
            self.holder = None

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"no gate may call leases.{name}")


@dataclass
class MemoryStore:
    item: WorkItem
    baseline: float | None = None

    async def transact(self, action: Callable[[Any], Any]) -> Any:
        def project(_name: str) -> SimpleNamespace:
            return SimpleNamespace(coverage_baseline=self.baseline)

        def raise_coverage(_name: str, percent: float) -> None:
            self.baseline = max(percent, self.baseline or 0)

        items = SimpleNamespace(get=lambda _: self.item)
        return action(
            SimpleNamespace(items=items, projects=SimpleNamespace(get=project, raise_coverage=raise_coverage))
        )

    def version(self) -> int:
        return 0


@dataclass
class MemoryProjects:
    registered: Project

    async def project(self, name: str) -> Project:
        if name != self.registered.name:
            raise Rejected(name)
        return self.registered

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"no gate may call projects.{name}")


@dataclass
class Bench:
    """One item, the ports around it, and the gates to ask."""

    workspace: MemoryWorkspace
    forge: MemoryForge
    leases: MemoryLeases
    store: MemoryStore
    tools: GateTools
    runs: CleanRuns
    contract: Contract | None = None
    producer: str = "tester"
    tool_error: str = ""
    approvals: tuple[Approval, ...] = ()
    earlier: dict[GateName, Verdict] = field(default_factory=dict)
    ordered_at: Commit | None = None
    delivered: Commit | None = None

    def declare(self, text: str) -> None:
        self.contract = parse_contract(text)

    def limit(self, **changes) -> None:
        self.tools = replace(self.tools, limits=replace(self.tools.limits, **changes))

    def deliver(self, files: dict[str, str | None]) -> Commit:
        """The stage's work: ordered at the present head, delivered with these files of the item's folder."""
        self.ordered_at = self.workspace.heads[BRANCH.name]
        self.delivered = self.workspace.push({f"{DOCS}/{name}": text for name, text in files.items()})
        return self.delivered

    async def question(self) -> Question:
        head = await self.workspace.head(BRANCH)
        work = Work(
            JobId(1),
            WorkState.DONE,
            self.producer,
            ordered_at=self.ordered_at or head.commit,
            delivered=self.delivered or head.commit,
            code=head.code,
            tool_error=self.tool_error,
        )
        item = self.store.item
        return Question(
            item=item,
            branch=BRANCH,
            head=head,
            work=work,
            contract=self.contract,
            lease=Lease(item.task_id, item.stage, item.epoch, 1, "us"),
            approvals=self.approvals,
            earlier=self.earlier,
        )

    async def ask(self, gate: GateName) -> Verdict:
        return await bind(self.tools)[gate](await self.question())


def make_bench(tmp_path: Path, *, self_hosting: bool = False) -> Bench:
    workspace: Any = MemoryWorkspace(tmp_path / "checkouts")
    forge: Any = MemoryForge(workspace)
    leases: Any = MemoryLeases()
    store: Any = MemoryStore(an_item())
    project = make_project(
        {"name": "tally", "prefix": "ORCH", "repo_url": "/srv/tally.git", "self_hosting": self_hosting}
    )
    commands = ContractCommands(
        Processes(),
        Surroundings(tmp_path / "state", lambda _: (8500, 8501)),
        grace=timedelta(milliseconds=200),
    )
    runs = CleanRuns(workspace, commands, root=tmp_path / "runs")
    measurement = Measurement(runs, limit=timedelta(seconds=20))
    projects: Any = MemoryProjects(project)
    tools = GateTools(
        workspace=workspace,
        forge=forge,
        projects=projects,
        store=store,
        suite=Suite(runs),
        merging=MergeService(
            workspace=workspace, forge=forge, leases=leases, store=store, measurement=measurement
        ),
        measurement=measurement,
        scans=Scans(workspace, runs, limit=timedelta(seconds=20)),
        rehearsal=Rehearsal(workspace, commands, root=tmp_path / "runs", ids=SequentialIds("r")),
        limits=Limits(),
    )
    return Bench(workspace, forge, leases, store, tools, runs)


def an_item() -> WorkItem:
    return WorkItem(
        task_id=TaskId(1),
        id=ITEM,
        project="tally",
        title="Count twice",
        description="",
        tracker_ref="1",
        track=Track.FULL,
        stage=Stage.DEPLOY_STAGING,
        epoch=Epoch(1),
        branch=BRANCH.name,
        base="main",
        created_at=ENTERED - timedelta(hours=1),
        entered_at=ENTERED,
        pull_request=4,
    )


def document(body: str = "Text\n", **values: str) -> str:
    """A document of the item with the 52c front matter and these values."""
    meta = {
        "work_item": ITEM,
        "stage": "analysis",
        "author_agent": "analyst",
        "status": "done",
        "created_at": "2026-03-02",
        "model_used": "some",
        **values,
    }
    lines = "".join(f"{key}: {value}\n" for key, value in meta.items() if value)
    return f"---\n{lines}---\n{body}"
