import os
from pathlib import Path

import pytest

from orchestrator.errors import Rejected, Unavailable
from orchestrator.plumbing.git import Author
from orchestrator.plumbing.git import worktrees as w

RUNNER = Author("test-runner", "test-runner@example.invalid")


@pytest.fixture
def head(repo):
    return repo.commit({"a": "1\n", ".gitignore": "build/\n", "d/b": "1\n"})


@pytest.fixture
def place(tmp_path):
    return tmp_path / "wt" / w.worktree_directory_name("feature/ORCH-7-x")


@pytest.fixture
def worktree(repo, head, place):
    return repo.check_out(place, "feature/ORCH-7-x", start="main")


def worktrees_of(repo):
    """Where the repository's worktrees are, itself first."""
    lines = repo.run("worktree", "list", "--porcelain").splitlines()
    return [Path(line.removeprefix("worktree ")) for line in lines if line.startswith("worktree ")]


def test_the_directory_is_named_after_the_branch():
    assert w.worktree_directory_name("feature/ORCH-7/x") == "feature_ORCH-7_x"


async def test_a_new_worktree_is_clean(git, head, worktree):
    assert await w.status(git, worktree) == w.Status(head)


async def test_removing_twice_is_fine_and_the_branch_stays(git, repo, worktree, head):
    (worktree / "a").write_text("changed")
    await w.remove(git, repo.path, worktree)
    await w.remove(git, repo.path, worktree)
    assert not worktree.exists()
    assert len(worktrees_of(repo)) == 1
    assert repo.run("rev-parse", "refs/heads/feature/ORCH-7-x") == head


async def test_a_locked_worktree_is_removed_and_others_stay(git, repo, worktree):
    other = repo.check_out(worktree.with_name("other"), "other", start="main")
    for place in (worktree, other):
        repo.run("worktree", "lock", "--reason", "initializing", str(place))
    await w.remove(git, repo.path, worktree)
    assert [place.name for place in worktrees_of(repo)[1:]] == ["other"]
    assert (other / "a").exists()


async def test_what_cannot_be_deleted_is_said(git, repo, head, tmp_path):
    with pytest.raises(Unavailable, match=r"cannot use .*File name too long"):
        await w.remove(git, repo.path, tmp_path / ("n" * 300))


async def test_everything_but_task_files_is_committed(git, repo, worktree):
    (worktree / "a").unlink()
    (worktree / "new ü").write_text("x")
    (worktree / "build").mkdir()
    (worktree / "build" / "out").write_text("ignored")
    (worktree / ".task-dev.md").write_text("do it")
    (worktree / "d" / ".task-dev.md").write_text("below the root it is a file like any other")
    repo.run("add", ".task-dev.md", cwd=worktree)
    sha = await w.commit_all(git, worktree, "test(ORCH-7): report\n\nBody", author=RUNNER)
    assert sha == repo.run("rev-parse", "feature/ORCH-7-x")
    shown = repo.run(
        "-c", "core.quotePath=false", "show", "--name-status", "--format=%an <%ae> %cn %B", str(sha)
    )
    assert shown.splitlines() == [
        "test-runner <test-runner@example.invalid> test-runner test(ORCH-7): report",
        "",
        "Body",
        "",
        "",
        "D\ta",
        "A\td/.task-dev.md",
        "A\tnew ü",
    ]
    assert await w.commit_all(git, worktree, "again", author=RUNNER) is None


async def test_the_first_commit_of_a_repository_is_made(git, repo, tmp_path):
    repo.run("init", "-q", "-b", "main", str(tmp_path / "fresh"))
    assert await w.commit_all(git, tmp_path / "fresh", "m", author=RUNNER) is None
    (tmp_path / "fresh" / "a").write_text("1")
    assert await w.commit_all(git, tmp_path / "fresh", "m", author=RUNNER) is not None


async def test_status_tells_kinds_of_change_apart(git, repo, worktree, head):
    (worktree / "a").write_text("2\n")
    (worktree / "n e w").write_text("x")
    found = await w.status(git, worktree)
    assert (found.changed, found.untracked, found.conflicted, found.clean) == (("a",), ("n e w",), (), False)
    side = repo.commit({"a": "3\n"}, "refs/heads/side", head)
    repo.run("commit", "-qam", "x", cwd=worktree)
    git_result = await git.run("merge", side, cwd=worktree, env=RUNNER.environment(), check=False)
    assert git_result.returncode == 1
    assert (await w.status(git, worktree)).conflicted == ("a",)


async def test_reset_ends_a_rebase(git, repo, worktree, head):
    repo.commit({"a": "3\n"}, parent=head)
    (worktree / "a").write_text("2\n")
    mine = await w.commit_all(git, worktree, "m", author=RUNNER)
    await git.run("rebase", "main", cwd=worktree, env=RUNNER.environment(), check=False)
    assert (w.git_directory(worktree) / "rebase-merge").exists()
    await w.reset_hard(git, worktree, str(mine))
    assert await w.status(git, worktree) == w.Status(mine)
    assert not (w.git_directory(worktree) / "rebase-merge").exists()


async def test_reset_goes_to_a_commit_and_refuses_an_unknown_one(git, repo, worktree, head):
    new = repo.commit({"a": "3\n"}, parent=head)
    await w.reset_hard(git, worktree, new)
    assert (worktree / "a").read_text() == "3\n"
    for target in ("absent", "--soft"):
        with pytest.raises(Rejected):
            await w.reset_hard(git, worktree, target)
    assert (await w.status(git, worktree)).head == new


async def test_clean_deletes_what_is_untracked(git, repo, worktree):
    (worktree / "nested").mkdir()
    repo.run("init", "-q", str(worktree / "nested"))
    (worktree / "build").mkdir()
    (worktree / "build" / "out").write_text("ignored")
    await w.clean(git, worktree)
    assert sorted(os.listdir(worktree)) == [".git", ".gitignore", "a", "build", "d"]


def test_a_plain_directory_has_no_git_directory(tmp_path):
    with pytest.raises(Rejected, match="no worktree and no repository"):
        w.git_directory(tmp_path)
