"""Committing a decision: the stage write and every job that it causes, in one transaction."""

from dataclasses import dataclass, replace
from datetime import datetime

from orchestrator.engine.cases import load_case
from orchestrator.engine.orders import look_at, look_at_waiting, notify, produce, tracker, watch
from orchestrator.errors import Conflict
from orchestrator.pipeline.artifacts import artifact_dir
from orchestrator.pipeline.decisions import (
    Advance,
    Decision,
    Policy,
    PutOnHold,
    Rest,
    SendBack,
    StartWork,
    Wait,
    decide,
    mark_of,
)
from orchestrator.pipeline.gates import EXIT_GATES, GateName
from orchestrator.pipeline.ids import Epoch
from orchestrator.pipeline.items import Case, Hold, Waiter, WorkItem
from orchestrator.pipeline.policies import branch_name
from orchestrator.pipeline.rounds import Round
from orchestrator.pipeline.stages import Role, Stage, role_in
from orchestrator.pipeline.verdicts import Failed, FailureClass, Inconclusive, Passed, Verdict
from orchestrator.ports.merging import Merged
from orchestrator.ports.queue import NewJob
from orchestrator.ports.store import Transaction, TransitionRow


@dataclass(frozen=True, slots=True)
class Commitment:
    """Turns a decision into rows and jobs; the policy says what follows in the stage that is entered."""

    policy: Policy

    def apply(
        self,
        tx: Transaction,
        case: Case,
        decision: Decision,
        *,
        now: datetime,
        trigger: str,
        merged: Merged | None = None,
    ) -> None:
        """Store ``decision`` for ``case``; ``Conflict``, and nothing stored, when the item has moved."""
        ensure_unchanged(tx, case)
        match decision:
            case Rest():
                pass
            case StartWork(role=role, reason=reason):
                tx.jobs.enqueue(produce(case.item, role, reason=reason))
                tx.jobs.enqueue(tracker(case.item))
            case Wait() as wait:
                self._wait(tx, case, wait)
            case PutOnHold() as hold:
                self._hold(tx, case.item, hold, now)
            case Advance(to=to):
                self._advance(tx, case, to, now=now, trigger=trigger, merged=merged)
            case SendBack() as back:
                self._send_back(tx, case, back, now=now, trigger=trigger)

    def _wait(self, tx: Transaction, case: Case, wait: Wait) -> None:
        item = case.item
        verdict = case.verdicts.get(wait.gate) if wait.gate is not None else None
        if isinstance(verdict, Inconclusive) and verdict.failure is FailureClass.BASE_RED:
            _freeze(tx, item, verdict.reason)
        if wait.retry_after is not None:
            tx.jobs.enqueue(look_at(item.task_id, trigger="time", delay=wait.retry_after))
        if wait.waiter is Waiter.PERSON:
            tx.jobs.enqueue(tracker(item))
            if case.hold is None:
                tx.jobs.enqueue(_call(item, wait))
            if item.stage is not Stage.CREATED:
                look_at_waiting(tx, item.project)

    def _hold(self, tx: Transaction, item: WorkItem, hold: PutOnHold, now: datetime) -> None:
        """A hold is told once: to the tracker, to whoever watches, and to the items waiting in line."""
        tx.facts.put_on_hold(
            item.task_id,
            Hold(reason=hold.reason, since=now, who_can_unblock=hold.who_can_unblock, failure=hold.failure),
        )
        tx.facts.add_lesson(item.task_id, type="hold", status=hold.failure, text=hold.reason)
        tx.jobs.enqueue(tracker(item))
        tx.jobs.enqueue(
            notify(item, key=f"hold:{item.epoch}:{item.stage}", text=f"{item.id} is on hold: {hold.reason}")
        )
        look_at_waiting(tx, item.project)

    def _advance(
        self,
        tx: Transaction,
        case: Case,
        to: Stage,
        *,
        now: datetime,
        trigger: str,
        merged: Merged | None,
    ) -> None:
        item = tx.items.move(case.item, to=to, epoch=case.item.epoch)
        if merged is not None:
            tx.items.note_merged(item.task_id, merged.commit)
            item = replace(item, merged=merged.commit)
        tx.facts.add_transition(
            item.task_id,
            TransitionRow(
                at=now,
                from_stage=case.item.stage,
                to_stage=to,
                epoch=item.epoch,
                kind="advance",
                reason=_reason(case, to),
                trigger=trigger,
                commit=merged.commit if merged is not None else item.head,
                evidence=_evidence(case),
            ),
        )
        self._enter(tx, item, now)

    def _send_back(self, tx: Transaction, case: Case, back: SendBack, *, now: datetime, trigger: str) -> None:
        """Another round: a new epoch, the demand word for word, a new branch if the old one is merged."""
        epoch = Epoch(case.item.epoch + 1)
        tx.facts.add_round(case.item.task_id, _round(case, back))
        item = tx.items.move(case.item, to=back.to, epoch=epoch)
        if item.merged is not None:
            attempt = item.branch_attempt + 1
            branch = branch_name(item.id, item.title, attempt=attempt)
            tx.items.note_branch(item.task_id, branch, attempt)
            item = replace(
                item,
                branch=branch,
                branch_attempt=attempt,
                merged=None,
                pull_request=None,
                head=item.merged,
                code=None,
            )
        tx.facts.add_transition(
            item.task_id,
            TransitionRow(
                at=now,
                from_stage=case.item.stage,
                to_stage=back.to,
                epoch=epoch,
                kind="send_back",
                reason=f"{back.gate}: {back.failed.reason}",
                trigger=trigger,
                commit=case.item.head,
                evidence=_evidence(case),
            ),
        )
        tx.facts.add_lesson(item.task_id, type="round", status=back.gate, text=back.failed.reason)
        self._enter(tx, item, now)

    def _enter(self, tx: Transaction, item: WorkItem, now: datetime) -> None:
        """What follows at once in the stage that was entered, so that no second look is needed."""
        tx.jobs.enqueue(tracker(item))
        if item.stage is Stage.DONE:
            tx.jobs.enqueue(watch(item))
            look_at_waiting(tx, item.project)
            return
        entered = load_case(tx, item.task_id, now)
        if entered is None:
            return
        match decide(entered, self.policy):
            case StartWork(role=role, reason=reason):
                tx.jobs.enqueue(produce(item, role, reason=reason))
            case Wait(waiter=Waiter.PERSON) as wait:
                tx.jobs.enqueue(_call(item, wait))
                look_at_waiting(tx, item.project)
            case _:
                tx.jobs.enqueue(look_at(item.task_id, trigger="entered"))


