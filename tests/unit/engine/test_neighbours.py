"""The neighbours in memory keep the promises of their ports, so that tests on them mean something."""

from pathlib import Path

import pytest

from orchestrator.errors import Conflict, Rejected, Unavailable
from orchestrator.pipeline.ids import Commit, Epoch, WorkItemId
from orchestrator.ports.forge import Checks, CheckState, Forge, PullState
from orchestrator.ports.notifier import Notifier
from orchestrator.ports.tracker import Filing, Tracker
from orchestrator.ports.workspace import Author, Branch, RebaseConflict, Rebased, Workspace
from orchestrator.testing import ManualClock, MemoryForge, MemoryNotifier, MemoryTracker, MemoryWorkspace
from tests.unit.store.rigs import START

BRANCH = Branch("shop", "feature/SHOP-1-count", "main", WorkItemId("SHOP-1"))
MISSING = Commit("1" * 40)


@pytest.fixture
def workspace(tmp_path):
    made = MemoryWorkspace(tmp_path, attentive=True)
    made.create("shop", {"app.py": "one\n", "docs/readme.md": "read\n"})
    return made


async def work(workspace, files, *, started_at=None, epoch=1):
    start = started_at or (await workspace.head(BRANCH)).commit
    tree = await workspace.check_out(BRANCH, start)
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    return await workspace.save(
        BRANCH, author=Author("dev", "dev@localhost"), message="Count", started_at=start, epoch=Epoch(epoch)
    )


async def pulled(forge):
    return await forge.ensure_pull_request("shop", branch=BRANCH.name, base="main", title="C", body="")


def test_each_is_an_adapter_of_its_port(workspace: MemoryWorkspace) -> None:
    tracker: Tracker = MemoryTracker(ManualClock(START))
    filing: Filing = MemoryTracker(ManualClock(START))
    places: Workspace = workspace
    forge: Forge = MemoryForge(workspace)
    notifier: Notifier = MemoryNotifier()
    assert all((tracker, filing, places, forge, notifier))


async def test_a_branch_that_was_not_cut_stands_at_its_base(workspace):
    head = await workspace.head(BRANCH)
    assert (head.commit, head.exists) == (await workspace.base_head(BRANCH), False)


async def test_saved_work_is_the_head_without_the_task_file(workspace):
    base = await workspace.base_head(BRANCH)
    saved = await work(workspace, {"app.py": "two\n", ".task-dev.md": "do it\n"})
    assert (await workspace.head(BRANCH)).commit == saved
    assert await workspace.changed("shop", base, saved) == ["app.py"]
    assert await workspace.contains("shop", base, saved)
    assert not await workspace.contains("shop", saved, base)
    blob = await workspace.read("shop", saved, "app.py")
    assert (blob.text(), blob.id) == ("two\n", "f719efd430d52bcfc8566a43b2eb655688d38871")
    assert await workspace.read("shop", saved, "missing.py") is None
    assert await workspace.paths("shop", saved, "docs/") == ["docs/readme.md"]


async def test_reports_of_the_item_do_not_change_the_code_id(workspace):
    code = (await workspace.head(BRANCH)).code
    await work(workspace, {"docs/work-items/SHOP-1/12-review.md": "fine\n"})
    assert (await workspace.head(BRANCH)).code == code
    await work(workspace, {"docs/work-items/SHOP-2/12-review.md": "another item\n"})
    assert (await workspace.head(BRANCH)).code != code


async def test_a_branch_that_somebody_moved_is_a_conflict_and_the_work_is_kept(workspace):
    base = await workspace.base_head(BRANCH)
    theirs = workspace.push("shop", BRANCH.name, {"app.py": "theirs\n"})
    with pytest.raises(Conflict):
        await work(workspace, {"app.py": "ours\n"}, started_at=base, epoch=2)
    assert (await workspace.head(BRANCH)).commit == theirs
    kept = workspace.repository("shop").refs["refs/orchestrator/SHOP-1/2"]
    assert (await workspace.read("shop", kept, "app.py")).text() == "ours\n"


async def test_a_rebase_stands_on_the_new_base_or_names_the_conflict(workspace):
    saved = await work(workspace, {"new.py": "new\n"})
    moved = workspace.push("shop", "main", {"app.py": "two\n"})
    result = await workspace.rebase(BRANCH, expected=saved)
    assert isinstance(result, Rebased)
    assert workspace.repository("shop").snapshot(result.head).parents == (moved,)
    with pytest.raises(Conflict):
        await workspace.rebase(BRANCH, expected=saved)
    mine = await work(workspace, {"app.py": "mine\n"})
    workspace.push("shop", "main", {"app.py": "theirs\n"})
    assert await workspace.rebase(BRANCH, expected=mine) == RebaseConflict(("app.py",))
    assert (await workspace.head(BRANCH)).commit == mine


