"""A producer: whatever does the work of a stage."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, TypeAlias

from orchestrator.config.contract import Contract
from orchestrator.pipeline.ids import Commit
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.rounds import Round
from orchestrator.pipeline.stages import Role, Stage
from orchestrator.pipeline.verdicts import FailureClass
from orchestrator.ports.queue import Job
from orchestrator.ports.workspace import Branch


@dataclass(frozen=True, slots=True)
class Assignment:
    """The work of one visit to a stage; ``started_at`` is the commit it starts from."""

    item: WorkItem
    branch: Branch
    stage: Stage
    role: Role
    job: Job
    started_at: Commit
    contract: Contract | None
    rounds: tuple[Round, ...] = ()
    defers: int = 0


@dataclass(frozen=True, slots=True)
class Produced:
    """The work is delivered: what the branch holds now, and what stands in it.

    ``tool_error`` is set when the tool never ran within its budget of defers: the artifact says FAILED, the
    code is not to blame, and a person is alerted (ORCH-110, ORCH-115 D5).
    """

    delivered: Commit
    artifact: str = ""
    verdict: str = ""
    summary: str = ""
    tool_error: str = ""


@dataclass(frozen=True, slots=True)
class Deferred:
    """Try again later without spending anything; ``marker`` counts the defers of this kind."""

    reason: str
    after: timedelta
    marker: str = ""


@dataclass(frozen=True, slots=True)
class GaveUp:
    """The producer cannot deliver; ``retryable`` spends an attempt of the job and tries again."""

    reason: str
    failure: FailureClass
    retryable: bool = True


Outcome: TypeAlias = Produced | Deferred | GaveUp


class Producer(Protocol):
    """One row of the ordered table of producers."""

    @property
    def name(self) -> str:
        """What is written as ``author_agent`` and shown as producer."""
        ...

    def applies(self, item: WorkItem, stage: Stage, contract: Contract | None) -> bool:
        """Whether this producer takes the work; no I/O."""
        ...

    async def produce(self, assignment: Assignment) -> Outcome:
        """Do the work, or re-attach to it when it was begun before."""
        ...
