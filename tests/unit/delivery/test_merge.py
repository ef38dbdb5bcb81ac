"""The merge on real repositories, a real forge and a real store: once, fenced, verified."""

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.config.contract import parse_contract
from orchestrator.delivery.merge import MergeService
from orchestrator.errors import Conflict, Malformed
from orchestrator.pipeline.ids import Commit, Epoch
from orchestrator.ports.forge import PullState
from orchestrator.ports.leases import Lease
from orchestrator.ports.merging import Merged, NotMerged
from tests.unit.delivery.bench import ready_to_merge
from tests.unit.forges.repositories import git
from tests.unit.gates.fakes import BRANCH as MEMORY_BRANCH
from tests.unit.gates.fakes import MemoryForge, MemoryLeases, MemoryStore, MemoryWorkspace, an_item

COVERED = """
coverage:
  run: {run: 'echo "{\\"totals\\": {\\"percent_covered\\": 81.5}}" > report.json', shell: true}
  report: report.json
"""


@pytest.fixture
async def bench(tmp_path):
    async with ready_to_merge(tmp_path) as ready:
        yield ready


@pytest.mark.parametrize("method", [None, "merge", "squash", "rebase"])
async def test_the_base_then_holds_exactly_the_tested_tree(bench, method):
    contract = parse_contract(f"merge: {{method: {method}}}\n") if method else None
    result = await bench.merge(contract)
    assert isinstance(result, Merged)
    assert await bench.workspace.base_head(bench.branch) == result.commit
    tested = await bench.workspace.tree_of("tally", bench.head.commit)
    assert await bench.workspace.tree_of("tally", result.commit) == tested
    assert await bench.holder()


async def test_the_merge_names_the_item(bench):
    result = await bench.merge()
    assert isinstance(result, Merged)
    subject = git(bench.forge.path("tally"), "log", "-1", "--format=%s", result.commit)
    assert subject == "Merge ORCH-1: Count twice"


async def test_merging_again_is_the_same_answer_and_no_second_merge(bench):
    first = await bench.merge()
    assert await bench.merge() == first
    merges = git(bench.forge.path("tally"), "rev-list", "--count", "--merges", "main")
    assert merges == "1"


async def test_a_merge_that_was_not_written_down_is_found(bench):
    pull = bench.item.pull_request
    done = await bench.forge.merge(
        "tally", pull, expected_head=bench.head.commit, method="merge", message="before the crash"
    )
    assert await bench.merge() == Merged(done)


async def test_a_base_that_moved_is_not_merged_into(bench):
    bench.base_goes_on({"other.py": "theirs\n"})
    result = await bench.merge()
    assert isinstance(result, NotMerged)
    assert "main moved" in result.reason
    pull = await bench.forge.pull_request("tally", bench.item.pull_request)
    assert pull.state is PullState.OPEN
    assert await bench.holder()


async def test_a_head_that_moved_is_not_merged(bench):
    await bench.work({"feature.py": "newer\n"})
    result = await bench.merge()
    assert isinstance(result, NotMerged)
    assert f"not the tested {bench.head.commit[:12]}" in result.reason


@pytest.mark.parametrize("epoch", [0, 2])
async def test_an_item_that_moved_on_is_not_merged(bench, epoch):
    before = await bench.workspace.base_head(bench.branch)
    with pytest.raises(Conflict):
        await bench.merge(epoch=Epoch(epoch))
    await bench.workspace.refresh("tally")
    assert await bench.workspace.base_head(bench.branch) == before
    assert await bench.holder()


async def test_while_another_item_has_the_lease_nothing_is_merged(bench):
    other = await bench.rig.item(2)
    await bench.rig.leases.take_merge("tally", other.task_id)
    with pytest.raises(Conflict, match="ORCH-2"):
        await bench.merge()
    await bench.rig.leases.take_merge("tally", other.task_id)


async def test_without_a_pull_request_nothing_is_merged(bench):
    bench.item = replace(bench.item, pull_request=None)
    assert isinstance(await bench.merge(), NotMerged)


async def test_letting_go_frees_the_lease(bench):
    await bench.service.take(bench.item)
    await bench.service.let_go(bench.item)
    assert await bench.holder()


async def test_what_the_gate_measured_becomes_the_baseline_after_the_merge(bench):
    contract = parse_contract(COVERED)
    await bench.rig.store.transact(lambda tx: tx.projects.put("tally", {}))
    assert contract.coverage is not None
    await bench.measurement.measure(bench.branch, bench.head, contract.coverage)
    assert isinstance(await bench.merge(contract), Merged)
    state = await bench.rig.store.transact(lambda tx: tx.projects.get("tally"))
    assert state is not None
    assert state.coverage_baseline == 81.5


async def memory(tmp_path):
    """A merge service on a forge that can be made to lie."""
    workspace = MemoryWorkspace(tmp_path)
    workspace.push({"feature.py": "new\n"})
    forge, leases = MemoryForge(workspace), MemoryLeases()
    item = an_item()
    nothing: Any = NoMeasurement()
    service = MergeService(
        workspace=workspace, forge=forge, leases=leases, store=MemoryStore(item), measurement=nothing
    )
    lease = Lease(item.task_id, item.stage, item.epoch, 1, "us")
    return service, forge, leases, (lease, item, MEMORY_BRANCH, await workspace.head(MEMORY_BRANCH), None)


class NoMeasurement:
    def known(self, *_args) -> None: ...


@pytest.mark.parametrize(
    ("files", "in_base"), [({"feature.py": "new\n", "app.py": "evil\n"}, True), ({}, False)]
)
async def test_a_forge_that_merged_something_else_is_never_believed(tmp_path, files, in_base):
    service, forge, leases, arguments = await memory(tmp_path)
    head = arguments[3].commit
    forge.state, forge.pull_head = PullState.MERGED, head
    forge.merged_as = forge.workspace.commit(files, forge.workspace.heads["main"], head)
    if in_base:
        forge.workspace.heads["main"] = forge.merged_as
    with pytest.raises(Malformed, match="merge verify"):
        await service.merge(*arguments)
    assert leases.holder is None


@pytest.mark.parametrize("state", [PullState.CLOSED, PullState.MERGED])
async def test_a_pull_request_that_ended_otherwise_is_not_merged(tmp_path, state):
    service, forge, leases, arguments = await memory(tmp_path)
    forge.state, forge.pull_head = state, Commit("0" * 40)
    assert isinstance(await service.merge(*arguments), NotMerged)
    assert (forge.merges, leases.holder) == ([], None)
