"""Explaining an item: why it is here, since when, what happens next, and who can unblock it."""

from dataclasses import dataclass
from datetime import datetime

from orchestrator.pipeline.decisions import (
    Advance,
    Policy,
    PutOnHold,
    Rest,
    SendBack,
    StartWork,
    Wait,
    decide,
    rounds_since_grant,
)
from orchestrator.pipeline.gates import EXIT_GATES
from orchestrator.pipeline.items import Case, Waiter
from orchestrator.pipeline.stages import Stage, next_stage
from orchestrator.pipeline.verdicts import Failed, Inconclusive, Passed


@dataclass(frozen=True, slots=True)
class GateLine:
    """One exit gate of the present stage and what it last said about the present code."""

    gate: str
    answer: str
    detail: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer to "why is this item here"; computed from stored facts alone, no gate is asked."""

    work_item: str
    stage: str
    why: str
    since: datetime
    next: str
    waits_for: str
    who_can_unblock: str
    round: int
    rounds_left: int
    gates: tuple[GateLine, ...]


def explain(case: Case, policy: Policy) -> Explanation:
    """Explain ``case`` under ``policy``."""
    item = case.item
    decision = decide(case, policy)
    why, waits_for, who = _reading(decision)
    spent = len(rounds_since_grant(case))
    return Explanation(
        work_item=item.id,
        stage=item.stage,
        why=why,
        since=case.hold.since if case.hold is not None else item.entered_at,
        next=_next(case, decision),
        waits_for=waits_for,
        who_can_unblock=who,
        round=len(case.rounds) + 1,
        rounds_left=max(policy.max_rounds - spent, 0),
        gates=tuple(_gate_line(case, gate) for gate in EXIT_GATES.get(item.stage, ())),
    )


def _reading(decision: object) -> tuple[str, str, str]:
    match decision:
        case Wait(reason=reason, waiter=waiter, who_can_unblock=who):
            return reason, waiter, who or ("nobody has to" if waiter is not Waiter.PERSON else "")
        case PutOnHold(reason=reason, who_can_unblock=who):
            return reason, Waiter.PERSON, who
        case Rest(reason=reason):
            return reason, "", ""
        case StartWork(role=role, reason=reason):
            return reason or f"the {role}'s work is about to be ordered", Waiter.WORK, "nobody has to"
        case SendBack(gate=gate, failed=failed):
            return f"{gate}: {failed.reason}", Waiter.WORK, "nobody has to"
        case _:
            return "every exit gate passed", Waiter.WORK, "nobody has to"


def _next(case: Case, decision: object) -> str:
    match decision:
        case Rest():
            return "nothing"
        case SendBack(to=to):
            return f"another round in {to}"
        case Advance(to=to):
            return f"stage {to}"
    if case.hold is not None:
        return f"work in {case.item.stage} begins again after a retry"
    following = next_stage(case.item.stage, case.item.track)
    gates = ", ".join(EXIT_GATES.get(case.item.stage, ())) or "its turn"
    return f"stage {following or Stage.DONE} after {gates}"


def _gate_line(case: Case, gate: str) -> GateLine:
    verdict = next((v for name, v in case.verdicts.items() if name == gate), None)
    match verdict:
        case Passed(code=code, evidence=evidence) if code == case.item.code:
            return GateLine(gate, "passed", evidence.detail or evidence.source)
        case Failed(code=code, reason=reason) if code == case.item.code:
            return GateLine(gate, "failed", reason)
        case Inconclusive(reason=reason):
            return GateLine(gate, "inconclusive", reason)
        case None:
            return GateLine(gate, "not asked", "")
        case _:
            return GateLine(gate, "stale", "the code changed after this answer")
