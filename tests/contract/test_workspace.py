"""What every workspace promises; a new adapter is one more row in `workspaces.ROWS`."""

import pytest

from orchestrator.errors import Conflict, Rejected
from orchestrator.pipeline.ids import Commit, WorkItemId
from orchestrator.ports.workspace import Branch, RebaseConflict, Rebased
from tests.contract.workspaces import BASE, HEAD, ROWS
from tests.unit.forges.repositories import BRANCH

MISSING = Commit("1" * 40)


@pytest.fixture(params=ROWS, ids=lambda row: row.__name__)
async def bench(request, tmp_path):
    return await request.param(tmp_path)


async def test_a_branch_that_was_not_cut_stands_at_its_base(bench):
    head = await bench.workspace.head(BRANCH)
    assert (head.commit, head.exists) == (await bench.base(), False)


async def test_saved_work_is_the_head_of_the_branch_and_carries_its_origin(bench):
    saved = await bench.work({"app.py": "two\n", "new/file.py": "new\n", ".task-dev.md": "do it\n"})
    head = await bench.workspace.head(BRANCH)
    assert (head.commit, head.exists) == (saved, True)
    assert bench.at_forge(HEAD) == saved
    assert bench.at_forge("refs/orchestrator/SHOP-1/1") == saved
    assert await bench.workspace.changed("shop", await bench.base(), saved) == ["app.py", "new/file.py"]
    assert bench.origin(saved) == [
        "developer <developer@localhost>", "Count", "", "Work-Item: SHOP-1", "Epoch: 1",
    ]  # fmt: skip


async def test_saving_twice_is_saving_once(bench):
    base = await bench.base()
    saved = await bench.work({"app.py": "two\n"})
    assert await bench.save(base) == saved
    assert bench.parents(saved) == [base]


async def test_saving_nothing_is_the_commit_where_it_began(bench):
    base = await bench.base()
    assert await bench.work({}) == base
    head = await bench.workspace.head(BRANCH)
    assert (head.commit, head.exists) == (base, True)


async def test_work_that_does_not_contain_where_it_began_is_rejected(bench):
    await bench.workspace.check_out(BRANCH, await bench.base())
    elsewhere = bench.pushed({"app.py": "two\n"}, "feature/SHOP-2-other")
    await bench.workspace.refresh("shop")
    with pytest.raises(Rejected, match="history was rewritten"):
        await bench.save(elsewhere)
    assert bench.at_forge(HEAD) == ""


async def test_a_branch_that_somebody_moved_is_a_conflict_and_the_work_is_kept(bench):
    base = await bench.base()
    tree = await bench.workspace.check_out(BRANCH, base)
    (tree / "app.py").write_text("ours\n")
    theirs = bench.pushed({"app.py": "theirs\n"}, BRANCH.name)
    with pytest.raises(Conflict, match="refs/orchestrator/SHOP-1/2"):
        await bench.save(base, epoch=2)
    assert bench.at_forge(HEAD) == theirs
    assert await bench.text(bench.at_forge("refs/orchestrator/SHOP-1/2"), "app.py") == "ours\n"


async def test_what_others_pushed_is_seen_after_a_refresh(bench):
    before = await bench.base()
    pushed = bench.pushed({"app.py": "two\n"})
    cut = bench.pushed({"new.py": "new\n"}, BRANCH.name)
    assert await bench.base() == before
    assert not (await bench.workspace.head(BRANCH)).exists
    await bench.workspace.refresh("shop")
    assert await bench.base() == pushed
    assert (await bench.workspace.head(BRANCH)).commit == cut
    assert await bench.workspace.contains("shop", before, pushed)
    assert not await bench.workspace.contains("shop", pushed, before)


async def test_a_checkout_holds_the_commit_and_nothing_that_the_last_run_left(bench):
    base = await bench.base()
    tree = await bench.workspace.check_out(BRANCH, base)
    for name in ("left.py", ".task-dev.md", "app.py", "docs/left.md"):
        (tree / name).write_text("left\n")
    assert await bench.workspace.check_out(BRANCH, base) == tree == await bench.workspace.location(BRANCH)
    assert sorted(path.name for path in tree.iterdir() if path.name != ".git") == ["app.py", "docs"]
    assert (tree / "app.py").read_text() == "one\n"
    assert [path.name for path in (tree / "docs").iterdir()] == ["readme.md"]


async def test_reports_of_the_item_do_not_change_the_code_id(bench):
    first = await bench.work({"app.py": "two\n"})
    code = await bench.workspace.code_id(BRANCH, first)
    report = await bench.work({"docs/work-items/SHOP-1/12-review.md": "fine\n"})
    assert report != first
    assert (await bench.workspace.head(BRANCH)).code == code
    other = await bench.work({"docs/work-items/SHOP-2/12-review.md": "another item\n"})
    assert await bench.workspace.code_id(BRANCH, other) != code


