"""Dispatch: a claimed job goes to whoever does that kind of work, and its effect is stored."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

import structlog

from orchestrator.config.contract import Contract
from orchestrator.engine.advance import Door
from orchestrator.engine.cases import branch_of
from orchestrator.engine.messages import Messages
from orchestrator.engine.orders import comment, look_at, task_content
from orchestrator.errors import BadInput, Conflict, Unavailable
from orchestrator.pipeline.ids import Commit, TaskId
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.rounds import Round
from orchestrator.pipeline.stages import Role, Stage, role_in
from orchestrator.pipeline.verdicts import FailureClass
from orchestrator.ports.clock import Clock
from orchestrator.ports.forge import Forge
from orchestrator.ports.producer import Assignment, Deferred, GaveUp, Outcome, Produced, Producer
from orchestrator.ports.projects import ProjectRegistry
from orchestrator.ports.queue import Done, Ending, Job, Later, NewJob, Queue, Settled
from orchestrator.ports.store import Store, Transaction
from orchestrator.ports.workspace import Workspace

log = structlog.get_logger(__name__)

MAX_INFRA_RETRIES: Final = 2
INFRA_PAUSE: Final = timedelta(seconds=30)
"""The budget for work that the environment prevents is that of the runners (ORCH-115 D8)."""

OUTAGE_PAUSE: Final = timedelta(seconds=15)
OUTAGE_PATIENCE: Final = timedelta(hours=2)
"""How often a neighbour that does not answer is tried again, and for how long before a person is called."""

LEASE_PAUSE: Final = timedelta(milliseconds=200)
"""How long a look waits for another owner of the item's lease before it asks again."""


