"""An item at which an agent works: a real store, a workspace in memory, an agent that does as a test says."""

from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

from orchestrator.config.settings import Settings
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import Role, role_in
from orchestrator.pipeline.wording import Language
from orchestrator.ports.agent import AgentOutcome, AgentTask, AgentTransport
from orchestrator.ports.producer import Assignment
from orchestrator.ports.queue import JobKind
from orchestrator.ports.workspace import Branch
from orchestrator.producers.agent_run import Admission, AgentRun, Furnishing, Opening, Places, Reservations
from orchestrator.testing.agent import ScriptedAgent
from orchestrator.testing.clock import SequentialIds
from orchestrator.testing.workspace import MemoryWorkspace
from tests.unit.producers.bench import OneProject
from tests.unit.store.rigs import Rig, opened, produce


@dataclass
class Desk:
    """An item in a stage, a workspace in memory, and an agent that does what a test says."""

    rig: Rig
    workspace: MemoryWorkspace
    item: WorkItem
    settings: Settings
    script: Callable[[AgentTask], AgentOutcome | None] = lambda _: None
    projects: OneProject = field(default_factory=lambda: OneProject(None))

    def __post_init__(self):
        self.ids = SequentialIds("fence")
        self.agent = ScriptedAgent(self._act, self.rig.clock)
        self.agents: AgentTransport = self.agent

    async def _act(self, task):
        return self.script(task)

    @property
    def role(self) -> Role:
        role = role_in(self.item.stage)
        assert role is not None
        return role

    @property
    def admission(self) -> Admission:
        return Admission(store=self.rig.store, clock=self.rig.clock, settings=self.settings)

    @property
    def places(self) -> Places:
        return Places(self.workspace, self.settings.runs_dir)

    def opening(self) -> Opening:
        reservations = Reservations(
            store=self.rig.store, projects=self.projects, settings=self.settings, clock=self.rig.clock
        )
        furnishing = Furnishing(
            store=self.rig.store,
            workspace=self.workspace,
            places=self.places,
            ids=self.ids,
            language=Language(self.settings.language),
        )
        return Opening(
            reservations=reservations,
            admission=self.admission,
            furnishing=furnishing,
            places=self.places,
            workspace=self.workspace,
            runs_dir=self.settings.runs_dir,
            email_domain="orch.example",
            most_turns=self.settings.agent_max_turns,
        )

    def rows(self) -> tuple[AgentRun, ...]:
        opening = self.opening()
        return tuple(
            AgentRun(
                role,
                transport=self.agents,
                opening=opening,
                admission=self.admission,
                places=self.places,
                store=self.rig.store,
                workspace=self.workspace,
                clock=self.rig.clock,
                limit_pause=timedelta(seconds=90),
            )
            for role in Role
        )

    @property
    def branch(self) -> Branch:
        return Branch("tally", self.item.branch, "main", self.item.id)

    async def assignment(self, **changes) -> Assignment:
        job = await self.rig.queue.claim([JobKind.PRODUCE])
        assert job is not None
        made = Assignment(
            item=self.item,
            branch=self.branch,
            stage=self.item.stage,
            role=self.role,
            job=job,
            started_at=(await self.workspace.head(self.branch)).commit,
            contract=None,
        )
        return replace(made, **changes)

    async def produce(self, assignment):
        (row,) = [row for row in self.rows() if row.applies(self.item, assignment.stage, None)]
        return await row.produce(assignment)

    async def put_back(self, job, *, spend=False):
        await self.rig.queue.retry(job, after=timedelta(), error="again", spend=spend)

    async def runs(self):
        return await self.rig.store.transact(lambda tx: tx.runs.of_item(self.item.task_id))


@asynccontextmanager
async def at_work(tmp_path, stage, **settings):
    workspace = MemoryWorkspace(tmp_path / "places", attentive=True)
    workspace.create("tally", {"app.py": "one\n"})
    with opened("sqlite", tmp_path) as rig:
        item = await rig.item()
        await rig.store.transact(lambda tx: tx.items.move(item, to=stage, epoch=item.epoch))
        stored = await rig.store.transact(lambda tx: tx.items.get(item.task_id))
        assert stored is not None
        workspace.push("tally", item.branch, {"feature.py": "new\n"})
        await rig.enqueue(produce(stored))
        yield Desk(rig, workspace, stored, Settings(home=tmp_path / "home", **settings))
