"""The engine on the real store, queue and leases, with every neighbour in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from orchestrator.config.contract import Contract
from orchestrator.config.projects import make_project
from orchestrator.engine.advance import Door
from orchestrator.engine.authors import Authors
from orchestrator.engine.cases import branch_of, load_case
from orchestrator.engine.commitment import Commitment
from orchestrator.engine.desk import Desk
from orchestrator.engine.dispatch import Dispatch
from orchestrator.engine.evaluation import Evaluation
from orchestrator.engine.intake import Intake
from orchestrator.engine.messages import Messages
from orchestrator.engine.outward import Outward
from orchestrator.engine.recovery import Recovery
from orchestrator.engine.registry import StoredProjects
from orchestrator.jobs.worker import Worker
from orchestrator.pipeline.decisions import Policy
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.ids import Commit, WorkItemId
from orchestrator.pipeline.items import Approval, ApprovalKind, Case, WorkItem
from orchestrator.pipeline.stages import WORKING, Stage, Track, role_in
from orchestrator.pipeline.verdicts import Inconclusive, WaitsFor
from orchestrator.ports.gate import Question
from orchestrator.ports.leases import Lease
from orchestrator.ports.merging import Merged, MergeResult
from orchestrator.ports.queue import Done, Ending, Handler, Job, JobKind, JobStatus, Later, NewJob
from orchestrator.ports.store import NewItem, TransitionRow
from orchestrator.ports.subjects import analysis_subject
from orchestrator.ports.workspace import Branch, Head
from orchestrator.testing import (
    MemoryForge,
    MemoryNotifier,
    MemoryTracker,
    MemoryWorkspace,
    ScriptedGates,
    ScriptedProducer,
    SequentialIds,
    failing,
    passing,
)
from tests.unit.store.rigs import Process, Rig, opened

PROJECT = "shop"
BUSY = timedelta(hours=1)
"""When a doubt of a test is asked about again: not within the test."""
LIMIT = 150
"""More jobs than any test has due at once: a queue that never runs dry goes in circles."""
DOUBT = Inconclusive("not yet", BUSY)


class ForgeMerger:
    """Merges by the forge alone; the real merge service has tests of its own."""

    def __init__(self, forge: MemoryForge) -> None:
        self._forge = forge
        self.merged: list[WorkItem] = []
        self.let_go_of: list[WorkItem] = []
        self.answers: list[MergeResult | Exception] = []

    async def merge(
        self, lease: Lease, item: WorkItem, *, branch: Branch, head: Head, contract: Contract | None
    ) -> MergeResult:
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        if answer is not None:
            return answer
        self.merged.append(item)
        assert item.pull_request is not None
        return Merged(
            await self._forge.merge(
                item.project, item.pull_request, expected_head=head.commit, method="merge", message="merge"
            )
        )

    async def let_go(self, item: WorkItem) -> None:
        self.let_go_of.append(item)


class _Runs:
    """What runs for items: it is noted that it was ended."""

    def __init__(self, stopped: list[WorkItemId]) -> None:
        self._stopped = stopped

    async def stop(self, branch: Branch) -> None:
        self._stopped.append(branch.item)

    async def bring_home(self, branch: Branch) -> None:
        """Nothing was left."""

    async def clear(self, item: WorkItemId) -> None:
        """Nothing was lent."""


@dataclass
class Engine:
    """The engine of one process; several of them may work on one database."""

    process: Process
    rig: Rig
    workspace: MemoryWorkspace
    forge: MemoryForge
    tracker: MemoryTracker
    gates: ScriptedGates
    policy: Policy = field(default_factory=Policy)

    def __post_init__(self) -> None:
        store, clock, leases = self.process.store, self.rig.clock, self.process.leases
        self.store, self.queue, self.leases, self.clock = store, self.process.queue, leases, clock
        self.notifier = MemoryNotifier()
        self.runs_stopped: list[WorkItemId] = []
        self.merger = ForgeMerger(self.forge)
        self.producer = ScriptedProducer(self.workspace)
        self.projects = StoredProjects(store=store, workspace=self.workspace, fetch=_fetch)
        self.commitment = Commitment(self.policy)
        self.door = Door(
            store=store, leases=leases, workspace=self.workspace, projects=self.projects,
            evaluation=Evaluation(self.gates.bind()), merger=self.merger, commitment=self.commitment,
            clock=clock, policy=self.policy, owner=store.database.owner.boot,
        )  # fmt: skip
        authors = Authors(projects=self.projects, tracker=self.tracker)
        self.intake = Intake(store=store, clock=clock, authors=authors)
        self.desk = Desk(
            store=store, intake=self.intake, filing=self.tracker, workspace=self.workspace,
            projects=self.projects, ids=SequentialIds(store.database.owner.boot),
            clock=clock, authors=authors,
        )  # fmt: skip
        self.dispatch = Dispatch(
            store=store, queue=self.queue, door=self.door, producers=[self.producer],
            workspace=self.workspace, forge=self.forge, projects=self.projects, messages=Messages(),
            clock=clock,
        )  # fmt: skip
        self.outward = Outward(
            store=store, tracker=self.tracker, forge=self.forge, workspace=self.workspace, leases=leases,
            merger=self.merger, runs=_Runs(self.runs_stopped), notifier=self.notifier, messages=Messages(),
            policy=self.policy, clock=clock,
        )  # fmt: skip
        self.recovery = Recovery(
            store=store, queue=self.queue, leases=leases, clock=clock, policy=self.policy
        )
        self.handlers: dict[JobKind, Handler] = {
            JobKind.LOOK: self.dispatch.look,
            JobKind.PRODUCE: self.dispatch.produce,
            JobKind.TRACKER: self.outward.tell_tracker,
            JobKind.NOTIFY: self.outward.alert,
            JobKind.CLEANUP: self.outward.clean_up,
        }

    # What happens.

    async def start(self, title: str = "Count visits", **form) -> WorkItem:
        """A person files an item, which is started; nothing of it is worked on yet."""
        accepted = await self.desk.file_item(PROJECT, title, by="ada", **form)
        assert accepted.item is not None
        return accepted.item

    async def serve(self, job: Job) -> None:
        """Do what the worker does with a claimed job, without its error boundary."""
        ending: Ending = await self.handlers[job.kind](job)
        match ending:
            case Done(result=result):
                await self.queue.finish(job, result)
            case Later(after=after, reason=reason):
                await self.queue.retry(job, after=after, error=reason, spend=False)

    async def settle(self, *kinds: JobKind) -> int:
        """Serve what is due until nothing is; how many jobs that were."""
        for served in range(LIMIT):
            job = await self.queue.claim(kinds or tuple(self.handlers))
            if job is None:
                return served
            await self.serve(job)
        raise AssertionError("the queue never ran dry: jobs are ordered in circles")

    def worker(self, **options) -> Worker:
        """The real worker, with its error boundary."""
        usual = {"max_concurrency": 2, "poll": timedelta(seconds=1)}
        return Worker(queue=self.queue, handlers=self.handlers, **{**usual, **options})

    async def pass_time(self, by: timedelta) -> None:
        """Let time pass, and serve what became due."""
        self.clock.advance(by)
        await self.settle()

    async def placed(self, stage: Stage, *, number: int = 1, track: Track = Track.FULL) -> WorkItem:
        """An item in ``stage`` whose work was delivered for the code that its branch holds."""
        ident, branch = WorkItemId(f"SHOP-{number}"), f"feature/SHOP-{number}"
        commit = self.workspace.push(PROJECT, branch, {f"{ident}.txt": "work\n"})
        ticket = await self.tracker.file(PROJECT, "Count visits", author="ada")
        new = NewItem(ident, PROJECT, "Count visits", "", ticket.ref, track, branch, "main")
        item = await self.store.transact(lambda tx: tx.items.add(new))
        head = await self.workspace.head(branch_of(item))
        item = await self.store.transact(lambda tx: tx.items.move(item, to=stage, epoch=item.epoch))
        await self.store.transact(lambda tx: tx.items.note_head(item.task_id, head=commit, code=head.code))
        if stage in WORKING[2:]:
            await self._pulled(item, head)
        await self.deliver(await self.item(ident))
        return await self.item(ident)

    async def _pulled(self, item: WorkItem, head: Head) -> None:
        pull = await self.forge.ensure_pull_request(
            PROJECT, branch=item.branch, base="main", title="Count", body=""
        )
        await self.store.transact(lambda tx: tx.items.note_pull_request(item.task_id, pull.number))
        if item.stage is not Stage.DEPLOY:
            return
        merged = await self.forge.merge(
            PROJECT, pull.number, expected_head=head.commit, method="merge", message="merge"
        )
        await self.store.transact(lambda tx: tx.items.note_merged(item.task_id, merged))
        now = self.clock.now()
        allowed = Approval(ApprovalKind.DEPLOY, merged, granted=True, by="ada", at=now)
        await self.store.transact(lambda tx: tx.facts.add_approval(item.task_id, allowed))

    async def deliver(self, item: WorkItem) -> None:
        """The work of the item's present visit is done, for the code that is known."""
        role = role_in(item.stage)
        assert role is not None
        order = NewJob(
            JobKind.PRODUCE, task_id=item.task_id, project=PROJECT, agent=role, stage=item.stage,
            epoch=item.epoch, commit=item.head, priority=99,
        )  # fmt: skip
        await self.store.transact(lambda tx: tx.jobs.enqueue(order))
        job = await self.queue.claim([JobKind.PRODUCE])
        assert job is not None
        result = {"producer": "script", "delivered": item.head, "code": item.code}
        assert await self.store.transact(lambda tx: tx.jobs.finish(job, result))

    # What is known.

    async def item(self, ident: str = "SHOP-1") -> WorkItem:
        return await self.desk.item(ident)

    async def case(self, ident: str = "SHOP-1") -> Case:
        task_id, now = (await self.item(ident)).task_id, self.clock.now()
        case = await self.store.transact(lambda tx: load_case(tx, task_id, now))
        assert case is not None
        return case

    async def moves(self, ident: str = "SHOP-1") -> list[TransitionRow]:
        task_id = (await self.item(ident)).task_id
        return list(await self.store.transact(lambda tx: tx.facts.transitions(task_id)))

    async def jobs(self, kind: JobKind, *, ident: str = "SHOP-1", open_only: bool = True) -> list[Job]:
        task_id = (await self.item(ident)).task_id
        jobs = await self.store.transact(lambda tx: tx.jobs.of_item(task_id))
        going = (JobStatus.QUEUED, JobStatus.RUNNING)
        return [job for job in jobs if job.kind is kind and (job.status in going or not open_only)]