async def test_files_of_a_commit_are_read_with_their_object_ids(bench):
    saved = await bench.work({"docs/work-items/SHOP-1/01-brd.md": "what\n"})
    blob = await bench.workspace.read("shop", saved, "docs/work-items/SHOP-1/01-brd.md")
    assert blob.text() == "what\n"
    assert blob.id == "f510eb21780143dc3ad1f6c0d033f05e623885b4"
    assert await bench.workspace.read("shop", saved, "docs/work-items/SHOP-1/02-trz.md") is None
    assert await bench.workspace.paths("shop", saved, "docs/") == [
        "docs/readme.md",
        "docs/work-items/SHOP-1/01-brd.md",
    ]
    assert await bench.workspace.paths("shop", saved, "") == [
        "app.py",
        "docs/readme.md",
        "docs/work-items/SHOP-1/01-brd.md",
    ]
    assert await bench.workspace.paths("shop", saved, "doc") == []
    assert await bench.workspace.paths("shop", saved, "app.py") == ["app.py"]
    assert await bench.workspace.tree_of("shop", saved) == "bd6e55429492ca227c19fcf091d28cc31131e570"


async def test_a_file_that_was_deleted_is_a_change_and_is_not_there(bench):
    base = await bench.base()
    tree = await bench.workspace.check_out(BRANCH, base)
    (tree / "app.py").unlink()
    saved = await bench.save(base)
    assert await bench.workspace.changed("shop", base, saved) == ["app.py"]
    assert await bench.workspace.read("shop", saved, "app.py") is None


DOCUMENTS = "docs/work-items/SHOP-1"


