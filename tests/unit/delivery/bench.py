"""An item ready to be merged, on real repositories, a real forge and a real store."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from orchestrator.config.contract import Contract
from orchestrator.delivery.clean_runs import CleanRuns
from orchestrator.delivery.commands import ContractCommands, Surroundings
from orchestrator.delivery.measurement import Measurement
from orchestrator.delivery.merge import MergeService
from orchestrator.forges.local import LocalForge
from orchestrator.forges.mirror import Remote
from orchestrator.forges.worktrees import MirrorWorkspace, Places
from orchestrator.pipeline.ids import Commit
from orchestrator.pipeline.items import WorkItem
from orchestrator.plumbing.git import Git
from orchestrator.plumbing.processes import Processes
from orchestrator.ports.leases import Lease
from orchestrator.ports.merging import Merged, NotMerged
from orchestrator.ports.workspace import Author, Branch, Head
from tests.unit.forges.repositories import commit, git, push, working_repository
from tests.unit.store.rigs import Rig, opened

AUTHOR = Author("developer", "developer@localhost")


async def no_contract(_project: str) -> Contract | None:
    return None


async def no_event(_kind: str, _project: str, _commit: Commit) -> None: ...


@dataclass
class Bench:
    """An item whose work is pushed and has a pull request, and everything that merging needs."""

    rig: Rig
    person: Path
    forge: LocalForge
    workspace: MirrorWorkspace
    measurement: Measurement
    service: MergeService
    item: WorkItem
    branch: Branch
    head: Head

    async def merge(self, contract: Contract | None = None, **changes) -> Merged | NotMerged:
        lease = Lease(self.item.task_id, self.item.stage, self.item.epoch, 1, "us")
        return await self.service.merge(
            replace(lease, **changes), self.item, self.branch, self.head, contract
        )

    async def holder(self) -> bool:
        """Whether the merge lease is free for another item."""
        other = await self.rig.item(2)
        await self.rig.leases.take_merge("tally", other.task_id)
        return True

    async def work(self, files: dict[str, str]) -> Commit:
        """More work on the branch; its new head."""
        head = await self.workspace.head(self.branch)
        tree = await self.workspace.check_out(self.branch, head.commit)
        for name, text in files.items():
            (tree / name).write_text(text)
        return await self.workspace.save(
            self.branch, author=AUTHOR, message="More", started_at=head.commit, epoch=self.item.epoch
        )

    def base_goes_on(self, files: dict[str, str]) -> None:
        """Another change gets into the base, past our pull request."""
        git(self.forge.path("tally"), "config", "core.hooksPath", "/dev/null")
        commit(self.person, files)
        push(self.person, self.forge.path("tally"), "main:main")


@asynccontextmanager
async def ready_to_merge(tmp_path: Path) -> AsyncIterator[Bench]:
    person = working_repository(tmp_path / "person")
    with opened("sqlite", tmp_path) as rig:
        (tmp_path / "forge").mkdir()
        forge = LocalForge(
            tmp_path / "forge",
            git=Git(),
            clock=rig.clock,
            processes=Processes(),
            contract_for=no_contract,
            on_event=no_event,
        )
        await forge.host("tally", person, "main")
        workspace = MirrorWorkspace(
            Places.below(tmp_path / "home"), lambda name: Remote(str(forge.path(name))), Git()
        )
        await workspace.register("tally", "main")
        try:
            yield await _prepared(tmp_path, rig, person, forge, workspace)
        finally:
            await forge.aclose()


async def _prepared(tmp_path, rig, person, forge, workspace) -> Bench:
    item = await rig.item()
    branch = Branch("tally", item.branch, item.base, item.id)
    start = await workspace.base_head(branch)
    tree = await workspace.check_out(branch, start)
    (tree / "feature.py").write_text("new\n")
    await workspace.save(branch, author=AUTHOR, message="Count", started_at=start, epoch=item.epoch)
    pull = await forge.ensure_pull_request(
        "tally", branch=branch.name, base="main", title=item.title, body="Count"
    )
    await rig.store.transact(lambda tx: tx.items.note_pull_request(item.task_id, pull.number))
    commands = ContractCommands(
        Processes(), Surroundings(tmp_path / "state", lambda _: (1, 2)), grace=timedelta(milliseconds=200)
    )
    measurement = Measurement(
        CleanRuns(workspace, commands, root=tmp_path / "runs"), limit=timedelta(seconds=20)
    )
    service = MergeService(
        workspace=workspace, forge=forge, leases=rig.leases, store=rig.store, measurement=measurement
    )
    stored = await rig.store.transact(lambda tx: tx.items.get(item.task_id))
    head = await workspace.head(branch)
    return Bench(rig, person, forge, workspace, measurement, service, stored, branch, head)
