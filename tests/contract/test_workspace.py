"""What every workspace promises; a new adapter is one more row in ROWS."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.errors import Conflict, Rejected
from orchestrator.forges.mirror import Remote
from orchestrator.forges.worktrees import MirrorWorkspace, Places
from orchestrator.pipeline.ids import Commit, Epoch
from orchestrator.plumbing.git import Git
from orchestrator.ports.workspace import Author, RebaseConflict, Rebased, Workspace
from tests.unit.forges.repositories import BRANCH, commit, git, push, ref, working_repository

AUTHOR = Author("developer", "developer@localhost")


@dataclass
class Bench:
    """A workspace whose project is at ``forge``, and a person's clone of it."""

    workspace: Workspace
    forge: Path
    person: Path

    async def base(self) -> Commit:
        return await self.workspace.base_head(BRANCH)

    async def save(self, started_at: Commit, epoch: int = 1) -> Commit:
        return await self.workspace.save(
            BRANCH, author=AUTHOR, message="Count", started_at=started_at, epoch=Epoch(epoch)
        )

    async def work(self, files: dict[str, str]) -> Commit:
        """Check out where the branch stands, write files, save."""
        head = await self.workspace.head(BRANCH)
        tree = await self.workspace.check_out(BRANCH, head.commit)
        for name, text in files.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)
        return await self.save(head.commit)


async def mirror(tmp_path: Path) -> Bench:
    person = working_repository(tmp_path / "person")
    forge = tmp_path / "forge.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(person), str(forge))
    workspace = MirrorWorkspace(Places.below(tmp_path / "home"), lambda _: Remote(str(forge)), Git())
    await workspace.register("shop", "main")
    return Bench(workspace, forge, person)


ROWS: list[Callable] = [mirror]


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
    assert ref(bench.forge, f"refs/heads/{BRANCH.name}") == saved
    assert ref(bench.forge, "refs/orchestrator/SHOP-1/1") == saved
    assert await bench.workspace.changed("shop", await bench.base(), saved) == ["app.py", "new/file.py"]
    text = git(bench.forge, "log", "-1", "--format=%an %ae%n%B", saved).splitlines()
    assert text == ["developer developer@localhost", "Count", "", "Work-Item: SHOP-1", "Epoch: 1"]


async def test_saving_twice_is_saving_once(bench):
    base = await bench.base()
    saved = await bench.work({"app.py": "two\n"})
    assert await bench.save(base) == saved
    assert git(bench.forge, "rev-list", "--count", f"{base}..{saved}") == "1"


async def test_an_agents_own_commits_count_as_work(bench):
    base = await bench.base()
    tree = await bench.workspace.check_out(BRANCH, base)
    own = commit(tree, {"app.py": "mine\n"}, "by the agent")
    (tree / "late.py").write_text("late\n")
    saved = await bench.save(base)
    assert git(bench.forge, "rev-list", f"{base}..{BRANCH.name}").split() == [saved, own]


async def test_rewritten_history_is_rejected(bench):
    base = await bench.base()
    tree = await bench.workspace.check_out(BRANCH, base)
    git(tree, "commit", "--quiet", "--amend", "-m", "another beginning")
    with pytest.raises(Rejected, match="history was rewritten"):
        await bench.save(base)
    assert ref(bench.forge, f"refs/heads/{BRANCH.name}") == ""


async def test_a_branch_that_somebody_moved_is_a_conflict_and_the_work_is_kept(bench):
    base = await bench.base()
    tree = await bench.workspace.check_out(BRANCH, base)
    (tree / "app.py").write_text("ours\n")
    theirs = commit(bench.person, {"app.py": "theirs\n"})
    push(bench.person, bench.forge, f"HEAD:refs/heads/{BRANCH.name}")
    with pytest.raises(Conflict, match="refs/orchestrator/SHOP-1/2"):
        await bench.save(base, epoch=2)
    assert ref(bench.forge, f"refs/heads/{BRANCH.name}") == theirs
    assert git(bench.forge, "show", "refs/orchestrator/SHOP-1/2:app.py") == "ours"


async def test_what_others_pushed_is_seen_after_a_refresh(bench):
    before = await bench.base()
    pushed = commit(bench.person, {"app.py": "two\n"})
    push(bench.person, bench.forge, "main")
    assert await bench.base() == before
    await bench.workspace.refresh("shop")
    assert await bench.base() == pushed
    assert await bench.workspace.contains("shop", before, pushed)
    assert not await bench.workspace.contains("shop", pushed, before)


