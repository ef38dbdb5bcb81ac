"""Intake: a fact from outside becomes a command, the command becomes rows, and the door is asked to look.

Event, rows and job are stored in one transaction; an event that is told again (same content) changes nothing.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from orchestrator.engine.authors import Authors, approve, is_approved, keep_out
from orchestrator.engine.cases import work_of
from orchestrator.engine.orders import cleanup, comment, look_at, look_at_waiting, notify, tracker
from orchestrator.errors import BadInput, Rejected
from orchestrator.pipeline.commands import (
    Command,
    ConfirmDeploy,
    DecideAnalysis,
    HoldItem,
    RetryItem,
    StartItem,
    StopItem,
)
from orchestrator.pipeline.demands import OPERATOR
from orchestrator.pipeline.ids import Epoch, WorkItemId
from orchestrator.pipeline.items import Approval, ApprovalKind, Hold, WorkItem, WorkState
from orchestrator.pipeline.policies import branch_name, title_problem, track_of
from orchestrator.pipeline.rounds import Round
from orchestrator.pipeline.stages import TERMINAL, Role, Stage
from orchestrator.pipeline.verdicts import Failed, FailureClass
from orchestrator.ports.clock import Clock
from orchestrator.ports.queue import JobKind
from orchestrator.ports.store import NewItem, Store, Transaction, TransitionRow

_ACTIVE_KINDS: Final = (JobKind.PRODUCE, JobKind.LOOK, JobKind.WATCH)


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of a command: ``fresh`` is false when it was told before and nothing changed."""

    item: WorkItem | None
    outcome: str
    fresh: bool = True


class Intake:
    """Records what people and neighbours say."""

    def __init__(self, *, store: Store, clock: Clock, authors: Authors) -> None:
        self._store = store
        self._clock = clock
        self._authors = authors

    async def accept(self, command: Command, *, source: str, content_key: str) -> Accepted:
        """Store the command as an event and carry it out.

        ``content_key`` recognises the same fact told twice. Raises ``BadInput`` when the command cannot be
        carried out (unknown item, wrong stage); then nothing is stored. Raises ``Unavailable`` when the
        tracker cannot say who may write.
        """
        stranger = await self._stranger(command)
        return await self._store.transact(
            lambda tx: self._accept(tx, command, source, content_key=content_key, stranger=stranger)
        )

    async def _stranger(self, command: Command) -> str | None:
        """Who wrote words of a new item that a person has to read before an agent does."""
        if not isinstance(command, StartItem):
            return None
        writers = (command.author, command.edited_by) if command.edited_by else (command.author,)
        try:
            return await self._authors.stranger(command.project, *writers)
        except Rejected as error:
            raise BadInput(str(error)) from error

    def _accept(
        self, tx: Transaction, command: Command, source: str, *, content_key: str, stranger: str | None
    ) -> Accepted:
        kind = type(command).__name__
        payload = {name: getattr(command, name) for name in command.__slots__}
        event_id = tx.events.add(source=source, kind=kind, payload=payload, content_key=content_key)
        if event_id is None:
            return Accepted(tx.items.by_id(command.id), "told before", fresh=False)
        now = self._clock.now()
        accepted = self._carry_out(tx, command, source, now=now, stranger=stranger)
        task_id = accepted.item.task_id if accepted.item is not None else None
        tx.events.settle(event_id, outcome=accepted.outcome, task_id=task_id)
        return accepted

    def _carry_out(
        self, tx: Transaction, command: Command, source: str, *, now: datetime, stranger: str | None
    ) -> Accepted:
        match command:
            case StartItem():
                return self._start(tx, command, stranger, now)
            case DecideAnalysis():
                return _decide_analysis(tx, command, now)
            case ConfirmDeploy():
                return _confirm_deploy(tx, command, now)
            case StopItem():
                return _stop(tx, command, source, now)
            case RetryItem():
                return _retry(tx, command, source, now)
            case HoldItem():
                return _hold(tx, command, now)

    def _start(self, tx: Transaction, command: StartItem, stranger: str | None, now: datetime) -> Accepted:
        known = tx.items.by_id(command.id)
        if known is not None:
            return Accepted(known, "started already", fresh=False)
        item = tx.items.add(
            NewItem(
                id=command.id,
                project=command.project,
                title=command.title,
                description=command.description,
                tracker_ref=command.tracker_ref,
                track=track_of(command.labels),
                branch=branch_name(command.id, command.title),
                base=self._base(tx, command.project),
                labels=command.labels,
                author=command.author,
            )
        )
        if stranger is None:
            item = approve(tx, item)
        problem = title_problem(command.title)
        if problem is not None:
            _block(tx, item, f"QG-0: {problem}", now)
            return Accepted(item, f"blocked: {problem}")
        _depend(tx, item, command.blocked_by)
        if stranger is not None:
            keep_out(tx, item, stranger, now)
            return Accepted(item, f"held: a person has to read what {stranger} wrote")
        tx.jobs.enqueue(look_at(item.task_id, trigger="StartItem"))
        return Accepted(item, "started")

    def _base(self, tx: Transaction, project: str) -> str:
        state = tx.projects.get(project)
        if state is None:
            raise BadInput(f"unknown project {project}; 'orch project list' shows the registered ones")
        return str(state.settings.get("base_branch") or "main")