async def _fetch(project: object) -> None:
    """Nobody commits elsewhere in these tests."""


UNAPPROVED = Inconclusive("approval of the analysis", None, waits_for=WaitsFor.PERSON)


def approval_gate(workspace: MemoryWorkspace):
    """Passes when a person granted exactly the documents that the head holds."""

    async def answer(question: Question):
        item = question.item
        subject = await analysis_subject(workspace, item.project, question.head.commit, item.id)
        granted = [
            a.granted for a in question.approvals if a.kind is ApprovalKind.ANALYSIS and a.subject == subject
        ]
        if not granted:
            return UNAPPROVED
        return await (passing if granted[-1] else failing("say how many", reason="rejected"))(question)

    return answer


@asynccontextmanager
async def engine_in(folder: Path, *, policy: Policy | None = None) -> AsyncIterator[Engine]:
    """The engine of one process with the project ``shop``; gates pass unless they are told otherwise."""
    with opened("sqlite", folder) as rig:
        # Nobody pulls the plug in these tests: what the disk has to confirm would be most of their time.
        connection = rig.store.database.engine.raw_connection().driver_connection
        assert connection is not None
        connection.execute("PRAGMA synchronous = OFF")
        workspace = MemoryWorkspace(folder / "workspace", attentive=True)
        workspace.create(PROJECT, {"app.py": "one\n"})
        tracker = MemoryTracker(rig.clock)
        tracker.create_project(PROJECT, "SHOP")
        forge = MemoryForge(workspace)
        engine = Engine(rig, rig, workspace, forge, tracker, ScriptedGates(), policy or Policy())
        project = make_project({"name": PROJECT, "prefix": "SHOP", "repo_url": "/srv/shop"})
        await engine.projects.put(project, (0, 0))
        yield engine


def second(engine: Engine) -> Engine:
    """Another process on the same database and with the same neighbours."""
    process = engine.rig.another(2000)
    return Engine(
        process, engine.rig, engine.workspace, engine.forge, engine.tracker, engine.gates, engine.policy
    )


def waits_at(engine: Engine, gate: GateName) -> None:
    """Items get as far as ``gate``, which does not know yet."""
    engine.gates.always(gate, DOUBT)


def commit_of(item: WorkItem) -> Commit:
    assert item.head is not None
    return item.head
