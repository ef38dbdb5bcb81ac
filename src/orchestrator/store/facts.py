"""What was observed and decided about items: verdicts, rounds, holds, approvals, transitions, lessons."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import BindParameter, Row, bindparam, select

from orchestrator.pipeline.demands import OPERATOR
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.ids import Epoch, TaskId
from orchestrator.pipeline.items import Approval, ApprovalKind, Hold
from orchestrator.pipeline.rounds import Round
from orchestrator.pipeline.stages import Role, Stage
from orchestrator.pipeline.verdicts import FailureClass
from orchestrator.ports.store import TransitionRow, VerdictRow
from orchestrator.store.columns import storable
from orchestrator.store.tables import (
    approvals,
    holds,
    lessons,
    rounds,
    tasks,
    transitions,
    verdicts,
)
from orchestrator.store.unit import Unit
from orchestrator.store.verdict_rows import row_of, values_of


class SqlFacts:
    """`ports.store.Facts` within one transaction."""

    def __init__(self, unit: Unit) -> None:
        """Work in ``unit``."""
        self._unit = unit

    def add_verdict(self, task_id: TaskId, row: VerdictRow) -> None:
        """Store what a gate answered."""
        bound = {"task_id": task_id, "gate": row.gate, "epoch": row.epoch, "stage": row.stage, "at": row.at}
        self._unit.add(verdicts, **bound, **values_of(row.verdict))

    def verdicts(self, task_id: TaskId, epoch: Epoch | None = None) -> Sequence[VerdictRow]:
        """Oldest first; all epochs for ``None``."""
        query = _VERDICTS if epoch is None else _VERDICTS_OF_EPOCH
        rows = self._unit.rows(query, {"item": task_id} if epoch is None else {"item": task_id, "in": epoch})
        return [row_of(row) for row in rows]

    def add_round(self, task_id: TaskId, round_: Round) -> None:
        """Store a trip back."""
        self._unit.add(
            rounds,
            task_id=task_id,
            number=round_.number,
            source_gate=round_.source_gate,
            role=round_.role,
            reason=round_.reason,
            findings=list(round_.findings),
            optional=list(round_.optional),
            link=round_.link,
            code=round_.code,
            fingerprint=round_.fingerprint,
            spent=round_.spent,
            created_at=self._unit.now(),
        )

    def rounds(self, task_id: TaskId) -> Sequence[Round]:
        """The trips back, oldest first."""
        return [_round(row) for row in self._unit.rows(_ROUNDS, {"item": task_id})]

    def put_on_hold(self, task_id: TaskId, hold: Hold) -> None:
        """Open a hold; an open hold with the same reason is left as it is, one with another gives way."""
        present = self.hold(task_id)
        if present is not None and present.reason == storable(hold.reason):
            return
        self.release_hold(task_id, by="another hold")
        self._unit.add(
            holds,
            task_id=task_id,
            reason=hold.reason,
            since=hold.since,
            who_can_unblock=hold.who_can_unblock,
            failure=hold.failure,
        )

    def release_hold(self, task_id: TaskId, *, by: str) -> bool:
        """End the open hold; whether there was one."""
        mine = (holds.c.task_id == task_id, holds.c.released_at.is_(None))
        released = holds.update().where(*mine).values(released_at=self._unit.now(), released_by=by)
        return self._unit.write(released) > 0

    def hold(self, task_id: TaskId) -> Hold | None:
        """The open hold."""
        row = self._unit.row(_OPEN_HOLD, {"item": task_id})
        return None if row is None else hold_of(row)

    def add_approval(self, task_id: TaskId, approval: Approval) -> None:
        """Store a person's decision."""
        self._unit.add(
            approvals,
            task_id=task_id,
            kind=approval.kind,
            subject=approval.subject,
            granted=approval.granted,
            decided_by=approval.by,
            at=approval.at,
            comment=approval.comment,
        )

    def approvals(self, task_id: TaskId) -> Sequence[Approval]:
        """The decisions, oldest first."""
        return [_approval(row) for row in self._unit.rows(_APPROVALS, {"item": task_id})]

    def add_transition(self, task_id: TaskId, row: TransitionRow) -> None:
        """Store a change of stage or epoch."""
        self._unit.add(
            transitions,
            task_id=task_id,
            at=row.at,
            from_stage=row.from_stage,
            to_stage=row.to_stage,
            epoch=row.epoch,
            kind=row.kind,
            reason=row.reason,
            trigger=row.trigger,
            commit=row.commit,
            evidence=dict(row.evidence),
        )

    def transitions(self, task_id: TaskId) -> Sequence[TransitionRow]:
        """The changes, oldest first."""
        mine = select(transitions).where(transitions.c.task_id == task_id).order_by(transitions.c.id)
        return [_transition(row) for row in self._unit.rows(mine)]

    def add_lesson(self, task_id: TaskId | None, *, type: str, status: str, text: str) -> None:
        """Store what the observer noticed (ORCH-098)."""
        seen = {"type": type, "status": status, "text": text, "created_at": self._unit.now()}
        self._unit.add(lessons, task_id=task_id, **seen)

    def lessons(self, limit: int = 20) -> Sequence[Mapping[str, object]]:
        """The newest first: ``id``, ``work_item`` (or ``None``), ``type``, ``status``, ``text``, ``at``."""
        what = (lessons.c.id, tasks.c.work_item_id.label("work_item"), lessons.c.type, lessons.c.status)
        joined = select(*what, lessons.c.text, lessons.c.created_at.label("at")).select_from(
            lessons.outerjoin(tasks, tasks.c.id == lessons.c.task_id)
        )
        newest = joined.order_by(lessons.c.id.desc()).limit(limit)
        return [dict(row._mapping) for row in self._unit.rows(newest)]


