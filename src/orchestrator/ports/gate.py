"""A gate: a question about an item's committed code and documents, with three answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from orchestrator.config.contract import Contract
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.items import Approval, Work, WorkItem
from orchestrator.pipeline.verdicts import Verdict
from orchestrator.ports.leases import Lease
from orchestrator.ports.workspace import Branch, Head


@dataclass(frozen=True, slots=True)
class Question:
    """What a gate is asked about: always the item's present head, never a worktree."""

    item: WorkItem
    branch: Branch
    head: Head
    work: Work
    contract: Contract | None
    lease: Lease
    approvals: tuple[Approval, ...] = ()
    earlier: Mapping[GateName, Verdict] = field(default_factory=dict)
    """Newest verdict of each gate over all epochs, for gates that build on others."""


class Gate(Protocol):
    """Answers one question; an adapter error that it lets through becomes ``Inconclusive`` in the engine."""

    async def __call__(self, question: Question) -> Verdict: ...
