"""One run of an agent CLI as the work of a stage: open, run, check, save."""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from orchestrator.config.contract import Contract
from orchestrator.errors import BadInput, Conflict, Rejected, Unavailable
from orchestrator.pipeline.artifacts import artifact_dir
from orchestrator.pipeline.breaker import Wait
from orchestrator.pipeline.budgets import Exhausted, Occupied
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import Role, Stage, role_in
from orchestrator.pipeline.verdicts import FailureClass
from orchestrator.ports.agent import (
    AgentFailed,
    AgentOutcome,
    AgentTransport,
    BudgetReached,
    Finished,
    LimitKind,
    LimitReached,
    NotStarted,
    Progress,
    Usage,
)
from orchestrator.ports.clock import Clock
from orchestrator.ports.producer import Assignment, Deferred, GaveUp, Outcome, Produced
from orchestrator.ports.store import Store
from orchestrator.ports.workspace import Author, Workspace
from orchestrator.producers.agent_run.admission import Admission, Unfit
from orchestrator.producers.agent_run.leavings import Leavings
from orchestrator.producers.agent_run.opening import Opened, Opening, TurnedAway
from orchestrator.producers.agent_run.places import Places

SAVE_PAUSE: Final = timedelta(seconds=30)
"""Before finished work is saved again that the forge did not take."""

SAVE_PATIENCE: Final = timedelta(hours=1)
"""How long that is tried before a person is called; the work stays in the worktree."""

RESERVED_PAUSE: Final = timedelta(seconds=30)
"""Before it is asked again whether runs under way have left something of their budgets."""

_LIMIT_REACHED: Final = 75


