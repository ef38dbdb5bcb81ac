"""What happens to a work item next: the whole safety argument, without I/O.

A stage is left only when every exit gate answered ``Passed`` for the item's present code. Anything else (no
verdict, a stale one, an inconclusive one, an empty gate table) leaves the item where it is.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

from orchestrator.pipeline.demands import OPERATOR
from orchestrator.pipeline.findings import fingerprint
from orchestrator.pipeline.gates import DOCUMENT_GATES, EXIT_GATES, GateName
from orchestrator.pipeline.items import ApprovalKind, Case, Waiter, WorkState
from orchestrator.pipeline.rounds import MAX_DEVELOPER_RETRIES, Round, no_progress
from orchestrator.pipeline.stages import TERMINAL, Role, Stage, next_stage, role_in
from orchestrator.pipeline.verdicts import Failed, FailureClass, Inconclusive, Passed, WaitsFor

ASK_AGAIN: Final = timedelta(seconds=5)
"""Before a gate is asked again that was asked and gave no answer for this code."""

WHO_CAN_RETRY: Final = "an operator (orch item retry, or stop)"


@dataclass(frozen=True, slots=True)
class Policy:
    """What a project or installation may change about the decisions."""

    max_rounds: int = MAX_DEVELOPER_RETRIES
    confirm_deploy: bool = True
    patience: timedelta = timedelta(hours=2)
    """How long a gate may stay inconclusive before a person is called."""


@dataclass(frozen=True, slots=True)
class StartWork:
    """Order the work of the stage in which the item stands."""

    role: Role
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do now; says what for, and when to look again if time alone may change the answer."""

    reason: str
    waiter: Waiter
    retry_after: timedelta | None = None
    who_can_unblock: str = ""
    gate: GateName | None = None


@dataclass(frozen=True, slots=True)
class Advance:
    """Leave the stage through its exit gates."""

    to: Stage
    evidence: tuple[GateName, ...] = ()


@dataclass(frozen=True, slots=True)
class SendBack:
    """Another round: ``spent`` says whether it counts against the developer's cap."""

    to: Stage
    gate: GateName
    failed: Failed
    spent: bool = True


@dataclass(frozen=True, slots=True)
class PutOnHold:
    """Only a person can help from here."""

    reason: str
    failure: FailureClass
    who_can_unblock: str = WHO_CAN_RETRY
    gate: GateName | None = None


@dataclass(frozen=True, slots=True)
class Rest:
    """The item is where it should be; nothing follows."""

    reason: str = ""


Decision: TypeAlias = StartWork | Wait | Advance | SendBack | PutOnHold | Rest


def open_questions(case: Case) -> tuple[GateName, ...]:
    """The exit gates, in order, that have no conclusive answer for the item's present code."""
    return tuple(gate for gate in EXIT_GATES.get(case.item.stage, ()) if not _is_settled(case, gate))


def is_work_current(case: Case) -> bool:
    """Whether the stage's work was delivered for exactly the code that the branch now holds."""
    work = case.work
    if work is None or work.state is not WorkState.DONE:
        return False
    return work.code is not None and work.code == case.item.code


def decide(case: Case, policy: Policy = Policy()) -> Decision:
    """The one next step for ``case``; total: every case has exactly one answer."""
    if case.item.stage in TERMINAL:
        return Rest(f"{case.item.stage} is the end of the road")
    if case.hold is not None:
        return Wait(case.hold.reason, Waiter.PERSON, who_can_unblock=case.hold.who_can_unblock)
    if case.item.stage is Stage.CREATED:
        return _leave_created(case)
    return _before_work(case, policy) or _work(case) or _gates(case, policy)


def _leave_created(case: Case) -> Decision:
    queueing = case.queueing
    if queueing.frozen is not None:
        return Wait(f"the project is frozen: {queueing.frozen}", Waiter.PERSON, who_can_unblock="an operator")
    if queueing.blocked_by:
        return Wait(f"blocked by {', '.join(queueing.blocked_by)}", Waiter.ITEM)
    if queueing.place_taken_by is not None:
        return Wait(f"{queueing.place_taken_by} is active in this project", Waiter.ITEM)
    return Advance(Stage.ANALYSIS)


def _before_work(case: Case, policy: Policy) -> Decision | None:
    """Production changes only after a person confirmed this very commit (ORCH-059)."""
    if case.item.stage is not Stage.DEPLOY:
        return None
    if case.item.merged is None:
        return PutOnHold("the item is in deploy but nothing was merged", FailureClass.BUG)
    if not policy.confirm_deploy:
        return None
    approval = case.approval(ApprovalKind.DEPLOY, case.item.merged)
    if approval is not None and approval.granted:
        return None
    return Wait(
        f"Confirm Deploy of {case.item.merged[:10]}",
        Waiter.PERSON,
        who_can_unblock="whoever may deploy (orch item confirm-deploy)",
    )


