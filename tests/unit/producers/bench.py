"""An item with a branch in real repositories, real processes, and the neighbours that producers are given."""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from orchestrator.config.contract import Contract, ContractError, parse_contract
from orchestrator.config.projects import Project, make_project
from orchestrator.config.settings import Settings
from orchestrator.delivery.attempts import Attempts
from orchestrator.delivery.commands import ContractCommands, Surroundings
from orchestrator.delivery.probe import Answer, NoAnswer, Seen
from orchestrator.delivery.reports import Reports
from orchestrator.delivery.sources import Sources
from orchestrator.forges.mirror import Remote
from orchestrator.forges.worktrees import MirrorWorkspace, Places
from orchestrator.pipeline.ids import CodeId, Commit, Epoch, JobId, TaskId, WorkItemId
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import Role, Stage, Track, role_in
from orchestrator.pipeline.wording import Language
from orchestrator.plumbing.documents import Document, parse_document
from orchestrator.plumbing.git import Git
from orchestrator.plumbing.processes import Processes
from orchestrator.ports.producer import Assignment
from orchestrator.ports.queue import Job, JobKind, JobStatus
from orchestrator.ports.workspace import Branch
from orchestrator.testing.clock import ManualClock
from tests.unit.forges.repositories import commit, git, working_repository

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PORTS = (18500, 18501)


class ScriptedProbe:
    """Answers each look with the next of what was scripted, the last one for ever."""

    def __init__(self, *answers: Seen) -> None:
        self.answers = list(answers) or [Answer(200, '{"status": "ok"}')]
        self.asked: list[str] = []

    async def get(self, url: str) -> Seen:
        self.asked.append(url)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class OneProject:
    """The registry of a single project, whose contract may be one that cannot be read."""

    def __init__(self, given: Contract | ContractError | None, **values: object) -> None:
        self.given = given
        self.values = values

    async def project(self, name: str) -> Project:
        return make_project({"name": name, "prefix": "SHOP", "repo_url": "/repo", **self.values})

    async def all(self) -> Sequence[Project]:
        return [await self.project("shop")]

    async def contract(self, name: str) -> Contract | None:
        if isinstance(self.given, ContractError):
            raise self.given
        return self.given

    async def refresh(self, name: str) -> None:
        """There is nothing newer."""


WELL = Answer(200, '{"status": "ok"}')
SICK = Answer(503, "no")
AWAY = NoAnswer("connection refused")


@dataclass
class Bench:
    """Everything that a deterministic producer is made of, and the item that it works for."""

    home: Path
    forge: Path
    workspace: MirrorWorkspace
    item: WorkItem
    start: Commit
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOW))
    processes: Processes = field(default_factory=Processes)

    @property
    def branch(self) -> Branch:
        return Branch(self.item.project, self.item.branch, self.item.base, self.item.id)

    @property
    def commands(self) -> ContractCommands:
        surroundings = Surroundings(self.home / "state", lambda _: PORTS, {"COUNT": str(self.home / "count")})
        return ContractCommands(self.processes, surroundings, grace=timedelta(milliseconds=300))

    @property
    def sources(self) -> Sources:
        return Sources(self.workspace, Git())

    @property
    def attempts(self) -> Attempts:
        return Attempts(
            commands=self.commands,
            processes=self.processes,
            workspace=self.workspace,
            sources=self.sources,
            runs_dir=self.home / "runs",
        )

    @property
    def reports(self) -> Reports:
        return Reports(self.workspace, language=Language.EN, email_domain="orch.example")

    def settings(self, **changes: object) -> Settings:
        return Settings(**{"home": self.home, **changes})  # type: ignore[arg-type]

    def assignment(self, stage: Stage, contract: Contract | None, **changes: object) -> Assignment:
        item = replace(self.item, stage=stage)
        made = Assignment(
            item=item,
            branch=self.branch,
            stage=stage,
            role=role_in(stage) or Role.DEVELOPER,
            job=job(stage),
            started_at=self.start,
            contract=contract,
        )
        return replace(made, **changes)  # type: ignore[arg-type]

    def counted(self) -> int:
        """How often a command that counts itself ran."""
        file = self.home / "count"
        return len(file.read_text().splitlines()) if file.exists() else 0

    async def document(self, at: Commit, name: str) -> Document:
        return parse_document((await self.blob(at, name)).decode())

    async def blob(self, at: Commit, name: str) -> bytes:
        found = await self.workspace.read(self.item.project, at, f"docs/work-items/{self.item.id}/{name}")
        assert found is not None
        return found.data

    def author(self, at: Commit) -> str:
        return git(self.forge, "log", "-1", "--format=%an <%ae>: %s", at)


def job(stage: Stage, number: int = 7, **changes: object) -> Job:
    made = Job(
        id=JobId(number),
        kind=JobKind.PRODUCE,
        status=JobStatus.RUNNING,
        task_id=TaskId(1),
        project="shop",
        agent="tester",
        stage=stage,
        epoch=Epoch(1),
        commit=None,
        code=None,
        content="",
        data={},
        attempts=0,
        max_attempts=3,
        available_at=NOW,
        created_at=NOW,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


async def bench(tmp_path: Path, files: Mapping[str, str] | None = None) -> Bench:
    """A project with a base, and a branch that has one change of its own."""
    person = working_repository(tmp_path / "person")
    git(person, "checkout", "--quiet", "-b", "feature/SHOP-1-count")
    start = commit(person, {"feature.py": "new\n", **(files or {})}, "Count")
    git(person, "checkout", "--quiet", "main")
    forge = tmp_path / "forge.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(person), str(forge))
    home = tmp_path / "home"
    workspace = MirrorWorkspace(Places.below(home), lambda _: Remote(str(forge)), Git())
    await workspace.register("shop", "main")
    item = WorkItem(
        task_id=TaskId(1),
        id=WorkItemId("SHOP-1"),
        project="shop",
        title="Count twice",
        description="Once is not enough",
        tracker_ref="ref-1",
        track=Track.FULL,
        stage=Stage.TESTING,
        epoch=Epoch(1),
        branch="feature/SHOP-1-count",
        base="main",
        created_at=NOW,
        entered_at=NOW,
        code=CodeId("code"),
    )
    return Bench(home, forge, workspace, item, start)


def contract(**sections: object) -> Contract:
    """A contract with these sections."""
    return parse_contract(json.dumps(sections))


def python(code: str) -> list[str]:
    """A command that is a line of Python."""
    return [sys.executable, "-I", "-S", "-c", code]


def counting(then: str = "exit 0") -> dict[str, object]:
    """A command that counts itself, and then does what a line of shell says."""
    return {"run": f'echo x >> "$COUNT"; {then}', "shell": True}


def shell(line: str) -> dict[str, object]:
    return {"run": line, "shell": True}


async def eventually(condition: Callable[[], object], *, within_s: float = 10) -> None:
    """Return as soon as the condition holds."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.003)


async def interrupted(work, when: Callable[[], object]) -> None:
    """Begin some work and cancel it as soon as the condition holds, as a stopping worker does."""
    task = asyncio.create_task(work)
    await eventually(when)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()


def values(document: Document) -> Mapping[str, object]:
    """The front matter of a document that can be relied on."""
    assert document.problems == ()
    return document.meta