async def test_of_a_writer_of_documents_only_those_are_taken(bench):
    base = await bench.base()
    tree = await bench.workspace.check_out(BRANCH, base)
    for name in (f"{DOCUMENTS}/12-review.md", "tried.py", "docs/tried.md"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("new\n")
    saved = await bench.save(base, within=DOCUMENTS)
    assert await bench.workspace.changed("shop", base, saved) == [f"{DOCUMENTS}/12-review.md"]


@pytest.mark.parametrize("stray", ["app.py", "docs/readme.md"])
async def test_a_writer_of_documents_that_changed_the_code_is_refused(bench, stray):
    base = await bench.base()
    tree = await bench.workspace.check_out(BRANCH, base)
    (tree / DOCUMENTS).mkdir(parents=True)
    (tree / DOCUMENTS / "12-review.md").write_text("fine, now\n")
    (tree / stray).write_text("mended\n")
    with pytest.raises(Rejected, match=f"{stray} changed, and only {DOCUMENTS} may be"):
        await bench.save(base, within=DOCUMENTS)
    assert not bench.at_forge(HEAD)


async def test_a_folder_is_no_file(bench):
    with pytest.raises(Rejected):
        await bench.workspace.read("shop", await bench.base(), "docs")


async def test_what_is_not_there_is_rejected(bench):
    base = await bench.base()
    with pytest.raises(Rejected):
        await bench.workspace.read("shop", MISSING, "app.py")
    with pytest.raises(Rejected):
        await bench.workspace.check_out(BRANCH, MISSING)
    with pytest.raises(Rejected):
        await bench.workspace.paths("shop", MISSING, "docs")
    with pytest.raises(Rejected):
        await bench.workspace.changed("shop", base, MISSING)
    with pytest.raises(Rejected):
        await bench.workspace.contains("shop", base, MISSING)
    with pytest.raises(Rejected):
        await bench.workspace.contains("shop", MISSING, base)
    with pytest.raises(Rejected):
        await bench.workspace.tree_of("shop", MISSING)
    with pytest.raises(Rejected):
        async with bench.workspace.clean_checkout("shop", MISSING):
            raise AssertionError("there is nothing to check out")


async def test_a_project_that_is_not_registered_is_rejected(bench):
    elsewhere = Branch("bank", "feature/x", "main", WorkItemId("BANK-1"))
    with pytest.raises(Rejected):
        await bench.workspace.base_head(elsewhere)
    with pytest.raises(Rejected):
        await bench.workspace.head(elsewhere)
    with pytest.raises(Rejected):
        await bench.workspace.refresh("bank")


async def test_a_rebased_branch_stands_on_the_new_base_and_the_base_is_untouched(bench):
    saved = await bench.work({"new.py": "new\n"})
    moved = bench.pushed({"app.py": "two\n"})
    result = await bench.workspace.rebase(BRANCH, expected=saved)
    assert isinstance(result, Rebased)
    assert bench.parents(result.head) == [moved]
    assert bench.at_forge(HEAD) == result.head
    assert bench.at_forge(BASE) == moved
    assert (await bench.workspace.head(BRANCH)).commit == result.head
    assert await bench.text(result.head, "app.py") == "two\n"
    assert await bench.workspace.rebase(BRANCH, expected=result.head) == result


async def test_a_branch_that_does_not_apply_stays_where_it_was(bench):
    saved = await bench.work({"app.py": "ours\n"})
    bench.pushed({"app.py": "theirs\n"})
    assert await bench.workspace.rebase(BRANCH, expected=saved) == RebaseConflict(("app.py",))
    assert bench.at_forge(HEAD) == saved


async def test_a_rebase_of_a_branch_that_moved_is_a_conflict(bench):
    saved = await bench.work({"app.py": "ours\n"})
    newer = await bench.work({"app.py": "ours again\n"})
    with pytest.raises(Conflict):
        await bench.workspace.rebase(BRANCH, expected=saved)
    assert bench.at_forge(HEAD) == newer
    theirs = bench.pushed({"app.py": "theirs\n"}, BRANCH.name)
    with pytest.raises(Conflict):
        await bench.workspace.rebase(BRANCH, expected=newer)
    assert bench.at_forge(HEAD) == theirs


async def test_two_clean_checkouts_of_one_commit_do_not_meet(bench):
    base = await bench.base()
    async with (
        bench.workspace.clean_checkout("shop", base) as one,
        bench.workspace.clean_checkout("shop", base) as two,
    ):
        (one / "app.py").write_text("dirty\n")
        assert (two / "app.py").read_text() == "one\n"
    assert not one.exists()
    assert not two.exists()


async def test_a_clean_checkout_is_removed_after_an_error(bench):
    with pytest.raises(ZeroDivisionError):
        async with bench.workspace.clean_checkout("shop", await bench.base()) as directory:
            raise ZeroDivisionError
    assert not directory.exists()


async def test_uncommitted_work_is_rescued_and_the_worktree_stays_as_it_is(bench):
    base = await bench.base()
    assert await bench.workspace.rescue(BRANCH, "run-1") is None
    tree = await bench.workspace.check_out(BRANCH, base)
    assert await bench.workspace.rescue(BRANCH, "run-1") is None
    (tree / "app.py").write_text("half\n")
    (tree / "new.py").write_text("half\n")
    rescued = await bench.workspace.rescue(BRANCH, "run-1")
    assert bench.at_forge("refs/orchestrator/rescue/SHOP-1/run-1") == rescued
    assert await bench.workspace.changed("shop", base, rescued) == ["app.py", "new.py"]
    assert [(tree / name).read_text() for name in ("app.py", "new.py")] == ["half\n", "half\n"]
    assert bench.at_forge(HEAD) == ""
    await bench.save(base)
    assert await bench.workspace.rescue(BRANCH, "run-2") is None


async def test_a_discarded_worktree_is_gone(bench):
    tree = await bench.workspace.check_out(BRANCH, await bench.base())
    await bench.workspace.discard(BRANCH)
    await bench.workspace.discard(BRANCH)
    assert not tree.exists()
    with pytest.raises(Rejected, match="no worktree"):
        await bench.save(await bench.base())
    assert await bench.workspace.check_out(BRANCH, await bench.base()) == tree


async def test_what_an_agent_does_in_a_lent_clone_is_saved_as_its_work(bench, tmp_path):
    base = await bench.base()
    tree = await bench.workspace.check_out(BRANCH, base)
    report = "docs/work-items/SHOP-1/01-brd.md"
    (tree / report).parent.mkdir(parents=True)
    (tree / report).write_text("what\n")
    (tree / ".task-dev.md").write_text("do it\n")
    lent = tmp_path / "lent" / "clone"
    await bench.workspace.lend(BRANCH, lent)
    assert [(lent / name).read_text() for name in ("app.py", report, ".task-dev.md")] == [
        "one\n", "what\n", "do it\n",
    ]  # fmt: skip
    (lent / "app.py").write_text("two\n")
    (lent / "new").mkdir()
    (lent / "new" / "file.py").write_text("new\n")
    (lent / "docs" / "readme.md").unlink()
    await bench.workspace.take_back(BRANCH, lent)
    saved = await bench.save(base)
    assert await bench.workspace.changed("shop", base, saved) == [
        "app.py", "docs/readme.md", report, "new/file.py",
    ]  # fmt: skip
    assert bench.at_forge(HEAD) == saved


async def test_a_clone_that_was_lent_before_stays_as_it_is(bench, tmp_path):
    await bench.workspace.check_out(BRANCH, await bench.base())
    await bench.workspace.lend(BRANCH, tmp_path / "lent")
    (tmp_path / "lent" / "app.py").write_text("half\n")
    await bench.workspace.lend(BRANCH, tmp_path / "lent")
    assert (tmp_path / "lent" / "app.py").read_text() == "half\n"


async def test_taking_back_twice_is_taking_back_once_also_after_a_save(bench, tmp_path):
    base = await bench.base()
    await bench.workspace.check_out(BRANCH, base)
    await bench.workspace.lend(BRANCH, tmp_path / "lent")
    (tmp_path / "lent" / "app.py").write_text("two\n")
    await bench.workspace.take_back(BRANCH, tmp_path / "lent")
    await bench.workspace.take_back(BRANCH, tmp_path / "lent")
    saved = await bench.save(base)
    await bench.workspace.take_back(BRANCH, tmp_path / "lent")
    assert await bench.save(base) == saved
    assert bench.parents(saved) == [base]


async def test_nothing_is_lent_or_taken_back_without_a_worktree(bench, tmp_path):
    with pytest.raises(Rejected, match="no worktree"):
        await bench.workspace.lend(BRANCH, tmp_path / "lent")
    with pytest.raises(Rejected, match="no worktree"):
        await bench.workspace.take_back(BRANCH, tmp_path / "lent")
