"""A repository's configuration is brought back to what is ours, whatever stood in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.plumbing.git.purity import purified, purify
from tests.unit.forges.repositories import git

ADDRESS = 'https://forge.example/a "b" \\c.git'
REFSPEC = "+refs/heads/*:refs/remotes/origin/*"
PURE = purified("", address=ADDRESS, refspec=REFSPEC)
SECTIONS = ["[core]", '[filter "x"]', "[extensions]", "[CORE]", "[core] fsmonitor = x", "[", "]"]
ENTRIES = ["bare = false", "\tfsmonitor = touch", "clean = x", "objectformat = sha1", "worktreeConfig = true"]
WORDS = st.sampled_from([*SECTIONS, *ENTRIES, "\\"])


def pure(text: str) -> str:
    return purified(text, address=ADDRESS, refspec=REFSPEC)


@given(st.text() | st.lists(WORDS).map("\n".join))
def test_whatever_is_read_only_facts_remain(text):
    kept = pure(text)
    assert pure(kept) == kept
    names = {line.strip().partition(" ")[0] for line in kept.splitlines()}
    assert names <= {
        "[core]", "[extensions]", "[remote", "repositoryformatversion", "filemode", "ignorecase", "bare",
        "precomposeunicode", "symlinks", "objectformat", "refstorage", "url", "fetch",
    }  # fmt: skip
    assert "\tbare = true" in kept


def test_git_reads_what_is_written(tmp_path):
    git(tmp_path, "init", "--quiet", "--bare", ".")
    before = git(tmp_path, "config", "--list", "--local").splitlines()
    git(tmp_path, "config", "filter.evil.smudge", "touch trap")
    git(tmp_path, "config", "core.worktree", "/nowhere")
    purify(tmp_path, address=ADDRESS, refspec=REFSPEC)
    assert sorted(git(tmp_path, "config", "--list", "--local").splitlines()) == sorted(
        [*before, f"remote.origin.url={ADDRESS}", f"remote.origin.fetch={REFSPEC}"]
    )


def test_a_configuration_that_is_pure_is_not_written(tmp_path):
    (tmp_path / "config").write_text(PURE)
    before = (tmp_path / "config").stat()
    purify(tmp_path, address=ADDRESS, refspec=REFSPEC)
    assert (tmp_path / "config").stat() == before


@pytest.mark.parametrize("version", ["0", "1"])
def test_the_facts_of_the_repository_stay(version):
    core = f"[core]\n\trepositoryformatversion = {version}\n\tignorecase = true\n"
    kept = pure(f"{core}[extensions]\n\tobjectFormat = sha256\n")
    assert f"repositoryformatversion = {version}\n" in kept
    assert "ignorecase = true\n" in kept
    assert "objectformat = sha256\n" in kept
