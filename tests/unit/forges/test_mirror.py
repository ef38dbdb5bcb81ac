"""What the workspace on mirrors does beyond the port: registering, hygiene, several at once."""

import asyncio
import os
from pathlib import Path

import pytest

from orchestrator.errors import BadInput, Conflict, Rejected, Unavailable
from orchestrator.forges.mirror import Remote
from orchestrator.forges.worktrees import MirrorWorkspace, Places
from orchestrator.pipeline.ids import Epoch
from orchestrator.plumbing.git import Git
from orchestrator.ports.workspace import Author, Branch
from tests.unit.forges.repositories import BRANCH, commit, git, push, ref, working_repository

AUTHOR = Author("developer", "developer@localhost")


@pytest.fixture
def person(tmp_path):
    return working_repository(tmp_path / "person")


@pytest.fixture
def upstream(tmp_path, person):
    git(tmp_path, "clone", "--quiet", "--bare", str(person), str(tmp_path / "forge.git"))
    return tmp_path / "forge.git"


@pytest.fixture
def workspace(tmp_path):
    remotes = {"shop": Remote(str(tmp_path / "forge.git"))}
    return MirrorWorkspace(Places.below(tmp_path / "home"), remotes.__getitem__, Git())


@pytest.fixture
async def tree(workspace, upstream):
    await workspace.register("shop", "main")
    return await workspace.check_out(BRANCH, await workspace.base_head(BRANCH))


async def save(workspace, started_at):
    return await workspace.save(BRANCH, author=AUTHOR, message="Count", started_at=started_at, epoch=Epoch(1))


async def test_registering_again_brings_the_mirror_up_to_date(workspace, upstream, person):
    await workspace.register("shop", "main")
    later = commit(person, {"late.py": "late\n"})
    push(person, upstream, "main")
    await workspace.register("shop", "main")
    assert await workspace.base_head(BRANCH) == later


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.rename(path.with_name("away")), "there is no repository at"),
        (lambda path: (path / ".git").rename(path / "git"), "is not a git repository"),
        (lambda path: git(path, "branch", "-m", "trunk"), "has no branch main"),
        (lambda path: (path / "app.py").write_text("x"), "changes that are not committed .app.py."),
    ],
)
async def test_a_repository_that_cannot_be_used_is_named_in_one_line(workspace, person, spoil, message):
    spoil(person)
    with pytest.raises(BadInput, match=message) as refusal:
        await workspace.register("shop", "main", Remote(str(person)))
    assert "\n" not in str(refusal.value)
    with pytest.raises(Rejected, match="not registered"):
        await workspace.refresh("shop")


@pytest.mark.parametrize("name", ["../shop", "a/b", "", ".hidden", "shop..x"])
async def test_a_name_that_leaves_its_folder_is_rejected(workspace, upstream, name):
    with pytest.raises(Rejected):
        await workspace.register(name, "main", Remote(str(upstream)))


@pytest.mark.parametrize("name", ["..", "feature/../../x", "-x", "feature//x", "x.lock", "main"])
async def test_a_branch_that_is_no_items_branch_is_rejected(workspace, tree, name):
    with pytest.raises(Rejected):
        await workspace.location(Branch("shop", name, "main", BRANCH.item))


async def test_a_lock_of_a_dead_git_does_not_stop_the_next_run(workspace, tree):
    lock = Path(git(tree, "rev-parse", "--git-path", "index.lock"))
    lock.touch()
    os.utime(lock, (0, 0))
    assert await workspace.check_out(BRANCH, await workspace.base_head(BRANCH)) == tree
    assert not lock.exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda tree: (tree / ".git").unlink(),
        lambda tree: (tree / ".git").write_text("gitdir: /nowhere\n"),
        lambda tree: Path(git(tree, "rev-parse", "--git-path", "index")).write_bytes(b"DIRC broken"),
        lambda tree: git(tree, "worktree", "lock", str(tree)),
    ],
)
async def test_a_damaged_worktree_is_made_anew(workspace, tree, damage):
    damage(tree)
    (tree / "left.py").write_text("left\n")
    assert await workspace.check_out(BRANCH, await workspace.base_head(BRANCH)) == tree
    assert git(tree, "status", "--porcelain") == ""
    assert (tree / "app.py").read_text() == "one\n"


async def test_a_rebase_that_was_cut_short_is_ended(workspace, tree, person, upstream):
    base = await workspace.base_head(BRANCH)
    (tree / "app.py").write_text("ours\n")
    saved = await save(workspace, base)
    theirs = commit(person, {"app.py": "theirs\n"})
    git(tree, "fetch", "--quiet", str(person), theirs)
    assert "CONFLICT" in git(tree, "rebase", theirs, check=False)
    with pytest.raises(Rejected, match="conflicts are not resolved in"):
        await save(workspace, saved)
    await workspace.check_out(BRANCH, saved)
    assert (tree / "app.py").read_text() == "ours\n"
    assert "rebase" not in git(tree, "status")


