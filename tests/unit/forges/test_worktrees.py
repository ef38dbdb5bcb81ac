"""What the workspace on mirrors does with an agent that uses git itself, and what git sees of its work."""

import pytest

from orchestrator.errors import Rejected
from tests.contract.workspaces import HEAD, mirror
from tests.unit.forges.repositories import BRANCH, commit, git


@pytest.fixture
async def bench(tmp_path):
    return await mirror(tmp_path)


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
    assert bench.at_forge(HEAD) == ""


async def test_a_checkout_is_detached_and_leaves_an_agents_own_branch_alone(bench):
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


async def test_object_ids_are_those_of_the_forge(bench):
    saved = await bench.work({"docs/work-items/SHOP-1/01-brd.md": "what\n"})
    blob = await bench.workspace.read("shop", saved, "docs/work-items/SHOP-1/01-brd.md")
    assert blob.id == git(bench.forge, "rev-parse", f"{saved}:docs/work-items/SHOP-1/01-brd.md")
    assert await bench.workspace.tree_of("shop", saved) == git(bench.forge, "rev-parse", f"{saved}^{{tree}}")


async def test_a_rescue_leaves_the_index_of_the_worktree_alone(bench):
    tree = await bench.workspace.check_out(BRANCH, await bench.base())
    (tree / "app.py").write_text("half\n")
    (tree / "new.py").write_text("half\n")
    assert await bench.workspace.rescue(BRANCH, "run-1")
    assert git(tree, "status", "--porcelain") == "M app.py\n?? new.py"


async def test_a_commit_that_was_never_pushed_is_rescued(bench):
    tree = await bench.workspace.check_out(BRANCH, await bench.base())
    own = commit(tree, {"app.py": "mine\n"})
    assert await bench.workspace.rescue(BRANCH, "run-1") == own


async def test_a_filter_that_an_agent_wrote_into_the_mirror_is_not_run_by_later_checkouts(bench, tmp_path):
    base, trap = await bench.base(), tmp_path / "trap"
    tree = await bench.workspace.check_out(BRANCH, base)
    (tree / ".gitattributes").write_text("* filter=evil merge=evil\n")
    (tree / "app.py").write_text("two\n")
    for name in ("filter.evil.clean", "filter.evil.smudge", "merge.evil.driver"):
        git(tree, "config", name, f"touch {trap}; cat")
    git(tree, "config", "core.fsmonitor", f"touch {trap}")
    saved = await bench.save(base)
    async with bench.workspace.clean_checkout("shop", saved) as checkout:
        assert (checkout / "app.py").read_text() == "two\n"
    assert not trap.exists()
    assert git(tree, "config", "remote.origin.url") == str(bench.forge)