def known_item(tx: Transaction, item_id: WorkItemId) -> WorkItem:
    """The item with that number. Raises ``BadInput`` when there is none."""
    item = tx.items.by_id(item_id)
    if item is None:
        raise BadInput(f"unknown work item {item_id}; 'orch item list' shows all")
    return item


def _open_item(tx: Transaction, item_id: WorkItemId) -> WorkItem:
    item = known_item(tx, item_id)
    if item.stage in TERMINAL:
        raise BadInput(f"{item.id} is {item.stage}; nothing can be changed any more")
    return item


def _depend(tx: Transaction, item: WorkItem, blocked_by: tuple[str, ...]) -> None:
    """Record dependencies on items that we know; a cycle is refused with the cycle named (ORCH-026)."""
    for number in blocked_by:
        blocker = tx.items.by_id(WorkItemId(number))
        if blocker is None:
            raise BadInput(f"{item.id} depends on {number}, which is not known here")
        try:
            tx.items.depend(item.task_id, blocker.task_id)
        except Rejected as error:
            raise BadInput(str(error)) from error


def _block(tx: Transaction, item: WorkItem, reason: str, now: datetime) -> None:
    tx.facts.put_on_hold(
        item.task_id,
        Hold(reason=reason, since=now, who_can_unblock="the author of the item, then orch item retry"),
    )
    tx.jobs.enqueue(tracker(item))
    tx.jobs.enqueue(comment(item, key="qg-0", text=reason))
    tx.jobs.enqueue(notify(item, key=f"hold:{item.epoch}:{item.stage}", text=f"{item.id}: {reason}"))


def _decide_analysis(tx: Transaction, command: DecideAnalysis, now: datetime) -> Accepted:
    item = _open_item(tx, command.id)
    if item.stage is not Stage.ANALYSIS:
        raise BadInput(f"{item.id} is in {item.stage}; only an analysis can be approved or rejected")
    work = work_of(tx.jobs.of_visit(item.task_id, item.stage, item.epoch))
    if work is None or work.state is not WorkState.DONE:
        raise BadInput(f"the analysis of {item.id} is not there yet; its documents can be decided on later")
    tx.facts.add_approval(
        item.task_id,
        Approval(
            kind=ApprovalKind.ANALYSIS,
            subject=command.subject,
            granted=command.granted,
            by=command.by,
            at=now,
            comment=command.comment,
        ),
    )
    tx.jobs.enqueue(look_at(item.task_id, trigger="DecideAnalysis"))
    return Accepted(item, "approved" if command.granted else "rejected")


def _confirm_deploy(tx: Transaction, command: ConfirmDeploy, now: datetime) -> Accepted:
    """Bound to the merged commit: another commit needs another confirm (architecture §2a)."""
    item = _open_item(tx, command.id)
    if item.stage is not Stage.DEPLOY or item.merged is None:
        raise BadInput(f"{item.id} is in {item.stage}; Confirm Deploy is possible in deploy only")
    tx.facts.add_approval(
        item.task_id,
        Approval(kind=ApprovalKind.DEPLOY, subject=item.merged, granted=True, by=command.by, at=now),
    )
    tx.jobs.enqueue(look_at(item.task_id, trigger="ConfirmDeploy"))
    return Accepted(item, f"deploy of {item.merged[:10]} confirmed")