async def test_caches_that_git_ignores_stay(workspace, upstream, person):
    commit(person, {".gitignore": ".cache/\n"})
    push(person, upstream, "main")
    await workspace.register("shop", "main")
    base = await workspace.base_head(BRANCH)
    tree = await workspace.check_out(BRANCH, base)
    (tree / ".cache").mkdir()
    (tree / ".cache" / "wheel").write_text("big\n")
    await workspace.check_out(BRANCH, base)
    assert (tree / ".cache" / "wheel").exists()


async def test_task_files_are_never_committed(workspace, tree, upstream):
    base = await workspace.base_head(BRANCH)
    for name in (".task-dev.md", "app.py"):
        (tree / name).write_text("text\n")
    git(tree, "add", "--force", ".task-dev.md")
    saved = await save(workspace, base)
    assert await workspace.changed("shop", base, saved) == ["app.py"]


async def test_an_agent_cannot_send_our_pushes_elsewhere(workspace, tree, upstream, tmp_path):
    git(tmp_path, "init", "--quiet", "--bare", "trap.git")
    git(tree, "config", "remote.origin.url", str(tmp_path / "trap.git"))
    (tree / "app.py").write_text("two\n")
    saved = await save(workspace, await workspace.base_head(BRANCH))
    assert ref(upstream, f"refs/heads/{BRANCH.name}") == saved
    assert ref(tmp_path / "trap.git", "refs/heads/") == ""


async def test_a_branch_that_the_forge_deleted_is_made_again(workspace, tree, upstream):
    base = await workspace.base_head(BRANCH)
    (tree / "app.py").write_text("two\n")
    first = await save(workspace, base)
    git(upstream, "update-ref", "-d", f"refs/heads/{BRANCH.name}")
    (tree / "app.py").write_text("three\n")
    second = await save(workspace, first)
    assert ref(upstream, f"refs/heads/{BRANCH.name}") == second


async def test_a_branch_that_is_gone_is_forgotten_at_the_next_refresh(workspace, tree, upstream):
    base = await workspace.base_head(BRANCH)
    (tree / "app.py").write_text("two\n")
    await save(workspace, base)
    git(upstream, "update-ref", "-d", f"refs/heads/{BRANCH.name}")
    await workspace.refresh("shop")
    assert not (await workspace.head(BRANCH)).exists


async def test_two_items_and_many_checkouts_at_once_do_not_meet(workspace, tree, upstream):
    base = await workspace.base_head(BRANCH)
    other = Branch("shop", "feature/SHOP-2", "main", BRANCH.item)

    async def visit(number):
        async with workspace.clean_checkout("shop", base) as place:
            (place / "mark").write_text(str(number))
            await workspace.refresh("shop")
            return (place / "mark").read_text()

    answers = await asyncio.gather(
        *(visit(number) for number in range(4)),
        workspace.check_out(other, base),
        workspace.check_out(BRANCH, base),
    )
    assert answers[:4] == ["0", "1", "2", "3"]
    assert answers[4] != answers[5] == tree
    assert len(git(workspace_mirror(tree), "worktree", "list").splitlines()) == 3


def workspace_mirror(tree: Path) -> Path:
    return Path(git(tree, "rev-parse", "--path-format=absolute", "--git-common-dir"))


async def test_a_cancelled_checkout_is_removed(workspace, tree, tmp_path):
    base, inside = await workspace.base_head(BRANCH), asyncio.Event()

    async def stay():
        async with workspace.clean_checkout("shop", base):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(stay())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list((tmp_path / "home" / "checkouts" / "shop").iterdir()) == []


async def test_a_rescue_with_the_forge_gone_is_kept_here(workspace, tree, upstream):
    (tree / "app.py").write_text("half\n")
    upstream.rename(upstream.with_name("away.git"))
    with pytest.raises((Rejected, Unavailable)):
        await workspace.rescue(BRANCH, "run-1")
    kept = ref(workspace_mirror(tree), "refs/orchestrator/rescue/SHOP-1/run-1")
    assert git(tree, "show", f"{kept}:app.py") == "half"


async def test_a_stale_run_does_not_move_the_branch_back(workspace, tree, upstream):
    base = await workspace.base_head(BRANCH)
    (tree / "app.py").write_text("two\n")
    newer = await save(workspace, base)
    await workspace.check_out(BRANCH, base)
    (tree / "app.py").write_text("late\n")
    with pytest.raises(Conflict):
        await save(workspace, base)
    assert ref(upstream, f"refs/heads/{BRANCH.name}") == newer
