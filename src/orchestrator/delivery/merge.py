"""The merge: once, under the merge lease, of exactly the tested tree, and verified afterwards (ORCH-043)."""

from typing import Final

from orchestrator.config.contract import Contract
from orchestrator.delivery.measurement import Measurement
from orchestrator.errors import Conflict, Malformed
from orchestrator.pipeline.ids import Commit
from orchestrator.pipeline.items import WorkItem
from orchestrator.ports.forge import Forge, PullRequest, PullState
from orchestrator.ports.leases import Lease, Leases
from orchestrator.ports.merging import Merged, MergeResult, NotMerged
from orchestrator.ports.store import Store, Transaction
from orchestrator.ports.workspace import Branch, Head, Workspace

DEFAULT_METHOD: Final = "merge"


class MergeService:
    """The port ``Merger``; the merge gate takes the same lease and looks with the same eyes."""

    def __init__(
        self, *, workspace: Workspace, forge: Forge, leases: Leases, store: Store, measurement: Measurement
    ) -> None:
        self._workspace = workspace
        self._forge = forge
        self._leases = leases
        self._store = store
        self._measurement = measurement

    async def take(self, item: WorkItem) -> None:
        """Take or keep the project's merge lease for the item; ``Conflict`` while another item has it."""
        await self._leases.take_merge(item.project, item.task_id)

    async def let_go(self, item: WorkItem) -> None:
        """Give the merge lease back if the item has it."""
        await self._leases.give_back_merge(item.project, item.task_id)

    async def merge(  # noqa: PLR0917 — the signature of the port
        self, lease: Lease, item: WorkItem, branch: Branch, head: Head, contract: Contract | None
    ) -> MergeResult:
        """Merge ``head`` and verify that the base holds exactly its tree; merged already: the same answer.

        Raises ``Conflict`` when the lease is somebody else's or the item moved on (nothing was merged then),
        ``Malformed`` when the base does not hold the tested tree although the forge says it merged.
        """
        if item.pull_request is None:
            return NotMerged("there is no pull request")
        await self.take(item)
        try:
            await self._workspace.refresh(item.project)
            pull = await self._forge.pull_request(item.project, item.pull_request)
            done = await self.merged_as(pull, branch, head) or await self._carry_out(
                lease, item, branch, head=head, pull=pull, contract=contract
            )
            if isinstance(done, NotMerged):
                return done
            await self._verify(branch, head, done)
            await self._raise_coverage(branch, head, contract)
            return Merged(done)
        finally:
            await self.let_go(item)

    async def merged_as(self, pull: PullRequest, branch: Branch, head: Head) -> Commit | None:
        """The commit of the base that holds the item's head already, by the forge or by a person's hand."""
        if pull.state is PullState.MERGED:
            return pull.merged_as if pull.head == head.commit else None
        base = await self._workspace.base_head(branch)
        if not head.exists or not await self._workspace.contains(branch.project, head.commit, base):
            return None
        tree = await self._workspace.tree_of(branch.project, base)
        same = tree == await self._workspace.tree_of(branch.project, head.commit)
        return base if same else head.commit

    async def fault(self, branch: Branch, head: Head, merged: Commit) -> str | None:
        """What is wrong with ``merged`` as the place where the base holds the tested tree."""
        base = await self._workspace.base_head(branch)
        if not await self._workspace.contains(branch.project, merged, base):
            return f"{branch.base} does not contain {merged[:12]}, which the forge calls the merge"
        tree = await self._workspace.tree_of(branch.project, merged)
        if tree != await self._workspace.tree_of(branch.project, head.commit):
            return f"{merged[:12]} on {branch.base} is not the tree of {head.commit[:12]} that was tested"
        return None

    async def _carry_out(
        self,
        lease: Lease,
        item: WorkItem,
        branch: Branch,
        *,
        head: Head,
        pull: PullRequest,
        contract: Contract | None,
    ) -> Commit | NotMerged:
        obstacle = await self._obstacle(pull, branch, head)
        if obstacle is not None:
            return NotMerged(obstacle)
        method = contract.merge.method if contract is not None and contract.merge else DEFAULT_METHOD
        # The last look before the one act that cannot be undone: a stopped or retried item does not merge.
        await self._store.transact(lambda tx: _fence(tx, lease))
        try:
            merged = await self._forge.merge(
                item.project,
                pull.number,
                expected_head=head.commit,
                method=method,
                message=f"Merge {item.id}: {item.title}",
            )
        except Conflict as error:
            return NotMerged(str(error))
        await self._workspace.refresh(item.project)
        return merged

    async def _obstacle(self, pull: PullRequest, branch: Branch, head: Head) -> str | None:
        if pull.state is PullState.MERGED:
            return f"pull request {pull.number} was merged with head {pull.head[:12]}, not {head.commit[:12]}"
        if pull.state is PullState.CLOSED:
            return f"pull request {pull.number} is closed"
        if pull.base != branch.base:
            return f"pull request {pull.number} goes into {pull.base}, not {branch.base}"
        if pull.head != head.commit:
            return f"pull request {pull.number} has head {pull.head[:12]}, not the tested {head.commit[:12]}"
        base = await self._workspace.base_head(branch)
        if not await self._workspace.contains(branch.project, base, head.commit):
            return f"{branch.base} moved to {base[:12]}, which the tested head does not contain"
        return None

    async def _verify(self, branch: Branch, head: Head, merged: Commit) -> None:
        fault = await self.fault(branch, head, merged)
        if fault is not None:
            raise Malformed(f"merge verify: {fault}")

    async def _raise_coverage(self, branch: Branch, head: Head, contract: Contract | None) -> None:
        """The ratchet of ORCH-027: the baseline follows a verified merge upwards."""
        percent = self._measurement.known(branch, head, contract)
        if percent is not None:
            await self._store.transact(lambda tx: tx.projects.raise_coverage(branch.project, percent))


def _fence(tx: Transaction, lease: Lease) -> None:
    item = tx.items.get(lease.task_id)
    if item is None or (item.stage, item.epoch) != (lease.stage, lease.epoch):
        raise Conflict("the item moved on while it was to be merged")
    if tx.facts.hold(lease.task_id) is not None:
        raise Conflict("the item was put on hold while it was to be merged")
