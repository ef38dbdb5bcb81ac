import asyncio
import tempfile
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from orchestrator.errors import Rejected
from orchestrator.plumbing.git import Git
from orchestrator.plumbing.git import trees as t
from tests.unit.plumbing.git.repositories import bare

ITEM = "ORCH-7"
PATHS = [
    "a.py",
    "src/b.py",
    ".task-dev.md",
    "src/.task-dev.md",
    ".task-tester.md",
    "docs/readme.md",
    "docs/work-items/ORCH-7/01.md",
    "docs/work-items/ORCH-7/deep/02.md",
    "docs/work-items/ORCH-70/01.md",
    "docs/work-items/index.md",
    "docs-x/work-items/ORCH-7/01.md",
    "work-items/ORCH-7/01.md",
]
trees = st.dictionaries(st.sampled_from(PATHS), st.sampled_from(["", "1", "2"]), max_size=6)


async def code_id(git, path, commit, item=ITEM):
    return (await t.survey(git, path, commit, item)).code_id


def slow_code(repository, commit):
    """The oracle: every file of the commit but the excluded ones, by listing all of them."""
    lines = repository.run("ls-tree", "-r", commit).splitlines()
    files = {line.partition("\t")[2]: line.partition("\t")[0] for line in lines}
    return {
        path: kind
        for path, kind in files.items()
        if not path.startswith(f"docs/work-items/{ITEM}/")
        and not (path.startswith(".task-") and path.endswith(".md") and "/" not in path)
    }


@settings(max_examples=12)
@given(st.lists(trees, min_size=4, max_size=8))
@example([{}, {"docs/work-items/ORCH-7/01.md": "1"}, {".task-dev.md": "1"}, {"docs/readme.md": "1"}])
@example([{"docs/work-items": "1"}, {"docs": "1"}, {"docs/work-items/ORCH-7": "1"}, {}])
def test_code_ids_agree_exactly_when_the_code_does(contents):
    async def ids(path, commits):
        return await asyncio.gather(*(code_id(Git(), path, commit) for commit in commits))

    with tempfile.TemporaryDirectory() as folder:
        repository = bare(Path(folder) / "r.git")
        commits = repository.commits(contents)
        found = asyncio.run(ids(repository.path, commits))
        slow = [slow_code(repository, commit) for commit in commits]
    for one, other in combinations(range(len(commits)), 2):
        assert (found[one] == found[other]) == (slow[one] == slow[other])


async def test_artifacts_and_task_files_do_not_change_the_code_id(git, repo):
    plain, noted, changed = repo.commits(
        [
            {"a.py": "1"},
            {"a.py": "1", "docs/work-items/ORCH-7/13-test-report.md": "x", ".task-dev.md": "y"},
            {"a.py": "2"},
        ]
    )
    ids = [await code_id(git, repo.path, commit) for commit in (plain, noted, changed)]
    assert ids[0] == ids[1] != ids[2]
    assert ids[0].startswith("c")
    assert len(ids[0]) == 65


async def test_a_symbolic_link_with_the_name_of_a_task_file_is_code(git, repo):
    plain = repo.commit({"a.py": "1"})
    blob = repo.run("hash-object", "-w", "--stdin", data=b"a.py")
    listing = repo.run("ls-tree", plain) + f"\n120000 blob {blob}\t.task-x.md\n"
    tree = repo.run("mktree", data=listing.encode())
    linked = repo.run("commit-tree", tree, "-m", "x")
    assert await code_id(git, repo.path, plain) != await code_id(git, repo.path, linked)


async def test_an_unknown_commit_or_item_is_rejected(git, repo):
    head = repo.commit({"a": "1"})
    for commit, item in (
        ("f" * 40, ITEM),
        ("nowhere", ITEM),
        ("-x", ITEM),
        ("a\nb", ITEM),
        (head, "../x"),
        (head, ""),
    ):
        with pytest.raises(Rejected):
            await code_id(git, repo.path, commit, item)


async def test_a_file_is_read_at_a_commit(git, repo):
    old, new = repo.commits([{"d/a": "eins\n"}, {"d/a": "zwei\n", "with space": "x"}])
    assert await t.read_blob(git, repo.path, old, "d/a") == b"eins\n"
    assert await t.read_blob(git, repo.path, new, "with space") == b"x"
    assert await t.read_blob(git, repo.path, old, "with space") is None


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../a", "./a", "d//a", "d/", "a\nb", "d"])
async def test_what_is_no_path_of_a_file_is_rejected(git, repo, path):
    head = repo.commit({"d/a": "1"})
    with pytest.raises(Rejected):
        await t.read_blob(git, repo.path, head, path)


async def test_absence_is_not_claimed_of_an_unknown_commit(git, repo):
    repo.commit({"a": "1"})
    with pytest.raises(Rejected, match="there is no commit"):
        await t.read_blob(git, repo.path, "1" * 40, "a")


async def test_paths_are_listed_below_a_directory(git, repo):
    head = repo.commit({"a": "1", "d/b": "1", "d/e/c ü": "1", "dx": "1"})
    assert await t.list_paths(git, repo.path, head) == ("a", "d/b", "d/e/c ü", "dx")
    assert await t.list_paths(git, repo.path, head, "d") == ("d/b", "d/e/c ü")
    assert await t.list_paths(git, repo.path, head, "absent") == ()
    with pytest.raises(Rejected):
        await t.list_paths(git, repo.path, "absent")


async def test_a_rename_is_two_changed_paths(git, repo):
    old, new = repo.commits([{"a": "same\n" * 50, "b": "1"}, {"c": "same\n" * 50, "b": "1"}])
    assert await t.changed_paths(git, repo.path, old, new) == ("a", "c")
    assert await t.changed_paths(git, repo.path, old, old) == ()


async def test_ancestry_is_answered_both_ways(git, repo):
    old, new = repo.commits([{"a": "1"}, {"a": "2"}])
    assert await t.is_ancestor(git, repo.path, old, new)
    assert await t.is_ancestor(git, repo.path, new, new)
    assert not await t.is_ancestor(git, repo.path, new, old)
    with pytest.raises(Rejected):
        await t.is_ancestor(git, repo.path, "1" * 40, new)


async def test_heads_and_trees_are_named(git, repo, tmp_path):
    head = repo.commit({"a": "1"})
    assert await t.head_of(git, repo.path, "refs/heads/main") == head
    assert await t.head_of(git, repo.path, "main") == head
    assert await t.head_of(git, repo.path, "refs/heads/absent") is None
    assert await t.head_of(git, repo.path, "1" * 40) is None
    assert await t.tree_of(git, repo.path, head) == repo.run("rev-parse", f"{head}^{{tree}}")
    with pytest.raises(Rejected, match="there is no commit absent"):
        await t.tree_of(git, repo.path, "absent")
    with pytest.raises(Rejected, match="not a git repository"):
        await t.head_of(git, tmp_path, "main")