# What every look at an item asks. Built once: building a query takes longer than executing it does.
_ITEM: BindParameter[int] = bindparam("item")
_VERDICTS = select(verdicts).where(verdicts.c.task_id == _ITEM).order_by(verdicts.c.id)
_VERDICTS_OF_EPOCH = _VERDICTS.where(verdicts.c.epoch == bindparam("in"))
_ROUNDS = select(rounds).where(rounds.c.task_id == _ITEM).order_by(rounds.c.id)
_OPEN_HOLD = select(holds).where(holds.c.task_id == _ITEM, holds.c.released_at.is_(None))
_APPROVALS = select(approvals).where(approvals.c.task_id == _ITEM).order_by(approvals.c.id)


def _round(row: Row[Any]) -> Round:
    return Round(
        number=row.number,
        source_gate=row.source_gate if row.source_gate == OPERATOR else GateName(row.source_gate),
        role=Role(row.role),
        reason=row.reason,
        findings=tuple(row.findings),
        optional=tuple(row.optional),
        link=row.link,
        code=row.code,
        fingerprint=row.fingerprint,
        spent=row.spent,
    )


def hold_of(row: Row[Any]) -> Hold:
    """A row of ``holds`` as the domain knows it."""
    failure = None if row.failure is None else FailureClass(row.failure)
    return Hold(reason=row.reason, since=row.since, who_can_unblock=row.who_can_unblock, failure=failure)


def _approval(row: Row[Any]) -> Approval:
    return Approval(
        kind=ApprovalKind(row.kind),
        subject=row.subject,
        granted=row.granted,
        by=row.decided_by,
        at=row.at,
        comment=row.comment,
    )


def _transition(row: Row[Any]) -> TransitionRow:
    return TransitionRow(
        at=row.at,
        from_stage=Stage(row.from_stage),
        to_stage=Stage(row.to_stage),
        epoch=Epoch(row.epoch),
        kind=row.kind,
        reason=row.reason,
        trigger=row.trigger,
        commit=row.commit,
        evidence=row.evidence,
    )
