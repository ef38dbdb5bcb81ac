"""A repository that somebody else could write is read as files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import Rejected
from orchestrator.plumbing.git.foreign import copy_index, copy_objects, head_in
from tests.unit.forges.repositories import commit, git, working_repository


@pytest.fixture
def theirs(tmp_path):
    return working_repository(tmp_path / "theirs")


def test_the_head_is_found_wherever_git_keeps_it(theirs):
    head = git(theirs, "rev-parse", "HEAD")
    assert head_in(theirs) == head
    git(theirs, "pack-refs", "--all")
    assert head_in(theirs) == head
    git(theirs, "checkout", "--quiet", "--detach")
    assert head_in(theirs) == head


def test_loose_and_packed_objects_are_copied_and_nothing_else(theirs, tmp_path):
    git(theirs, "gc", "--quiet")
    head = commit(theirs, {"app.py": "two\n"})
    count = git(theirs, "rev-list", "--count", "--objects", head)
    (theirs / ".git" / "objects" / "info" / "alternates").write_text("/nowhere\n")
    (theirs / ".git" / "objects" / "aa").mkdir(exist_ok=True)
    (theirs / ".git" / "objects" / "aa" / ("b" * 38)).symlink_to("/etc/hostname")
    ours = tmp_path / "ours.git"
    git(tmp_path, "init", "--quiet", "--bare", str(ours))
    copy_objects(theirs, ours)
    assert git(ours, "rev-list", "--count", "--objects", head) == count
    assert not (ours / "objects" / "info" / "alternates").exists()
    assert not (ours / "objects" / "aa" / ("b" * 38)).exists()


def test_an_index_is_copied_unless_there_is_none(theirs, tmp_path):
    assert copy_index(theirs, tmp_path / "index")
    assert (tmp_path / "index").read_bytes() == (theirs / ".git" / "index").read_bytes()
    (theirs / ".git" / "index").unlink()
    assert not copy_index(theirs, tmp_path / "index")


@given(st.binary() | st.text().map(lambda text: f"ref: refs/heads/{text}".encode("utf-8", "replace")))
def test_no_head_makes_the_reader_fail(tmp_path_factory, data):
    top = tmp_path_factory.mktemp("top")
    (top / ".git").mkdir()
    (top / ".git" / "HEAD").write_bytes(data)
    with pytest.raises(Rejected):
        head_in(top)
