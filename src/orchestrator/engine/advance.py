"""The door: the only place where a work item changes stage.

It is level-triggered. Whoever records a fact asks it to look; it reads the facts, asks the gates that have no
answer for the item's present code, lets ``pipeline.decide`` choose, and commits that choice together with the
jobs it causes. It works under the item's transition lease; the stage write is a compare-and-swap.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Final, TypeGuard

from orchestrator.config.contract import Contract
from orchestrator.engine.cases import branch_of, earlier_verdicts, load_case, with_verdict
from orchestrator.engine.commitment import Commitment, ensure_unchanged
from orchestrator.engine.evaluation import Evaluation
from orchestrator.errors import BadInput, Conflict, Malformed, Rejected
from orchestrator.pipeline.decisions import (
    Advance,
    Decision,
    Policy,
    PutOnHold,
    Rest,
    Wait,
    decide,
    is_work_current,
    open_questions,
)
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.ids import TaskId
from orchestrator.pipeline.items import Case, Waiter, WorkItem
from orchestrator.pipeline.stages import TERMINAL, Stage
from orchestrator.pipeline.verdicts import FailureClass, Inconclusive, Passed, Verdict
from orchestrator.ports.clock import Clock
from orchestrator.ports.gate import Question
from orchestrator.ports.leases import Lease, Leases
from orchestrator.ports.merging import Merged, Merger
from orchestrator.ports.projects import ProjectRegistry
from orchestrator.ports.store import Store, VerdictRow
from orchestrator.ports.workspace import Head, Workspace

MAX_STEPS: Final = 6
"""How often one look may begin again because a gate moved the branch (a rebase): a bound, not a goal."""


MERGE_PAUSE: Final = timedelta(seconds=5)
"""Before the edge is asked again when the branch moved under it."""


class Door:
    """Looks at work items and lets them through when everything has passed."""

    def __init__(
        self,
        *,
        store: Store,
        leases: Leases,
        workspace: Workspace,
        projects: ProjectRegistry,
        evaluation: Evaluation,
        merger: Merger,
        commitment: Commitment,
        clock: Clock,
        policy: Policy,
        owner: str,
    ) -> None:
        self._store = store
        self._leases = leases
        self._workspace = workspace
        self._projects = projects
        self._evaluation = evaluation
        self._merger = merger
        self._commitment = commitment
        self._clock = clock
        self._policy = policy
        self._owner = owner

    async def look(self, task_id: TaskId, trigger: str) -> Decision:
        """Do whatever can be done for the item now; the last decision that was committed.

        Raises ``Conflict`` while a live owner holds the item's lease, or when the race was lost: then
        nothing happened and somebody else is (or was) looking.
        """
        item = await self._store.transact(lambda tx: tx.items.get(task_id))
        if item is None or item.stage in TERMINAL:
            return Rest("nothing to look at")
        async with self._leases.hold(task_id, stage=item.stage, epoch=item.epoch, owner=self._owner) as lease:
            for _ in range(MAX_STEPS):
                decision = await self._step(lease, task_id, trigger)
                if decision is not None:
                    return decision
        return await self._commit_wait(task_id, trigger, "the branch kept moving while gates were asked")

    async def _load(self, task_id: TaskId) -> Case | None:
        return await self._store.transact(lambda tx: load_case(tx, task_id, self._clock.now()))

    async def _step(self, lease: Lease, task_id: TaskId, trigger: str) -> Decision | None:
        """One look under the lease; ``None`` asks for another because the branch moved meanwhile."""
        case = await self._load(task_id)
        if case is None or (case.item.stage, case.item.epoch) != (lease.stage, lease.epoch):
            return Rest("the item moved on before the lease was taken")
        head = await self._workspace.head(branch_of(case.item))
        case = await self._note_head(case, head)
        decision = decide(case, self._policy)
        asks = self._has_open_questions(case, decision)
        if not asks and not _merges(decision, case):
            return await self._commit(case, decision, trigger=trigger)
        try:
            contract = await self._projects.contract(case.item.project)
        except BadInput as error:
            return await self._commit(case, PutOnHold(str(error), FailureClass.ENVIRONMENT), trigger=trigger)
        if asks:
            case = await self._ask(case, head, contract, lease)
            if await self._workspace.head(branch_of(case.item)) != head:
                return None
            decision = decide(case, self._policy)
        if _merges(decision, case):
            return await self._leave_staging(
                case, decision, head=head, contract=contract, lease=lease, trigger=trigger
            )
        return await self._commit(case, decision, trigger=trigger)

    def _has_open_questions(self, case: Case, decision: Decision) -> bool:
        """Gates are asked only when the decision hangs on a gate, never while work or a person is due."""
        if not is_work_current(case) or case.hold is not None or not open_questions(case):
            return False
        return not isinstance(decision, Wait) or decision.gate is not None

    async def _note_head(self, case: Case, head: Head) -> Case:
        """Store where the branch stands when that is news; verdicts for other code are stale from here on."""
        item = case.item
        if (item.head, item.code) == (head.commit, head.code):
            return case
        await self._store.transact(
            lambda tx: tx.items.note_head(item.task_id, head=head.commit, code=head.code)
        )
        return replace(case, item=replace(item, head=head.commit, code=head.code))

    async def _ask(self, case: Case, head: Head, contract: Contract | None, lease: Lease) -> Case:
        """Ask the unanswered gates in order until one does not pass; every answer is stored as it comes."""
        work = case.work
        if work is None:
            return case
        earlier = await self._store.transact(lambda tx: earlier_verdicts(tx, case.item.task_id))
        for gate in open_questions(case):
            question = Question(
                item=case.item,
                branch=branch_of(case.item),
                head=head,
                work=work,
                contract=contract,
                lease=lease,
                approvals=case.approvals,
                earlier={**earlier, **case.verdicts},
            )
            verdict = await self._evaluation.ask(gate, question)
            await self._store_verdict(case, gate, verdict)
            case = with_verdict(case, gate, verdict)
            if not isinstance(verdict, Passed):
                break
        return case

    async def _store_verdict(self, case: Case, gate: GateName, verdict: Verdict) -> None:
        """Keep the answer; the same doubt again is no news."""
        known = case.verdicts.get(gate)
        if _says_the_same(known, verdict):
            return
        item = case.item
        row = VerdictRow(gate=gate, verdict=verdict, epoch=item.epoch, stage=item.stage, at=self._clock.now())
        await self._store.transact(lambda tx: tx.facts.add_verdict(item.task_id, row))

    async def _leave_staging(
        self,
        case: Case,
        decision: Advance,
        *,
        head: Head,
        contract: Contract | None,
        lease: Lease,
        trigger: str,
    ) -> Decision:
        """Merge as the last act of the edge, then store the move; merged before a crash is merged once."""
        # A person who put the item on hold meanwhile must not find it merged.
        await self._store.transact(lambda tx: ensure_unchanged(tx, case))
        try:
            result = await self._merger.merge(
                lease, case.item, branch=branch_of(case.item), head=head, contract=contract
            )
        except (Rejected, Malformed) as error:
            hold = PutOnHold(f"the merge failed: {error}", FailureClass.ENVIRONMENT)
            return await self._commit(case, hold, trigger=trigger)
        if isinstance(result, Merged):
            return await self._commit_merged(case, decision, result, trigger=trigger)
        doubt = Inconclusive(result.reason, timedelta())
        await self._store_verdict(case, GateName.BRANCH_MERGEABLE, doubt)
        if await self._doubted_since(case.item, doubt) > self._policy.patience:
            reason = f"it has not been possible to merge: {result.reason}"
            hold = PutOnHold(reason, FailureClass.ENVIRONMENT, gate=GateName.BRANCH_MERGEABLE)
            return await self._commit(case, hold, trigger=trigger)
        return await self._commit_wait(case.item.task_id, trigger, result.reason)

    async def _commit_merged(
        self, case: Case, decision: Advance, merged: Merged, *, trigger: str
    ) -> Decision:
        """The move with its merge; an item that was stopped in between still shows what was merged."""
        try:
            return await self._commit(case, decision, trigger=trigger, merged=merged)
        except Conflict:
            await self._store.transact(lambda tx: tx.items.note_merged(case.item.task_id, merged.commit))
            raise

    async def _doubted_since(self, item: WorkItem, doubt: Inconclusive) -> timedelta:
        """For how long the merge has not come about for this reason, whatever the gate said in between."""
        rows = await self._store.transact(lambda tx: tx.facts.verdicts(item.task_id, item.epoch))
        same = [row.at for row in rows if _says_the_same(doubt, row.verdict)]
        return self._clock.now() - same[0] if same else timedelta()

    async def _commit_wait(self, task_id: TaskId, trigger: str, reason: str) -> Decision:
        case = await self._load(task_id)
        if case is None:
            return Rest("the item is gone")
        return await self._commit(case, Wait(reason, Waiter.TIME, MERGE_PAUSE), trigger=trigger)

    async def _commit(
        self, case: Case, decision: Decision, *, trigger: str, merged: Merged | None = None
    ) -> Decision:
        """Store the decision with what it causes, and let a lease go that the item does not need any more."""
        now = self._clock.now()
        await self._store.transact(
            lambda tx: self._commitment.apply(tx, case, decision, now=now, trigger=trigger, merged=merged)
        )
        if case.item.stage is Stage.DEPLOY_STAGING and not isinstance(decision, Wait):
            await self._merger.let_go(case.item)
        return decision


def _merges(decision: Decision, case: Case) -> TypeGuard[Advance]:
    """Whether committing the decision takes a merge first: the item leaves staging."""
    return isinstance(decision, Advance) and case.item.stage is Stage.DEPLOY_STAGING


def _says_the_same(known: Verdict | None, verdict: Verdict) -> bool:
    """Whether an inconclusive answer only repeats the one that is stored."""
    match known, verdict:
        case Inconclusive(reason=before), Inconclusive(reason=now):
            return before == now
        case _:
            return False