class Dispatch:
    """Handlers for the jobs that move work items: looks and the work of stages."""

    def __init__(
        self,
        *,
        store: Store,
        queue: Queue,
        door: Door,
        producers: Sequence[Producer],
        workspace: Workspace,
        forge: Forge,
        projects: ProjectRegistry,
        messages: Messages,
        clock: Clock,
    ) -> None:
        self._store = store
        self._queue = queue
        self._door = door
        self._producers = producers
        self._workspace = workspace
        self._forge = forge
        self._projects = projects
        self._messages = messages
        self._clock = clock

    async def look(self, job: Job) -> Ending:
        """Ask the door to look at the job's item; somebody else looking is a reason to come back."""
        if job.task_id is None:
            return Done({"skipped": "no work item"})
        try:
            decision = await self._door.look(job.task_id, str(job.data.get("trigger", "look")))
        except Conflict as error:
            return Later(LEASE_PAUSE, str(error))
        except Unavailable as error:
            return Later(OUTAGE_PAUSE, str(error))
        return Done({"decision": type(decision).__name__})

    async def produce(self, job: Job) -> Ending:
        """Have the work of a stage done, and store what was delivered together with the next look."""
        item = await self._current_item(job)
        if item is None or job.stage is None or (role := role_in(job.stage)) is None:
            return Done({"skipped": "the item moved on"})
        try:
            contract = await self._projects.contract(item.project)
        except BadInput as error:
            return await self._end(job, item, GaveUp(str(error), FailureClass.ENVIRONMENT, retryable=False))
        producer = self._producer(item, job.stage, contract)
        try:
            assignment = await self._assign(job, item, role, contract=contract, producer=producer)
            return await self._work(assignment, producer)
        except Conflict as error:
            return await self._overtaken(job, str(error))
        except Unavailable as error:
            return await self._outage(job, item, str(error), producer)

    async def _assign(
        self, job: Job, item: WorkItem, role: Role, *, contract: Contract | None, producer: Producer
    ) -> Assignment:
        rounds, defers = await self._store.transact(lambda tx: self._history(tx, item, producer))
        return Assignment(
            item=item,
            branch=branch_of(item),
            stage=item.stage,
            role=role,
            job=job,
            started_at=job.commit or (await self._workspace.head(branch_of(item))).commit,
            contract=contract,
            rounds=rounds,
            defers=defers,
        )

    async def _work(self, assignment: Assignment, producer: Producer) -> Ending:
        job, item = assignment.job, assignment.item
        outcome = await producer.produce(assignment)
        if isinstance(outcome, Produced):
            return await self._deliver(job, item, producer, outcome)
        return await self._end(job, item, outcome, producer=producer, defers=assignment.defers)

    async def _outage(self, job: Job, item: WorkItem, reason: str, producer: Producer) -> Ending:
        """Come back to the same job, whose run is found again; an outage that lasts calls a person."""
        if self._clock.now() - job.created_at > OUTAGE_PATIENCE:
            return await self._give_up(
                job, item, GaveUp(reason, FailureClass.ENVIRONMENT, retryable=False), producer
            )
        return Later(OUTAGE_PAUSE, reason)

    async def _overtaken(self, job: Job, reason: str) -> Ending:
        """Somebody else moved the branch: the door orders the work again, on what is there now.

        The same job again would begin at the old commit and be overtaken for ever.
        """

        def settle(tx: Transaction) -> None:
            if tx.jobs.finish(job, {"skipped": reason}) and job.task_id is not None:
                tx.jobs.enqueue(look_at(job.task_id, trigger="overtaken"))

        await self._store.transact(settle)
        return Settled()

    async def _current_item(self, job: Job) -> WorkItem | None:
        """The job's item, if it still is in the visit for which the work was ordered."""
        if job.task_id is None:
            return None
        task_id = job.task_id
        item = await self._store.transact(lambda tx: tx.items.get(task_id))
        if item is None or (item.stage, item.epoch) != (job.stage, job.epoch):
            return None
        return item

    def _producer(self, item: WorkItem, stage: Stage, contract: Contract | None) -> Producer:
        """The first row of the table that takes the work; the agent CLI stands last and takes all."""
        return next(p for p in self._producers if p.applies(item, stage, contract))

    def _history(self, tx: Transaction, item: WorkItem, producer: Producer) -> tuple[tuple[Round, ...], int]:
        return (
            tuple(tx.facts.rounds(item.task_id)),
            tx.jobs.count_marker(item.task_id, _marker(producer), item.epoch),
        )

    async def _deliver(self, job: Job, item: WorkItem, producer: Producer, produced: Produced) -> Ending:
        """Store the delivery; work that arrives after the item moved on is kept in git but opens nothing."""
        if await self._current_item(job) is None:
            return Done({"skipped": "the item moved on while the work was done"})
        code = await self._workspace.code_id(branch_of(item), produced.delivered)
        number: int | None = None
        if item.stage is Stage.DEVELOPMENT:
            number = await self._ensure_pull_request(item)
        result: Mapping[str, object] = {
            "producer": producer.name,
            "delivered": produced.delivered,
            "code": code,
            "artifact": produced.artifact,
            "verdict": produced.verdict,
            "summary": produced.summary,
            "tool_error": produced.tool_error,
        }

        def settle(tx: Transaction) -> None:
            if not tx.jobs.finish(job, result):
                log.warning("delivery_ignored", work_item=item.id, stage=item.stage, job=job.id)
                return
            if number is not None:
                tx.items.note_pull_request(item.task_id, number)
            tx.items.note_head(item.task_id, head=produced.delivered, code=code)
            tx.jobs.enqueue(look_at(item.task_id, trigger=producer.name))
            self._tell(tx, job, item=item, producer=producer, produced=produced)

        await self._store.transact(settle)
        return Settled()

    def _tell(
        self, tx: Transaction, job: Job, *, item: WorkItem, producer: Producer, produced: Produced
    ) -> None:
        """The unified status comment of this piece of work (ORCH-016): one per job, edited in place."""
        runs = [run for run in tx.runs.of_item(item.task_id) if run.stage == item.stage]
        text = self._messages.status_comment(
            item,
            producer=producer.name,
            verdict=produced.verdict,
            artifact=produced.artifact,
            duration=self._clock.now() - (job.started_at or job.created_at),
            usage=runs[-1].usage if runs else None,
        )
        tx.jobs.enqueue(comment(item, key=f"work:{item.stage}:{item.epoch}", text=text))

    async def _ensure_pull_request(self, item: WorkItem) -> int:
        """Open the item's pull request, or find it: never a second one."""
        pull = await self._forge.ensure_pull_request(
            item.project,
            branch=item.branch,
            base=item.base,
            title=f"{item.id}: {item.title}",
            body=self._messages.pull_request_body(item),
        )
        return pull.number

    async def _end(
        self,
        job: Job,
        item: WorkItem,
        outcome: Outcome,
        *,
        producer: Producer | None = None,
        defers: int = 0,
    ) -> Ending:
        match outcome:
            case Deferred(marker=""):
                return Later(outcome.after, outcome.reason)
            case Deferred() as deferred:
                return await self._defer(job, item, deferred)
            case GaveUp(retryable=True, reason=reason) if not _is_agents_fault(outcome):
                # An environment's fault spends no attempt, but what lasts calls a person.
                if producer is not None and defers < MAX_INFRA_RETRIES:
                    marker = _marker(producer)
                    return await self._defer(job, item, Deferred(reason, INFRA_PAUSE, marker))
                return await self._give_up(job, item, outcome, producer)
            case GaveUp() as gave_up:
                return await self._give_up(job, item, gave_up, producer)
        return Done({})

    async def _defer(self, job: Job, item: WorkItem, deferred: Deferred) -> Ending:
        """A fresh job that carries the marker, so that the budget survives a restart (inventory §6.3)."""
        note = f"{deferred.marker}: {deferred.reason}; again in {deferred.after.total_seconds():g} s"

        def settle(tx: Transaction) -> None:
            if tx.jobs.finish(job, {"deferred": deferred.reason}):
                tx.jobs.enqueue(_again(job, content=task_content(item, note), delay=deferred.after))
                tx.facts.add_lesson(item.task_id, type="defer", status=deferred.marker, text=deferred.reason)

        await self._store.transact(settle)
        return Settled()

    async def _give_up(self, job: Job, item: WorkItem, gave_up: GaveUp, producer: Producer | None) -> Ending:
        """Only an agent's own failure spends an attempt; without attempts left a person is called."""
        attempts_left = job.attempts + 1 < job.max_attempts
        if gave_up.retryable and attempts_left and _is_agents_fault(gave_up):
            pause = timedelta(seconds=2**job.attempts)
            await self._queue.retry(job, after=pause, error=gave_up.reason, spend=True)
            return Settled()
        result = {
            "producer": producer.name if producer is not None else job.agent,
            "failure": gave_up.failure,
            "summary": gave_up.reason,
        }

        def settle(tx: Transaction) -> None:
            if tx.jobs.fail(job, gave_up.reason, result):
                tx.jobs.enqueue(look_at(item.task_id, trigger="work failed"))

        await self._store.transact(settle)
        return Settled()


def _marker(producer: Producer) -> str:
    """What counts the defers of a producer in the contents of its jobs (ORCH-115 D5, ORCH-116 D5)."""
    return f"{producer.name} infra-retry"


def _is_agents_fault(outcome: Outcome) -> bool:
    return isinstance(outcome, GaveUp) and outcome.failure is FailureClass.AGENT


def _again(job: Job, *, content: str, delay: timedelta) -> NewJob:
    return NewJob(
        kind=job.kind,
        task_id=TaskId(job.task_id) if job.task_id is not None else None,
        project=job.project,
        agent=job.agent,
        stage=job.stage,
        epoch=job.epoch,
        commit=Commit(job.commit) if job.commit is not None else None,
        code=job.code,
        content=content,
        data=job.data,
        delay=delay,
        max_attempts=job.max_attempts,
        attempts=job.attempts,
    )
