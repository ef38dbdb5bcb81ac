"""Telling others: tracker states and comments, alerts, clean-up; best effort, each a job of its own."""

from datetime import timedelta
from typing import Final, Protocol

from orchestrator.engine.cases import branch_of, load_case
from orchestrator.engine.messages import Messages
from orchestrator.engine.shown import expect, is_unread, known_states, settle
from orchestrator.errors import Rejected
from orchestrator.pipeline.decisions import Policy, Wait, decide
from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.items import Case, Waiter, WorkItem
from orchestrator.pipeline.stages import TERMINAL, Stage
from orchestrator.ports.clock import Clock
from orchestrator.ports.forge import Forge
from orchestrator.ports.leases import Leases
from orchestrator.ports.merging import Merger
from orchestrator.ports.notifier import Notifier
from orchestrator.ports.queue import Done, Ending, Job, Later
from orchestrator.ports.store import Store
from orchestrator.ports.tracker import Tracker, TrackerState
from orchestrator.ports.workspace import Branch, Workspace

UNREAD_PAUSE: Final = timedelta(seconds=5)
"""Before the tracker is written to again that shows a gesture which the poll has not read yet."""


class ItemRuns(Protocol):
    """What runs on this host for work items."""

    async def stop(self, branch: Branch) -> None:
        """End everything that runs for the item."""
        ...

    async def bring_home(self, branch: Branch) -> None:
        """Bring what its agents left in a place of their own into the item's worktree."""
        ...

    async def clear(self, item: WorkItemId) -> None:
        """Remove what its agents were lent; the records and logs of its runs stay."""
        ...


def desired_state(case: Case, policy: Policy) -> TrackerState:
    """What the tracker should show for the item, computed from facts alone."""
    item = case.item
    if item.stage is Stage.DONE:
        return TrackerState.DONE
    if item.stage is Stage.CANCELLED:
        return TrackerState.CANCELLED
    if case.hold is not None:
        return TrackerState.BLOCKED
    decision = decide(case, policy)
    waits_for_person = isinstance(decision, Wait) and decision.waiter is Waiter.PERSON
    if waits_for_person and item.stage is Stage.ANALYSIS:
        return TrackerState.NEEDS_APPROVAL
    if waits_for_person and item.stage is Stage.DEPLOY:
        return TrackerState.AWAITING_CONFIRM
    return TrackerState.TODO if item.stage is Stage.CREATED else TrackerState.IN_PROGRESS


class Outward:
    """Handlers for the jobs that tell others."""

    def __init__(
        self,
        *,
        store: Store,
        tracker: Tracker,
        forge: Forge,
        workspace: Workspace,
        leases: Leases,
        merger: Merger,
        runs: ItemRuns,
        notifier: Notifier,
        messages: Messages,
        policy: Policy,
        clock: Clock,
    ) -> None:
        self._store = store
        self._tracker = tracker
        self._forge = forge
        self._workspace = workspace
        self._leases = leases
        self._merger = merger
        self._runs = runs
        self._notifier = notifier
        self._messages = messages
        self._policy = policy
        self._clock = clock

    async def tell_tracker(self, job: Job) -> Ending:
        """Write one comment, or bring the tracker's state in line with the item as it is now."""
        if "comment" in job.data:
            return await self._comment(job)
        case = await self._case(job)
        if case is None:
            return Done({"skipped": "no work item"})
        state = desired_state(case, self._policy)
        ref = case.item.tracker_ref
        known = await self._store.transact(lambda tx: known_states(tx, ref))
        ticket = await self._tracker.ticket(ref)
        if is_unread(ticket, known):
            return Later(UNREAD_PAUSE, "a person's gesture in the tracker is read first")
        if ticket.state is not state:
            # Before and after: whoever reads the tracker in between knows the new state as our own.
            await self._store.transact(lambda tx: expect(tx, ref, state))
            await self._tracker.set_state(ref, state)
        if known != {state}:
            await self._store.transact(lambda tx: settle(tx, ref, state))
        await self._say_what_is_needed(case, state)
        return Done({"state": state})

    async def _comment(self, job: Job) -> Ending:
        item = await self._item(job)
        if item is None:
            return Done({"skipped": "no work item"})
        await self._tracker.put_comment(item.tracker_ref, str(job.data["comment"]), str(job.data["text"]))
        return Done()

    async def _say_what_is_needed(self, case: Case, state: TrackerState) -> None:
        """A request to a person is a comment, written once per cause."""
        item = case.item
        if state is TrackerState.NEEDS_APPROVAL:
            await self._tracker.put_comment(
                item.tracker_ref, f"approve:{item.epoch}", self._messages.approve_request()
            )
        elif state is TrackerState.AWAITING_CONFIRM and item.merged is not None:
            await self._tracker.put_comment(
                item.tracker_ref, f"confirm:{item.merged}", self._messages.confirm_request(item.merged)
            )
        elif state is TrackerState.BLOCKED and case.hold is not None:
            await self._tracker.put_comment(
                item.tracker_ref,
                f"hold:{item.epoch}:{item.stage}",
                self._messages.hold_comment(case.hold.reason, case.hold.who_can_unblock),
            )

    async def alert(self, job: Job) -> Ending:
        """Send one alert; the same condition is told once, however often it is noticed."""
        key = str(job.data["key"])
        if await self._store.transact(lambda tx: tx.projects.recall(key)) is not None:
            return Done({"skipped": "told before"})
        await self._notifier.notify(str(job.data["text"]))
        now = self._clock.now().isoformat()
        await self._store.transact(lambda tx: tx.projects.remember(key, now))
        return Done()

    async def clean_up(self, job: Job) -> Ending:
        """End what runs for a terminal item, keep uncommitted work, and remove its worktree."""
        item = await self._item(job)
        if item is None or item.stage not in TERMINAL:
            return Done({"skipped": "the item is not terminal"})
        await self._runs.stop(branch_of(item))
        if item.stage is Stage.CANCELLED:
            await self._runs.bring_home(branch_of(item))
            await self._workspace.rescue(branch_of(item), f"epoch-{item.epoch}")
            await self._close_pull_request(item)
            await self._leases.release(item.task_id)
        await self._merger.let_go(item)
        await self._workspace.discard(branch_of(item))
        await self._runs.clear(item.id)
        return Done()

    async def _item(self, job: Job) -> WorkItem | None:
        if job.task_id is None:
            return None
        task_id = job.task_id
        return await self._store.transact(lambda tx: tx.items.get(task_id))

    async def _case(self, job: Job) -> Case | None:
        if job.task_id is None:
            return None
        task_id = job.task_id
        return await self._store.transact(lambda tx: load_case(tx, task_id, self._clock.now()))

    async def _close_pull_request(self, item: WorkItem) -> None:
        if item.pull_request is None or item.merged is not None:
            return
        try:
            await self._forge.close(item.project, item.pull_request)
        except Rejected:
            # Somebody closed or removed it already: there is nothing left to close.
            return
