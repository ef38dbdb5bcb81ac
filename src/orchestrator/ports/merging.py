"""Merging: the last act of the edge from staging to production."""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from orchestrator.config.contract import Contract
from orchestrator.pipeline.ids import Commit
from orchestrator.pipeline.items import WorkItem
from orchestrator.ports.leases import Lease
from orchestrator.ports.workspace import Branch, Head


@dataclass(frozen=True, slots=True)
class Merged:
    """The base branch holds exactly the tested tree, as ``commit``."""

    commit: Commit


@dataclass(frozen=True, slots=True)
class NotMerged:
    """Nothing was merged: what was tested is not what would be merged; the edge is asked again."""

    reason: str


MergeResult: TypeAlias = Merged | NotMerged


class Merger(Protocol):
    """Merges a tested head, once."""

    async def merge(
        self, lease: Lease, item: WorkItem, *, branch: Branch, head: Head, contract: Contract | None
    ) -> MergeResult:
        """Merge ``head`` under the project's merge lease and verify it; merged already: the same answer."""
        ...

    async def let_go(self, item: WorkItem) -> None:
        """Give the merge lease back when the item leaves the edge without merging."""
        ...
