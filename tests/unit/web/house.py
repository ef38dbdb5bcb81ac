"""An installation for tests: real store, intake, desk and board in one directory, on a shelf of files."""

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, timedelta
from functools import cache
from pathlib import Path
from typing import cast

from orchestrator.config.projects import Project
from orchestrator.engine.authors import Authors
from orchestrator.engine.costs import Costs
from orchestrator.engine.desk import Desk
from orchestrator.engine.intake import Intake
from orchestrator.engine.overview import Limits, Overview
from orchestrator.errors import Rejected, Unavailable
from orchestrator.pipeline.decisions import Policy
from orchestrator.pipeline.ids import CodeId, Commit
from orchestrator.plumbing.clock import SystemClock
from orchestrator.plumbing.redaction import redact
from orchestrator.ports.projects import ProjectRegistry
from orchestrator.ports.store import Transaction
from orchestrator.ports.workspace import Blob, Branch, Head, Workspace
from orchestrator.store.adapter import SqlStore
from orchestrator.store.leases import SqlLeases
from orchestrator.store.owners import this_process
from orchestrator.store.queue_sqlite import SqlQueue
from orchestrator.testing.clock import SequentialIds
from orchestrator.trackers.board import BoardTracker
from orchestrator.web.services import WebServices
from tests.unit.web.transcripts import told


class ShiftedClock(SystemClock):
    """The clock of this machine, set back by ``behind``: what is told of the past is stored with its time."""

    def __init__(self) -> None:
        self.behind = timedelta()

    def now(self):
        return super().now() - self.behind


class Shelf:
    """Committed files by branch; what the pages read of a workspace."""

    def __init__(self) -> None:
        self.heads: dict[str, Commit] = {}
        self.trees: dict[Commit, dict[str, bytes]] = {}
        self.broken = False
        self.put("main", {"README.md": "# sample\n"})

    def put(self, branch: str, files: Mapping[str, str]) -> Commit:
        tree = dict(self.trees.get(self.heads.get(branch, Commit("")), {}))
        tree |= {path: text.encode() for path, text in files.items()}
        commit = Commit(hashlib.sha1(branch.encode() + repr(sorted(tree.items())).encode()).hexdigest())
        self.heads[branch], self.trees[commit] = commit, tree
        return commit

    async def head(self, branch: Branch) -> Head:
        if self.broken:
            raise Unavailable("the repository does not answer")
        commit = self.heads.get(branch.name)
        if commit is None:
            return Head(self.heads[branch.base], CodeId("base"), exists=False)
        return Head(commit, CodeId(f"code-{commit[:8]}"))

    async def base_head(self, branch: Branch) -> Commit:
        return self.heads[branch.base]

    async def paths(self, project: str, commit: Commit, prefix: str) -> Sequence[str]:
        return sorted(path for path in self.trees[commit] if path.startswith(f"{prefix}/"))

    async def read(self, project: str, commit: Commit, path: str) -> Blob | None:
        data = self.trees[commit].get(path)
        return None if data is None else Blob(hashlib.sha1(data).hexdigest(), data)


@dataclass
class Registered:
    """Projects by name."""

    projects: Sequence[Project]

    async def project(self, name: str) -> Project:
        for project in self.projects:
            if project.name == name:
                return project
        raise Rejected(f"no project {name} is registered")

    async def all(self) -> Sequence[Project]:
        return self.projects

    async def contract(self, name: str) -> None:
        return None

    async def refresh(self, name: str) -> None:
        await self.project(name)


@dataclass
class House:
    """The installation and its parts."""

    store: SqlStore
    queue: SqlQueue
    board: BoardTracker
    shelf: Shelf
    clock: ShiftedClock
    services: WebServices
    logs: Path
    closed: list[bool] = field(default_factory=list)

    def close(self) -> None:
        self.board.close()
        self.store.close()


@cache
def _empty_database() -> bytes:
    """A migrated database without rows: migrating anew for each test takes longer than most tests."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "empty.db"
        SqlStore(f"sqlite:///{path}", SystemClock(), this_process(SequentialIds())).close()
        return path.read_bytes()


async def build(directory: Path, *names: str) -> House:
    """A fresh installation with these projects (``sample`` when none is named), the first prefix ``ORCH``."""
    clock, ids = ShiftedClock(), SequentialIds("id")
    (directory / "orchestrator.db").write_bytes(_empty_database())
    store = SqlStore(f"sqlite:///{directory}/orchestrator.db", clock, this_process(ids))
    board = BoardTracker(f"sqlite:///{directory}/board.db", clock)
    projects = [
        Project(name=name, prefix=prefix, repo_url=f"../repos/{name}.git")
        for name, prefix in zip(names or ("sample",), ("ORCH", "SHOP", "BILL"), strict=False)
    ]
    for project in projects:
        await board.create_project(project.name, project.prefix)

    def register(tx: Transaction) -> None:
        for project in projects:
            tx.projects.put(project.name, {"base_branch": project.base_branch})

    await store.transact(register)
    shelf = Shelf()
    workspace = cast("Workspace", shelf)
    registry = cast("ProjectRegistry", Registered(projects))
    policy = Policy()
    authors = Authors(projects=registry, tracker=board)
    desk = Desk(
        store=store,
        intake=Intake(store=store, clock=clock, authors=authors),
        filing=board,
        workspace=workspace,
        projects=registry,
        ids=ids,
        clock=clock,
        authors=authors,
    )
    overview = Overview(
        store=store,
        leases=SqlLeases(store.database),
        clock=clock,
        policy=policy,
        limits=Limits(max_concurrency=2, poll_interval=timedelta(seconds=2)),
        blocks={"resilience": lambda: {"breaker": "closed", "preflight": "ok"}},
    )
    logs = directory / "logs"
    logs.mkdir()
    closed: list[bool] = []
    services = WebServices(
        desk=desk,
        store=store,
        overview=overview,
        costs=Costs(
            store=store,
            projects=registry,
            clock=clock,
            budgets={"item": {"cost_usd": 20.0}, "day": {"runs": 9.0}},
            zone=UTC,
        ),
        workspace=workspace,
        projects=registry,
        policy=policy,
        clock=clock,
        ids=ids,
        version="1.2.3",
        secret=b"a secret of this process",
        log_of=lambda run: path if (path := logs / f"{run}.log").exists() else None,
        transcripts=lambda kind: told,
        redact=redact,
        changed=lambda: 0,
        person="anna",
        closing=lambda: bool(closed),
    )
    return House(store, SqlQueue(store.database), board, shelf, clock, services, logs, closed)