def _stop(tx: Transaction, command: StopItem, source: str, now: datetime) -> Accepted:
    """The stage write comes first; processes, worktree and pull request are ended by the cleanup job."""
    item = _open_item(tx, command.id)
    tx.jobs.cancel(item.task_id, _ACTIVE_KINDS)
    stopped = tx.items.move(item, to=Stage.CANCELLED, epoch=Epoch(item.epoch + 1))
    tx.facts.release_hold(item.task_id, by=command.by)
    reason = command.reason or f"stopped by {command.by}"
    tx.facts.add_transition(
        item.task_id, _moved(item, stopped, kind="stop", reason=reason, trigger=source, now=now)
    )
    tx.jobs.enqueue(tracker(stopped))
    tx.jobs.enqueue(cleanup(stopped))
    look_at_waiting(tx, item.project)
    return Accepted(stopped, reason)


def _retry(tx: Transaction, command: RetryItem, source: str, now: datetime) -> Accepted:
    """Release the hold with a fresh epoch; after spent rounds the developer gets new ones.

    Whoever releases it lets in the text that stands there now.
    """
    item = _open_item(tx, command.id)
    hold = tx.facts.hold(item.task_id)
    if hold is None:
        raise BadInput(f"{item.id} is not on hold; 'orch item explain {item.id}' says what it waits for")
    problem = title_problem(item.title)
    if problem is not None:
        raise BadInput(
            f"{item.id} cannot start: {problem}; change the title first (orch item edit {item.id} --title …)"
        )
    reason = f"retry by {command.by}{_let_in(tx, command, item)}"
    tx.jobs.cancel(item.task_id, _ACTIVE_KINDS)
    to = item.stage
    if hold.failure is FailureClass.CODE and item.stage not in (Stage.CREATED, Stage.ANALYSIS):
        to = Stage.DEVELOPMENT
        tx.facts.add_round(item.task_id, _granted_round(tx, item, hold))
    tx.facts.release_hold(item.task_id, by=command.by)
    moved = tx.items.move(item, to=to, epoch=Epoch(item.epoch + 1))
    if to is Stage.DEVELOPMENT and item.merged is not None:
        attempt = item.branch_attempt + 1
        tx.items.note_branch(item.task_id, branch_name(item.id, item.title, attempt=attempt), attempt)
    row = _moved(item, moved, kind="retry", reason=reason, trigger=source, now=now)
    tx.facts.add_transition(item.task_id, row)
    tx.jobs.enqueue(look_at(item.task_id, trigger="RetryItem"))
    tx.jobs.enqueue(tracker(moved))
    return Accepted(moved, reason)


def _let_in(tx: Transaction, command: RetryItem, item: WorkItem) -> str:
    """Approve a text that nobody has let in yet; what the history says about it."""
    if is_approved(item):
        return ""
    if not command.has_read:
        raise BadInput(
            f"the text of {item.id} has to be read first; 'orch item retry {item.id}' lets it in as it stands"
        )
    approve(tx, item)
    return ", who has read the text and lets it in"


def _granted_round(tx: Transaction, item: WorkItem, hold: Hold) -> Round:
    """The demand that the spent rounds did not meet, handed on word for word by the person's grant."""
    failures = [row for row in tx.facts.verdicts(item.task_id, item.epoch) if isinstance(row.verdict, Failed)]
    failed = failures[-1].verdict if failures else None
    rounds = tx.facts.rounds(item.task_id)
    return Round(
        number=len(rounds) + 1,
        source_gate=OPERATOR,
        role=Role.DEVELOPER,
        reason=hold.reason,
        findings=failed.findings if isinstance(failed, Failed) else (),
        optional=failed.optional if isinstance(failed, Failed) else (),
        link=failed.evidence.source if isinstance(failed, Failed) else "",
        code=item.code,
        fingerprint="",
        spent=False,
    )


def _hold(tx: Transaction, command: HoldItem, now: datetime) -> Accepted:
    item = _open_item(tx, command.id)
    tx.facts.put_on_hold(
        item.task_id, Hold(reason=command.reason, since=now, who_can_unblock=f"{command.by}, or an operator")
    )
    tx.jobs.enqueue(tracker(item))
    look_at_waiting(tx, item.project)
    return Accepted(item, command.reason)


def _moved(
    item: WorkItem, to: WorkItem, *, kind: str, reason: str, trigger: str, now: datetime
) -> TransitionRow:
    return TransitionRow(
        at=now,
        from_stage=item.stage,
        to_stage=to.stage,
        epoch=to.epoch,
        kind=kind,
        reason=reason,
        trigger=trigger,
        commit=item.head,
    )
