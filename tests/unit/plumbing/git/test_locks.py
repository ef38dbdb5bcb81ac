import asyncio
import os
from asyncio.subprocess import PIPE
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from orchestrator.errors import Rejected
from orchestrator.plumbing.git import Author, worktrees
from orchestrator.plumbing.git.locks import remove_stale_locks

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC).timestamp()


@pytest.fixture
async def worktree(git, repo, tmp_path):
    repo.commit({"a": "1"})
    repo.check_out(tmp_path / "wt", "work", start="main")
    return tmp_path / "wt"


def locked(path, *, since=LONG_AGO):
    path.touch()
    os.utime(path, (since, since))
    return path


@asynccontextmanager
async def waiting_git(place):
    """A git process that works in a place until the end of the block."""
    process = await asyncio.create_subprocess_exec(
        "git", "cat-file", "--batch", cwd=place, stdin=PIPE, stdout=PIPE
    )
    try:
        yield
    finally:
        process.kill()
        await process.communicate()


async def test_locks_of_the_dead_are_removed(git, repo, worktree):
    own = worktrees.git_directory(worktree)
    locks = {
        locked(own / "index.lock"),
        locked(own / "HEAD.lock"),
        locked(repo.path / "packed-refs.lock"),
        locked(repo.path / "refs" / "heads" / "work.lock"),
    }
    assert set(await remove_stale_locks(worktree)) == locks
    assert not any(lock.exists() for lock in locks)
    (worktree / "a").write_text("2")
    assert await worktrees.commit_all(git, worktree, "m", author=Author("a", "a@example.invalid"))


async def test_a_lock_that_is_younger_than_we_are_stays(worktree):
    lock = locked(worktrees.git_directory(worktree) / "index.lock", since=datetime.now(UTC).timestamp())
    assert await remove_stale_locks(worktree) == ()
    assert lock.exists()


async def test_a_lock_with_a_living_git_process_stays(repo, worktree):
    own = locked(worktrees.git_directory(worktree) / "index.lock")
    shared = locked(repo.path / "packed-refs.lock")
    async with waiting_git(worktree):
        assert await remove_stale_locks(worktree) == ()
    assert set(await remove_stale_locks(worktree)) == {own, shared}


async def test_a_process_in_another_worktree_keeps_only_shared_locks(git, repo, worktree, tmp_path):
    repo.check_out(tmp_path / "other", "other", start="main")
    own = locked(worktrees.git_directory(worktree) / "index.lock")
    shared = locked(repo.path / "packed-refs.lock")
    async with waiting_git(tmp_path / "other"):
        assert await remove_stale_locks(worktree) == (own,)
    assert shared.exists()


async def test_no_repository_is_rejected(tmp_path):
    with pytest.raises(Rejected):
        await remove_stale_locks(tmp_path)