def _work(case: Case) -> Decision | None:
    """Order, await or judge the work itself; ``None`` when it was delivered for the present code."""
    role = role_in(case.item.stage)
    if role is None:
        return PutOnHold(f"nobody works in stage {case.item.stage}", FailureClass.BUG)
    work = case.work
    if work is None:
        return StartWork(role)
    if work.state is WorkState.PENDING:
        return Wait(f"{work.producer or role} is at work", Waiter.WORK)
    if work.state is WorkState.FAILED:
        return PutOnHold(work.summary or f"{role} failed", work.failure or FailureClass.BUG)
    if not is_work_current(case):
        return StartWork(role, "the code changed after this work was delivered")
    return None


def _gates(case: Case, policy: Policy) -> Decision:
    gates = EXIT_GATES.get(case.item.stage, ())
    if not gates:
        return PutOnHold(f"stage {case.item.stage} has no exit gate", FailureClass.BUG)
    for gate in gates:
        match case.verdicts.get(gate):
            case Passed() as passed if _holds_now(case, gate, passed):
                continue
            case Failed() as failed if _holds_now(case, gate, failed):
                return _after_failure(case, policy, gate, failed)
            case Inconclusive() as unknown:
                return _after_doubt(case, policy, gate, unknown)
            case _:
                return Wait(f"{gate} has not answered for this code", Waiter.TIME, ASK_AGAIN, gate=gate)
    following = next_stage(case.item.stage, case.item.track)
    if following is None:
        return PutOnHold(f"nothing follows stage {case.item.stage}", FailureClass.BUG)
    return Advance(following, gates)


def _after_doubt(case: Case, policy: Policy, gate: GateName, unknown: Inconclusive) -> Decision:
    if unknown.waits_for is WaitsFor.PERSON:
        return Wait(unknown.reason, Waiter.PERSON, who_can_unblock="a person with that right", gate=gate)
    if unknown.retry_after is None:
        return PutOnHold(f"{gate} cannot tell: {unknown.reason}", unknown.failure, gate=gate)
    if case.doubted_for > policy.patience:
        return PutOnHold(f"{gate} has not been able to tell: {unknown.reason}", unknown.failure, gate=gate)
    return Wait(f"{gate}: {unknown.reason}", Waiter.TIME, unknown.retry_after, gate=gate)


def _after_failure(case: Case, policy: Policy, gate: GateName, failed: Failed) -> Decision:
    if gate is GateName.ANALYSIS_APPROVED:
        return SendBack(Stage.ANALYSIS, gate, failed, spent=False)
    if failed.failure is not FailureClass.CODE:
        return PutOnHold(f"{gate}: {failed.reason}", failed.failure, gate=gate)
    spent = rounds_since_grant(case)
    if len(spent) >= policy.max_rounds:
        return PutOnHold(
            f"{len(spent)} of {policy.max_rounds} developer rounds are spent; {gate}: {failed.reason}",
            FailureClass.CODE,
            gate=gate,
        )
    if spent:
        standing = no_progress(spent[-1], mark_of(failed), case.item.code)
        if standing is not None:
            reason = f"no progress: {standing}; {gate}: {failed.reason}"
            return PutOnHold(reason, FailureClass.CODE, gate=gate)
    return SendBack(_where_it_is_mended(case.item.stage), gate, failed)


def _where_it_is_mended(stage: Stage) -> Stage:
    """Development; but a stage before it is done again, because a refusal never carries an item forward."""
    return stage if stage in (Stage.ANALYSIS, Stage.ARCHITECTURE) else Stage.DEVELOPMENT


def rounds_since_grant(case: Case) -> list[Round]:
    """The spent developer rounds since a person last granted new ones (``orch item retry``)."""
    granted = [index for index, r in enumerate(case.rounds) if r.source_gate == OPERATOR]
    return [r for r in case.rounds[granted[-1] + 1 if granted else 0 :] if r.spent]


def mark_of(failed: Failed) -> str:
    """The fingerprint by which two rounds with the same demand are recognised."""
    return fingerprint(tuple(failed.findings) or (failed.reason,))


def _is_settled(case: Case, gate: GateName) -> bool:
    match case.verdicts.get(gate):
        case (Passed() | Failed()) as answer:
            return _holds_now(case, gate, answer)
        case _:
            return False


def _holds_now(case: Case, gate: GateName, answer: Passed | Failed) -> bool:
    """Whether the answer was given for what the branch holds now; code that is not known is no code."""
    if case.item.code is None or answer.code != case.item.code:
        return False
    return gate not in DOCUMENT_GATES or answer.commit == case.item.head