async def test_uncommitted_work_is_rescued_and_a_discarded_worktree_is_gone(workspace):
    assert await workspace.rescue(BRANCH, "run-1") is None
    tree: Path = await workspace.check_out(BRANCH, await workspace.base_head(BRANCH))
    assert await workspace.rescue(BRANCH, "run-1") is None
    (tree / "app.py").write_text("half\n")
    rescued = await workspace.rescue(BRANCH, "run-1")
    assert workspace.repository("shop").refs["refs/orchestrator/rescue/SHOP-1/run-1"] == rescued
    await workspace.discard(BRANCH)
    await workspace.discard(BRANCH)
    assert not tree.exists()


async def test_a_clean_checkout_is_removed_at_the_end(workspace):
    async with workspace.clean_checkout("shop", await workspace.base_head(BRANCH)) as directory:
        assert (directory / "app.py").read_text() == "one\n"
    assert not directory.exists()


async def test_what_is_not_there_is_rejected(workspace):
    with pytest.raises(Rejected):
        await workspace.read("shop", MISSING, "app.py")
    with pytest.raises(Rejected):
        await workspace.base_head(Branch("bank", "feature/x", "main", WorkItemId("BANK-1")))
    with pytest.raises(Rejected):
        await MemoryForge(workspace).pull_request("shop", 404)


@pytest.mark.parametrize(("method", "parents"), [("merge", 2), ("squash", 1), ("rebase", 1)])
async def test_each_method_of_merging_gives_the_base_the_tested_tree_once(workspace, method, parents):
    forge = MemoryForge(workspace)
    head = await work(workspace, {"app.py": "two\n"})
    pull = await pulled(forge)
    assert (
        await forge.ensure_pull_request("shop", branch=BRANCH.name, base="main", title="C", body="") == pull
    )
    merge = {"expected_head": head, "method": method, "message": "Merge"}
    merged = await forge.merge("shop", pull.number, **merge)
    assert await forge.merge("shop", pull.number, **merge) == merged == await workspace.base_head(BRANCH)
    assert await workspace.tree_of("shop", merged) == await workspace.tree_of("shop", head)
    assert len(workspace.repository("shop").snapshot(merged).parents) == parents
    await forge.close("shop", pull.number)
    assert (await forge.pull_request("shop", pull.number)).state is PullState.MERGED


async def test_what_moved_or_conflicts_or_is_closed_is_not_merged(workspace):
    forge = MemoryForge(workspace)
    tested = await work(workspace, {"app.py": "two\n"})
    pull = await pulled(forge)
    merge = {"method": "merge", "message": "Merge"}
    newer = workspace.push("shop", BRANCH.name, {"app.py": "three\n"})
    with pytest.raises(Conflict):
        await forge.merge("shop", pull.number, expected_head=tested, **merge)
    workspace.push("shop", "main", {"app.py": "theirs\n"})
    with pytest.raises(Rejected):
        await forge.merge("shop", pull.number, expected_head=newer, **merge)
    await forge.close("shop", pull.number)
    with pytest.raises(Rejected):
        await forge.merge("shop", pull.number, expected_head=newer, **merge)
    again = await pulled(forge)
    assert again.number != pull.number


async def test_checks_and_approvals_are_for_exactly_one_commit(workspace):
    forge = MemoryForge(workspace)
    head = await work(workspace, {"app.py": "two\n"})
    pull = await pulled(forge)
    assert (await forge.checks("shop", head)).state is CheckState.NONE
    forge.report("shop", head, Checks(CheckState.SUCCESS))
    forge.approve("shop", pull.number, head=head, who="ada")
    forge.approve("shop", pull.number, head=head, who="ada")
    assert await forge.approvals("shop", pull.number, head) == ["ada"]
    newer = workspace.push("shop", BRANCH.name, {"app.py": "three\n"})
    assert (await forge.checks("shop", newer)).state is CheckState.NONE
    assert await forge.approvals("shop", pull.number, newer) == []


async def test_an_outage_is_raised_until_it_is_over(workspace):
    forge, tracker = MemoryForge(workspace), MemoryTracker(ManualClock(START))
    for neighbour in (workspace, forge, tracker):
        neighbour.outage = Unavailable("down")
    with pytest.raises(Unavailable):
        await workspace.head(BRANCH)
    with pytest.raises(Unavailable):
        await forge.pull_request("shop", 1)
    with pytest.raises(Unavailable):
        await tracker.ticket("SHOP-1")
    workspace.outage = None
    assert not (await workspace.head(BRANCH)).exists
