"""Verdicts as rows: every field is kept, so that what is read is what was given."""

from dataclasses import asdict
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Row

from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.ids import CodeId, Commit, Epoch
from orchestrator.pipeline.stages import Stage
from orchestrator.pipeline.verdicts import (
    Answer,
    Evidence,
    Failed,
    FailureClass,
    Inconclusive,
    Passed,
    Verdict,
    WaitsFor,
    answer_of,
)
from orchestrator.ports.store import VerdictRow

_TICK: Final = timedelta(microseconds=1)


def values_of(verdict: Verdict) -> dict[str, Any]:
    """The columns of ``verdict``."""
    answer = {"answer": answer_of(verdict)}
    match verdict:
        case Passed(code=code, commit=commit, evidence=evidence):
            return answer | {"code": code, "commit": commit, "evidence": asdict(evidence)}
        case Failed():
            return answer | {
                "code": verdict.code,
                "commit": verdict.commit,
                "evidence": asdict(verdict.evidence),
                "reason": verdict.reason,
                "findings": list(verdict.findings),
                "optional": list(verdict.optional),
                "failure": verdict.failure,
            }
        case Inconclusive(reason=reason, retry_after=pause):
            return answer | {
                "reason": reason,
                "retry_after_us": None if pause is None else pause // _TICK,
                "waits_for": verdict.waits_for,
                "failure": verdict.failure,
            }


def row_of(row: Row[Any]) -> VerdictRow:
    """A row of ``verdicts`` as the domain knows it."""
    return VerdictRow(
        gate=GateName(row.gate),
        verdict=_verdict(row),
        epoch=Epoch(row.epoch),
        stage=Stage(row.stage),
        at=row.at,
    )


def _verdict(row: Row[Any]) -> Verdict:
    match Answer(row.answer):
        case Answer.PASSED:
            return Passed(CodeId(row.code), Commit(row.commit), Evidence(**row.evidence))
        case Answer.FAILED:
            return Failed(
                code=CodeId(row.code),
                commit=Commit(row.commit),
                reason=row.reason,
                findings=tuple(row.findings),
                optional=tuple(row.optional or ()),
                evidence=Evidence(**row.evidence),
                failure=FailureClass(row.failure),
            )
        case Answer.INCONCLUSIVE:
            pause = row.retry_after_us
            return Inconclusive(
                reason=row.reason,
                retry_after=None if pause is None else timedelta(microseconds=pause),
                waits_for=WaitsFor(row.waits_for),
                failure=FailureClass(row.failure),
            )