async def test_a_checkout_is_clean_and_detached_whatever_the_last_run_left(bench):
    base = await bench.base()
    tree = await bench.workspace.check_out(BRANCH, base)
    git(tree, "checkout", "--quiet", "-b", "agents-own")
    own = commit(tree, {"app.py": "mine\n"})
    for name in ("left.py", ".task-dev.md", "app.py"):
        (tree / name).write_text("left\n")
    assert await bench.workspace.check_out(BRANCH, base) == tree == await bench.workspace.location(BRANCH)
    assert sorted(path.name for path in tree.iterdir()) == [".git", "app.py", "docs"]
    assert (tree / "app.py").read_text() == "one\n"
    assert git(tree, "rev-parse", "HEAD") == base
    assert git(tree, "branch", "--show-current") == ""
    assert git(tree, "rev-parse", "agents-own") == own


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
    assert blob.id == git(bench.forge, "rev-parse", f"{saved}:docs/work-items/SHOP-1/01-brd.md")
    assert await bench.workspace.read("shop", saved, "docs/work-items/SHOP-1/02-trz.md") is None
    assert await bench.workspace.paths("shop", saved, "docs/") == [
        "docs/readme.md",
        "docs/work-items/SHOP-1/01-brd.md",
    ]
    assert await bench.workspace.tree_of("shop", saved) == git(bench.forge, "rev-parse", f"{saved}^{{tree}}")


async def test_reading_a_commit_that_is_not_there_is_rejected(bench):
    missing = Commit("1" * 40)
    with pytest.raises(Rejected):
        await bench.workspace.read("shop", missing, "app.py")
    with pytest.raises(Rejected):
        await bench.workspace.check_out(BRANCH, missing)
    with pytest.raises(Rejected):
        await bench.workspace.base_head(type(BRANCH)("bank", "feature/x", "main", BRANCH.item))


async def test_a_rebased_branch_stands_on_the_new_base_and_the_base_is_untouched(bench):
    saved = await bench.work({"new.py": "new\n"})
    moved = commit(bench.person, {"app.py": "two\n"})
    push(bench.person, bench.forge, "main")
    result = await bench.workspace.rebase(BRANCH, expected=saved)
    assert isinstance(result, Rebased)
    assert git(bench.forge, "rev-parse", f"{BRANCH.name}~1") == moved
    assert ref(bench.forge, "refs/heads/main") == moved
    assert (await bench.workspace.head(BRANCH)).commit == result.head
    assert await bench.workspace.rebase(BRANCH, expected=result.head) == result


async def test_a_branch_that_does_not_apply_stays_where_it_was(bench):
    saved = await bench.work({"app.py": "ours\n"})
    commit(bench.person, {"app.py": "theirs\n"})
    push(bench.person, bench.forge, "main")
    assert await bench.workspace.rebase(BRANCH, expected=saved) == RebaseConflict(("app.py",))
    assert ref(bench.forge, f"refs/heads/{BRANCH.name}") == saved


async def test_a_rebase_of_a_branch_that_moved_is_a_conflict(bench):
    saved = await bench.work({"app.py": "ours\n"})
    newer = await bench.work({"app.py": "ours again\n"})
    with pytest.raises(Conflict):
        await bench.workspace.rebase(BRANCH, expected=saved)
    assert ref(bench.forge, f"refs/heads/{BRANCH.name}") == newer


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
    assert ref(bench.forge, "refs/orchestrator/rescue/SHOP-1/run-1") == rescued
    assert await bench.workspace.changed("shop", base, rescued) == ["app.py", "new.py"]
    assert git(tree, "status", "--porcelain") == "M app.py\n?? new.py"


async def test_a_commit_that_was_never_pushed_is_rescued(bench):
    tree = await bench.workspace.check_out(BRANCH, await bench.base())
    own = commit(tree, {"app.py": "mine\n"})
    assert await bench.workspace.rescue(BRANCH, "run-1") == own


async def test_a_discarded_worktree_is_gone(bench):
    tree = await bench.workspace.check_out(BRANCH, await bench.base())
    await bench.workspace.discard(BRANCH)
    await bench.workspace.discard(BRANCH)
    assert not tree.exists()
    with pytest.raises(Rejected, match="no worktree"):
        await bench.save(await bench.base())
    assert await bench.workspace.check_out(BRANCH, await bench.base()) == tree