class AgentRun:
    """Has the work of one role done by an agent, wherever no row before it takes the work."""

    def __init__(
        self,
        role: Role,
        *,
        transport: AgentTransport,
        opening: Opening,
        admission: Admission,
        places: Places,
        store: Store,
        workspace: Workspace,
        clock: Clock,
        limit_pause: timedelta,
    ) -> None:
        self._role = role
        self._transport = transport
        self._opening = opening
        self._admission = admission
        self._places = places
        self._store = store
        self._workspace = workspace
        self._clock = clock
        self._limit_pause = limit_pause
        self._leavings = Leavings(workspace)

    @property
    def name(self) -> str:
        """The role."""
        return self._role.value

    def applies(self, item: WorkItem, stage: Stage, contract: Contract | None) -> bool:
        """In every stage in which the role works."""
        return role_in(stage) is self._role

    async def produce(self, assignment: Assignment) -> Outcome:
        """Run the agent, or re-attach to it, and save what it left.

        Raises:
            Conflict: somebody moved the branch meanwhile; the work is kept aside, the next run starts anew.
            Unavailable: store or workspace cannot be reached.
        """
        try:
            opened = await self._opening.open(assignment)
        except (BadInput, Rejected) as error:
            return GaveUp(str(error), FailureClass.ENVIRONMENT, retryable=False)
        if not isinstance(opened, Opened):
            return self._turned_away(assignment, opened)
        if not await self._is_still_wanted(assignment):
            await self._transport.stop(opened.task.run_dir)
            await self._opening.withdraw(assignment, opened)
            return GaveUp("the work item has moved on", FailureClass.ENVIRONMENT, retryable=False)
        outcome = await self._transport.run(opened.task, self._progress(opened))
        await self._record(assignment, opened, outcome)
        if isinstance(outcome, Finished):
            try:
                return await self._finish(assignment, opened, outcome)
            except Unavailable as error:
                return self._finish_later(outcome, str(error))
        return await self._put_away(assignment, opened, outcome)

    async def _put_away(
        self,
        assignment: Assignment,
        opened: Opened,
        outcome: LimitReached | BudgetReached | AgentFailed | NotStarted,
    ) -> Outcome:
        """What follows a run that did not finish; what it left is kept aside, unless it goes on with it."""
        if isinstance(outcome, LimitReached) and outcome.session is not None:
            opened.settle(outcome.session)
            return Deferred(outcome.reason, after=self._pause_until(outcome.retry_at))
        # The work of an item that was stopped or sent on is kept by whoever did that.
        if await self._is_still_wanted(assignment):
            await self._places.rescue(assignment.branch, opened.task)
        opened.settle()
        match outcome:
            case LimitReached(kind=LimitKind.UNAVAILABLE, retry_at=None, usage=usage) if usage.tokens:
                # All of it would be bought again each time, and perhaps for nothing.
                return GaveUp(f"the {self.name} was interrupted: {outcome.reason}", FailureClass.AGENT)
            case LimitReached(reason=reason, retry_at=retry_at):
                return Deferred(reason, after=self._pause_until(retry_at))
            case BudgetReached(reason=reason):
                return _out_of_budget(assignment, reason)
            case AgentFailed(reason=reason):
                return GaveUp(f"the {self.name} failed: {reason}", FailureClass.AGENT)
            case NotStarted(reason=reason):
                return GaveUp(reason, FailureClass.ENVIRONMENT, retryable=False)

    def _turned_away(self, assignment: Assignment, why: TurnedAway) -> Outcome:
        """A used up budget needs a person; what is reserved, and a provider that refuses, need only time."""
        match why:
            case Exhausted(reason=reason):
                return _out_of_budget(assignment, reason)
            case Occupied(reason=reason):
                return Deferred(reason, after=RESERVED_PAUSE)
            case Wait(until=until, reason=reason):
                return Deferred(f"agents pause: {reason}", after=self._pause_until(until))
            case Unfit(reason=reason):
                return GaveUp(reason, FailureClass.ENVIRONMENT)

    def _pause_until(self, retry_at: datetime | None) -> timedelta:
        """How long to wait for the provider: until the time that it named, else the usual pause."""
        if retry_at is None:
            return self._limit_pause
        return max(retry_at - self._clock.now(), timedelta(seconds=1))

    def _progress(self, opened: Opened) -> Progress:
        """Notes what the run consumes while it goes on, so that a crash forgets little of it."""
        run_id = opened.begun.run_id

        async def note(usage: Usage) -> None:
            # A note that cannot be taken now is taken with the next answer; the run is not ended for it.
            with suppress(Unavailable, Conflict):
                await self._store.transact(lambda tx: tx.runs.note_usage(run_id, usage))

        return note

    async def _record(self, assignment: Assignment, opened: Opened, outcome: AgentOutcome) -> None:
        """Settle the run's row, whatever came of it (ORCH-109), and tell the breaker of its provider."""
        exit_code, word, usage = _facts(outcome)
        run_id = opened.begun.run_id
        await self._store.transact(
            lambda tx: tx.runs.end(run_id, exit_code=exit_code, outcome=word, usage=usage)
        )
        await self._admission.report(assignment, opened.task.cli, outcome)

    async def _finish(self, assignment: Assignment, opened: Opened, finished: Finished) -> Outcome:
        if not await self._is_still_wanted(assignment):
            opened.settle()
            return GaveUp("the work item has moved on", FailureClass.ENVIRONMENT, retryable=False)
        shortfall = await self._shortfall(assignment, opened, finished)
        if shortfall is not None:
            await self._places.rescue(assignment.branch, opened.task)
            opened.settle()
            return GaveUp(f"the {self.name} {shortfall}", FailureClass.AGENT)
        saved = await self._save(assignment, opened)
        if isinstance(saved, GaveUp):
            return saved
        if self._role is not Role.DEVELOPER or saved.delivered != opened.begun.start:
            return saved
        stalled = await self._nothing_changed(assignment, saved)
        if stalled is not None:
            opened.settle()
        return stalled or saved

    async def _shortfall(self, assignment: Assignment, opened: Opened, finished: Finished) -> str | None:
        """What keeps the work from being taken; ``None`` when nothing does."""
        if finished.denied:
            return f"was refused {', '.join(finished.denied)}, which the role has"
        try:
            await self._places.take_back(assignment.branch, opened.task)
        except Rejected as error:
            return f"left what cannot be taken: {error}"
        return await self._leavings.shortfall(assignment, opened.begun.start)

    async def _is_still_wanted(self, assignment: Assignment) -> bool:
        """Whether the item still is in this visit: nothing is pushed for one that was stopped or sent on."""
        task_id = assignment.item.task_id
        item = await self._store.transact(lambda tx: tx.items.get(task_id))
        wanted = (assignment.stage, assignment.item.epoch)
        return item is not None and (item.stage, item.epoch) == wanted

    async def _save(self, assignment: Assignment, opened: Opened) -> Produced | GaveUp:
        try:
            delivered = await self._workspace.save(
                assignment.branch,
                author=Author(self.name, opened.task.email),
                message=f"{assignment.stage}({assignment.item.id}): work of the {self.name}",
                started_at=opened.begun.start,
                epoch=assignment.item.epoch,
                within="" if self._role.writes_code else artifact_dir(assignment.item.id),
            )
        except Conflict:
            # What was built on an outdated branch is kept aside; the next run starts from where it is now.
            opened.settle()
            await self._workspace.refresh(assignment.item.project)
            raise
        except Rejected as error:
            opened.settle()
            return GaveUp(f"the {self.name} left what cannot be saved: {error}", FailureClass.AGENT)
        artifact, verdict = await self._leavings.verdict(assignment)
        await self._places.saved(opened.task)
        return Produced(delivered, artifact=artifact, verdict=verdict)

    async def _nothing_changed(self, assignment: Assignment, saved: Produced) -> GaveUp | None:
        """Why a developer cannot leave the code as it is; ``None`` where nothing new is demanded of it.

        In a later round an empty change is no progress: a person is called, not a third round (product §4).
        Without a demand the change may stand on the branch already, after a retry for example.
        """
        if any(past.role is Role.DEVELOPER for past in assignment.rounds):
            reason = "the developer changed nothing: no progress"
            return GaveUp(reason, FailureClass.CODE, retryable=False)
        branch = assignment.branch
        base = await self._workspace.code_id(branch, await self._workspace.base_head(branch))
        if await self._workspace.code_id(branch, saved.delivered) == base:
            return GaveUp("the developer changed nothing", FailureClass.AGENT)
        return None

    def _finish_later(self, finished: Finished, reason: str) -> Deferred | GaveUp:
        """Finished work is worth waiting for; it is found again in the worktree."""
        if self._clock.now() - finished.ended < SAVE_PATIENCE:
            return Deferred(f"finished work cannot be saved now: {reason}", after=SAVE_PAUSE)
        return GaveUp(f"finished work cannot be saved: {reason}", FailureClass.ENVIRONMENT, retryable=False)


def _out_of_budget(assignment: Assignment, reason: str) -> GaveUp:
    way_on = f"raise ORCH_BUDGETS_JSON or the project's budget, then orch item retry {assignment.item.id}"
    return GaveUp(f"{reason} ({way_on})", FailureClass.LIMIT, retryable=False)


def _facts(outcome: AgentOutcome) -> tuple[int | None, str, Usage | None]:
    """What is recorded of a run: exit code, one word, consumption; no figures are no word about it."""
    exit_code, word, usage = _told(outcome)
    return exit_code, word, usage if usage != Usage() else None


def _told(outcome: AgentOutcome) -> tuple[int | None, str, Usage]:
    match outcome:
        case Finished(usage=usage):
            return 0, "finished", usage
        case LimitReached(usage=usage):
            return _LIMIT_REACHED, "limit", usage
        case BudgetReached(usage=usage, exit_code=exit_code):
            return exit_code, "budget", usage
        case AgentFailed(usage=usage, exit_code=exit_code, timed_out=timed_out):
            return exit_code, "timeout" if timed_out else "failed", usage
        case NotStarted():
            return None, "not started", Usage()
