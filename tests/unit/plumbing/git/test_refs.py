import asyncio

import pytest

from orchestrator.errors import Conflict, Rejected, Unavailable
from orchestrator.plumbing.git import Author, Git, refs, worktrees
from tests.unit.plumbing.git.repositories import Repository

MAIN = "refs/heads/main"
US = Author("orchestrator", "orchestrator@example.invalid")


@pytest.fixture
async def clone(git, repo, tmp_path):
    await refs.clone_bare(git, str(repo.path), tmp_path / "clone.git")
    return Repository(tmp_path / "clone.git")


async def test_a_ref_moves_only_from_what_is_expected(git, repo):
    old, new = repo.commits([{"a": "1"}, {"a": "2"}])
    with pytest.raises(Conflict):
        await refs.update_ref(git, repo.path, MAIN, new=old, old=old)
    await refs.update_ref(git, repo.path, MAIN, new=old, old=new)
    assert repo.refs("refs/heads") == {MAIN: old}


async def test_a_ref_is_made_and_deleted_under_the_same_rule(git, repo):
    head = repo.commit({"a": "1"})
    ref = "refs/orchestrator/ORCH-7/3"
    await refs.update_ref(git, repo.path, ref, new=head, old=None)
    with pytest.raises(Conflict):
        await refs.update_ref(git, repo.path, ref, new=head, old=None)
    with pytest.raises(Conflict):
        await refs.update_ref(git, repo.path, ref, new=None, old="1" * 40)
    await refs.update_ref(git, repo.path, ref, new=None, old=head)
    with pytest.raises(Conflict):
        await refs.update_ref(git, repo.path, ref, new=head, old=head)
    assert repo.refs("refs/orchestrator") == {}


async def test_of_two_writers_one_wins(git, repo):
    base, one, two = repo.commits([{"a": "1"}, {"a": "2"}, {"a": "3"}])
    repo.run("update-ref", "refs/heads/x", base)
    moves = [refs.update_ref(git, repo.path, "refs/heads/x", new=new, old=base) for new in (one, two)]
    results = await asyncio.gather(*moves, return_exceptions=True)
    assert results.count(None) == 1
    # The loser sees the winner's lock or the winner's value, as it happens.
    assert sum(isinstance(result, Conflict | Unavailable) for result in results) == 1


async def test_a_place_that_cannot_be_made_is_unavailable(git, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="cannot use"):
        await refs.init_bare(git, tmp_path / "file" / "r.git")


@pytest.mark.parametrize(
    ("ref", "new", "old"),
    [
        ("main", "1" * 40, None),
        ("refs/heads/x", "1" * 40, None),
        ("refs/heads/x", None, None),
        (MAIN, "-d", None),
    ],
)
async def test_a_write_that_cannot_be_meant_is_rejected(git, repo, ref, new, old):
    repo.commit({"a": "1"})
    with pytest.raises(Rejected):
        await refs.update_ref(git, repo.path, ref, new=new, old=old)


async def test_a_symbolic_ref_does_not_turn_the_write_elsewhere(git, repo):
    old, new = repo.commits([{"a": "1"}, {"a": "2"}])
    repo.run("symbolic-ref", "refs/heads/work", MAIN)
    await refs.update_ref(git, repo.path, "refs/heads/work", new=old, old=new)
    assert repo.refs(MAIN) == {MAIN: new}


async def test_a_clone_has_the_branches_and_no_leftover(git, repo, tmp_path):
    head = repo.commit({"a": "1"})
    (tmp_path / "c.git.partial").mkdir()
    await refs.clone_bare(git, str(repo.path), tmp_path / "c.git")
    assert Repository(tmp_path / "c.git").refs("refs/heads") == {MAIN: head}
    assert not (tmp_path / "c.git.partial").exists()
    with pytest.raises(Conflict):
        await refs.clone_bare(git, str(repo.path), tmp_path / "c.git")


async def test_an_address_with_a_secret_is_rejected(git, repo, tmp_path):
    for address in ("https://token@host/r", "https://u:p@host/r", "ssh://u:p@host/r", "-upload", ""):
        with pytest.raises(Rejected):
            await refs.clone_bare(git, address, tmp_path / "c.git")
    with pytest.raises(Rejected, match=r"does not appear to be a git repository|does not exist"):
        await refs.clone_bare(git, str(tmp_path / "absent"), tmp_path / "c.git")


async def test_a_remote_that_does_not_answer_is_unavailable(git, repo):
    with pytest.raises(Unavailable):
        await refs.remote_refs(git, repo.path, "http://127.0.0.1:1/r.git")


async def test_a_program_as_an_address_does_not_run(git, repo, tmp_path):
    with pytest.raises(Rejected):
        await refs.remote_refs(git, repo.path, f"ext::touch {tmp_path}/ran")
    assert not (tmp_path / "ran").exists()


async def test_a_push_goes_forward_only(git, repo, clone):
    old = repo.commit({"a": "1"})
    await refs.fetch(git, clone.path, str(repo.path), [f"{MAIN}:{MAIN}"])
    theirs = repo.commit({"a": "2"}, parent=old)
    mine = clone.commit({"a": "3"}, parent=old)
    with pytest.raises(Conflict):
        await refs.push(git, clone.path, "origin", f"{mine}:{MAIN}")
    assert await refs.remote_refs(git, clone.path, "origin") == {MAIN: theirs}
    await refs.push(git, clone.path, "origin", f"{mine}:refs/heads/new")
    assert (await refs.remote_refs(git, clone.path, "origin", ["refs/heads/new"])) == {"refs/heads/new": mine}


