"""The three answers of a gate, each bound to the code it was given for."""

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TypeAlias

from orchestrator.pipeline.ids import CodeId, Commit


class FailureClass(StrEnum):
    """Who is to blame; only ``code`` spends a developer round, only ``agent`` a run attempt (product §4)."""

    AGENT = "agent"
    CODE = "code"
    ENVIRONMENT = "environment"
    LIMIT = "limit"
    FLAKE = "flake"
    BASE_RED = "base_red"
    BUG = "bug_in_orchestrator"


class WaitsFor(StrEnum):
    """What makes an inconclusive answer change: the passing of time, or a person."""

    TIME = "time"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a verdict rests on, so that anybody can look at the same thing again.

    ``source`` says where it was seen (an artifact path, a commit status, an approval), ``producer`` who made
    it, ``blob`` the git object that was read, ``detail`` one line for people.
    """

    source: str
    producer: str = ""
    blob: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Passed:
    """The gate saw what it demands, for this code."""

    code: CodeId
    commit: Commit
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Failed:
    """The gate saw that its demand is not met by this code.

    ``findings`` go verbatim to the next round as its demand, ``optional`` as advice (P2 and P3).
    """

    code: CodeId
    commit: Commit
    reason: str
    findings: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    evidence: Evidence = field(default_factory=lambda: Evidence(source=""))
    failure: FailureClass = FailureClass.CODE


@dataclass(frozen=True, slots=True)
class Inconclusive:
    """The gate could not tell; nothing opens, and no developer round is spent."""

    reason: str
    retry_after: timedelta | None = None
    waits_for: WaitsFor = WaitsFor.TIME
    failure: FailureClass = FailureClass.ENVIRONMENT


Verdict: TypeAlias = Passed | Failed | Inconclusive


class Answer(StrEnum):
    """A verdict's kind as it is stored and shown."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


def answer_of(verdict: Verdict) -> Answer:
    """The kind of ``verdict``."""
    match verdict:
        case Passed():
            return Answer.PASSED
        case Failed():
            return Answer.FAILED
        case Inconclusive():
            return Answer.INCONCLUSIVE