def ensure_unchanged(tx: Transaction, case: Case) -> None:
    """What a person or a delivery changed while gates were asked wins: ``Conflict`` then."""
    item, seen = tx.items.get(case.item.task_id), case.item
    if item is None or (item.stage, item.epoch, item.head) != (seen.stage, seen.epoch, seen.head):
        raise Conflict(f"{seen.id} changed while it was looked at")
    if case.hold is None and tx.facts.hold(seen.task_id) is not None:
        raise Conflict(f"{seen.id} was put on hold while it was looked at")


def _call(item: WorkItem, wait: Wait) -> NewJob:
    """One alert for each visit to a stage in which a person is waited for."""
    return notify(item, key=f"wait:{item.epoch}:{item.stage}", text=f"{item.id} waits: {wait.reason}")


def _freeze(tx: Transaction, item: WorkItem, reason: str) -> None:
    """A red base is the fault of no branch: no new item starts until a person thaws the project."""
    project = tx.projects.get(item.project)
    if project is None or project.frozen is not None:
        return
    tx.projects.freeze(item.project, reason)
    text = f"{item.project} is frozen: {reason}; repair {item.base}, then 'orch project thaw {item.project}'"
    tx.jobs.enqueue(notify(item, key=f"base-red:{item.head}", text=text))


def _round(case: Case, back: SendBack) -> Round:
    return Round(
        number=len(case.rounds) + 1,
        source_gate=back.gate,
        role=role_in(back.to) or Role.DEVELOPER,
        reason=back.failed.reason,
        findings=back.failed.findings,
        optional=back.failed.optional,
        link=_link(case, back.failed),
        code=case.item.code,
        fingerprint=mark_of(back.failed),
        spent=back.spent,
    )


def _link(case: Case, failed: Failed) -> str:
    """Where the whole context of a demand is: the link is always kept (ORCH-046 AC-3)."""
    return failed.evidence.source or artifact_dir(case.item.id)


def _reason(case: Case, to: Stage) -> str:
    passed = [gate for gate, verdict in _exit_verdicts(case).items() if isinstance(verdict, Passed)]
    return f"to {to}: {', '.join(passed)} passed" if passed else f"to {to}"


def _exit_verdicts(case: Case) -> dict[GateName, Verdict]:
    """What the exit gates of the stage that is left have answered."""
    gates = EXIT_GATES.get(case.item.stage, ())
    return {gate: case.verdicts[gate] for gate in gates if gate in case.verdicts}


def _evidence(case: Case) -> dict[str, str]:
    """One line per gate for the audit trail."""
    lines: dict[str, str] = {}
    for gate, verdict in _exit_verdicts(case).items():
        match verdict:
            case Passed(evidence=evidence):
                lines[gate] = f"passed: {evidence.detail or evidence.source}"
            case Failed(reason=reason):
                lines[gate] = f"failed: {reason}"
            case _:
                lines[gate] = f"inconclusive: {verdict.reason}"
    return lines