async def test_a_lease_decides_on_the_remote_value(git, repo, clone):
    old = repo.commit({"a": "1"})
    mine = clone.commit({"a": "3"})
    for expected in ("1" * 40, None):
        with pytest.raises(Conflict):
            await refs.push(git, clone.path, "origin", f"{mine}:{MAIN}", lease=(MAIN, expected))
    await refs.push(git, clone.path, "origin", f"{mine}:{MAIN}", lease=(MAIN, old))
    await refs.push(git, clone.path, "origin", f"{mine}:{MAIN}", lease=(MAIN, old))
    assert repo.refs(MAIN) == {MAIN: mine}


async def test_a_push_without_a_precondition_is_rejected(git, repo, clone):
    with pytest.raises(Rejected):
        await refs.push(git, clone.path, "origin", f"+{MAIN}:{MAIN}")


async def test_a_refusing_remote_is_no_conflict(git, repo, clone):
    mine = clone.commit({"a": "1"})
    repo.run("config", "transfer.hideRefs", "refs/heads/protected")
    with pytest.raises(Rejected):
        await refs.push(git, clone.path, "origin", f"{mine}:refs/heads/protected")


async def test_fetching_brings_named_refs_and_prunes_on_demand(git, repo, clone):
    head = repo.commit({"a": "1"})
    repo.run("update-ref", "refs/heads/gone", head)
    spec = ["+refs/heads/*:refs/remotes/origin/*"]
    await refs.fetch(git, clone.path, "origin", spec)
    repo.run("update-ref", "-d", "refs/heads/gone")
    await refs.fetch(git, clone.path, "origin", spec, prune=True)
    assert clone.refs("refs/remotes") == {"refs/remotes/origin/main": head}
    with pytest.raises(Rejected):
        await refs.fetch(git, clone.path, "origin", [])


async def test_a_new_repository_has_the_wished_branch_and_is_made_once(git, tmp_path):
    await refs.init_bare(git, tmp_path / "x" / "n.git", "trunk")
    await refs.init_bare(git, tmp_path / "x" / "n.git", "trunk")
    assert (tmp_path / "x" / "n.git" / "HEAD").read_text() == "ref: refs/heads/trunk\n"


def worktree(repo, tmp_path, files):
    """A worktree of branch `work`, one commit after the first one of main, and main moved on."""
    base = repo.commit({"a": "1\n", "b": "1\n"})
    repo.commit({"a": "1\n", "b": "1\n"} | files, "refs/heads/work", base)
    repo.commit({"a": "main\n", "b": "1\n"}, MAIN, base)
    return repo.check_out(tmp_path / "wt", "work")


async def test_a_rebase_keeps_the_author_and_names_us_as_committer(git, repo, tmp_path):
    place = worktree(repo, tmp_path, {"b": "2\n"})
    result = await refs.rebase(git, place, "main", committer=US)
    assert isinstance(result, refs.Rebased)
    assert repo.run("log", "-1", "--format=%H %an %cn", "work") == f"{result.head} Sample orchestrator"
    assert repo.run("merge-base", "work", "main") == repo.run("rev-parse", "main")
    assert await refs.rebase(git, place, "main", committer=US) == result


async def test_a_conflict_names_its_paths_and_leaves_the_branch_alone(git, repo, tmp_path):
    place = worktree(repo, tmp_path, {"a": "work\n"})
    before = await worktrees.status(git, place)
    assert await refs.rebase(git, place, "main", committer=US) == refs.RebaseConflict(("a",))
    assert await worktrees.status(git, place) == before
    await git.run("rebase", "main", cwd=place, env=US.environment(), check=False)
    assert await refs.rebase(git, place, "main", committer=US) == refs.RebaseConflict(("a",))


async def test_a_rebase_that_cannot_begin_is_rejected(git, repo, tmp_path):
    place = worktree(repo, tmp_path, {"b": "2\n"})
    with pytest.raises(Rejected):
        await refs.rebase(git, place, "absent", committer=US)
    (place / "b").write_text("uncommitted")
    with pytest.raises(Rejected, match="unstaged changes"):
        await refs.rebase(git, place, "main", committer=US)


async def test_a_merge_needs_no_worktree_and_moves_no_ref(git, repo):
    base = repo.commit({"a": "1\n", "b": "1\n"})
    head = repo.commit({"a": "1\n", "b": "2\n"}, "refs/heads/work", base)
    main = repo.commit({"a": "2\n", "b": "1\n"}, MAIN, base)
    sha = await refs.merge_commit(git, repo.path, main, head, message="Merge ORCH-7", author=US)
    assert repo.run("log", "-1", "--format=%P|%an|%s", sha) == f"{main} {head}|orchestrator|Merge ORCH-7"
    assert repo.run("show", f"{sha}:a") + repo.run("show", f"{sha}:b") == "22"
    assert repo.run("rev-parse", "main") == main


async def test_a_merge_conflict_names_its_paths(git, repo):
    base = repo.commit({"a": "1\n"})
    head = repo.commit({"a": "2\n"}, "refs/heads/work", base)
    main = repo.commit({"a": "3\n"}, MAIN, base)
    with pytest.raises(Conflict, match=r"change the same lines of a$"):
        await refs.merge_commit(git, repo.path, main, head, message="m", author=US)
    with pytest.raises(Rejected):
        await refs.merge_commit(git, repo.path, main, "1" * 40, message="m", author=US)


async def test_an_old_git_says_what_merging_needs(repo, tmp_path):
    old = tmp_path / "git"
    old.write_text('#!/bin/sh\ncase "$*" in *" version") echo git version 2.30.2;; *) exit 129;; esac\n')
    old.chmod(0o755)
    with pytest.raises(Rejected, match=r"needs git 2\.38 or later, this is git 2\.30\.2"):
        await refs.merge_commit(Git(str(old)), repo.path, "a", "b", message="m", author=US)
