"""What an agent plants in its clone is never run and never leads us outside: from lending to the merge."""

import os
import shutil

import pytest

from orchestrator.errors import Rejected
from orchestrator.forges.lending import AGENT
from orchestrator.ports.workspace import Rebased
from tests.contract.workspaces import HEAD, mirror
from tests.unit.forges.repositories import BRANCH, git

PLANTED = """
set -e
evil='touch {trap}; cat'
echo two > app.py
printf '* filter=evil merge=evil diff=evil text\\n' > .gitattributes
git add -A
git commit -qm 'Plant'
mkdir -p .git/hooks
for name in post-checkout pre-commit post-commit post-index-change reference-transaction pre-push; do
  printf '#!/bin/sh\\ntouch {trap}\\n' > .git/hooks/$name
  chmod +x .git/hooks/$name
done
git config core.hooksPath .git/hooks
git config core.fsmonitor "$evil"
git config core.sshCommand "$evil"
git config core.alternateRefsCommand "$evil"
git config core.worktree {outside}
git config filter.evil.clean "$evil"
git config filter.evil.smudge "$evil"
git config filter.evil.process "$evil"
git config filter.evil.required true
git config merge.evil.driver "$evil"
git config diff.evil.command "$evil"
git config diff.evil.textconv "$evil"
git config uploadpack.packObjectsHook "$evil"
git config extensions.partialClone origin
git config core.repositoryFormatVersion 1
git config remote.origin.url 'ext::sh -c "touch {trap}"'
git config remote.origin.promisor true
git config remote.origin.uploadpack "$evil"
git config include.path {outside}/config
git config gpg.program "$evil"
git config commit.gpgSign true
mkdir -p .git/objects/info .git/info
echo {outside}/objects > .git/objects/info/alternates
echo '* filter=evil' > .git/info/attributes
echo three > app.py
ln -s {outside} linked
"""


@pytest.fixture
async def bench(tmp_path):
    return await mirror(tmp_path / "forge")


@pytest.fixture
def outside(tmp_path):
    """A directory of the host with something that nobody may take out of it."""
    place = tmp_path / "outside"
    place.mkdir()
    (place / "readme.md").write_text("canary\n")
    (place / "config").write_text("")
    return place


@pytest.fixture
async def lent(bench, locked):
    """The clone in which the agent is locked in."""
    await bench.workspace.check_out(BRANCH, await bench.base())
    locked.workspace.rmdir()
    await bench.workspace.lend(BRANCH, locked.workspace)
    return locked.workspace


async def taken(bench, lent):
    base = await bench.base()
    await bench.workspace.take_back(BRANCH, lent)
    return await bench.save(base)


async def done(locked, script: str) -> None:
    (locked.workspace / ".task-dev.md").write_text(script)
    result = await locked.shell(script)
    assert result.record.exit_code == 0, result.said


async def test_commits_and_changes_of_an_agent_that_is_locked_in_are_saved(bench, locked, lent):
    base = await bench.base()
    await done(
        locked, "echo two > app.py && git commit -qam 'Count' && echo new > new.py && git log --oneline -3"
    )
    saved = await taken(bench, lent)
    assert await bench.workspace.changed("shop", base, saved) == ["app.py", "new.py"]
    (mine,) = bench.parents(saved)
    assert bench.parents(mine) == [base]
    assert bench.origin(mine)[:2] == [f"{AGENT.name} <{AGENT.email}>", "Count"]
    assert await taken(bench, lent) == saved


async def test_a_clone_is_plain_and_holds_branch_and_base_only(bench, locked, lent):
    bench.pushed({"other.py": "x\n"}, "feature/SHOP-2-other")
    assert git(lent, "for-each-ref", "--format=%(refname)").splitlines() == [
        f"refs/heads/{BRANCH.name}",
        "refs/remotes/origin/main",
    ]
    assert git(lent, "symbolic-ref", "HEAD") == f"refs/heads/{BRANCH.name}"
    assert git(lent, "remote") == ""
    assert not (lent / ".git" / "objects" / "info" / "alternates").exists()
    assert not (lent / ".git" / "hooks").exists()
    assert [path for path in lent.rglob("*") if path.is_file() and path.stat().st_nlink > 1] == []


async def test_nothing_that_was_planted_is_run_until_the_branch_is_merged(
    bench, locked, lent, outside, tmp_path
):
    trap = tmp_path / "trap"
    await done(locked, PLANTED.format(trap=trap, outside=outside))
    saved = await taken(bench, lent)
    assert await bench.text(saved, "app.py") == "three\n"
    assert await bench.text(saved, "linked") == str(outside)
    async with bench.workspace.clean_checkout("shop", saved) as checkout:
        assert (checkout / "app.py").read_text() == "three\n"
    bench.pushed({"docs/readme.md": "moved\n"})
    rebased = await bench.workspace.rebase(BRANCH, expected=saved)
    assert isinstance(rebased, Rebased)
    await bench.workspace.check_out(BRANCH, rebased.head)
    assert await bench.work({"later.py": "later\n"}) != rebased.head
    assert await bench.workspace.rescue(BRANCH, "run-1") is None
    assert not trap.exists()
    # Whoever ran git in the clone itself would have run it all.
    git(lent, "--work-tree=.", "status", check=False)
    assert trap.exists()


async def test_a_link_in_place_of_a_directory_is_not_followed(bench, locked, lent, outside):
    (outside / "work.md").write_text("canary\n")
    await done(
        locked,
        f"mkdir lib; touch lib/work.md; git add -A; git commit -qm lib; rm -r lib; ln -s {outside} lib",
    )
    saved = await taken(bench, lent)
    assert await bench.workspace.paths("shop", saved, "") == ["app.py", "docs/readme.md", "lib"]
    assert await bench.text(saved, "lib") == str(outside)


@pytest.mark.parametrize("commit", ["", "; git add -A; git commit -qm links"])
async def test_links_are_no_artifacts_and_do_not_lead_to_them(bench, locked, lent, outside, commit):
    place = "docs/work-items/SHOP-1"
    await done(locked, f"ln -s {outside}/readme.md {place}/01-brd.md; echo x > {place}/02-trz.md{commit}")
    saved = await taken(bench, lent)
    assert await bench.workspace.paths("shop", saved, "") == [
        "app.py",
        "docs/readme.md",
        f"{place}/02-trz.md",
    ]
    assert not (await bench.workspace.location(BRANCH) / place / "01-brd.md").is_symlink()
    await done(locked, f"rm -r docs; ln -s {outside} docs{commit}")
    await bench.workspace.take_back(BRANCH, lent)
    assert not (await bench.workspace.location(BRANCH) / "docs").is_symlink()


async def test_nested_repositories_stay_behind(bench, locked, lent, outside):
    mirror_path = next(lent.parents[2].rglob("shop.git"))
    script = (
        "git init -q sub && cd sub && git -c user.name=x -c user.email=x commit -q --allow-empty -m x "
        f"&& git config core.fsmonitor 'touch {outside}/trap' && touch file && cd .. "
        f"&& mkdir other && echo 'gitdir: {mirror_path}' > other/.git && touch other/file && touch kept.py"
    )
    await done(locked, script)
    base = await bench.base()
    saved = await taken(bench, lent)
    assert await bench.workspace.changed("shop", base, saved) == ["kept.py"]
    assert not (outside / "trap").exists()


async def test_a_gitlink_that_was_committed_runs_nothing(bench, locked, lent, outside):
    script = (
        "git init -q sub && (cd sub && git -c user.name=x -c user.email=x commit -q --allow-empty -m x) "
        "&& git add sub && git commit -qm link "
        f"&& (cd sub && git config core.fsmonitor 'touch {outside}/trap' && touch file)"
    )
    await done(locked, script)
    saved = await taken(bench, lent)
    await bench.workspace.check_out(BRANCH, saved)
    assert await taken(bench, lent) == saved
    assert not (outside / "trap").exists()


@pytest.mark.parametrize(
    "script",
    [
        "rm -rf .git && ln -s {outside} .git",
        "rm -rf .git",
        "rm -rf .git && echo 'gitdir: {outside}' > .git",
        "echo 'ref: refs/heads/../../../x' > .git/HEAD",
        "rm .git/HEAD && ln -s {outside}/readme.md .git/HEAD",
        "rm .git/HEAD && mkfifo .git/HEAD",
        "echo 1111111111111111111111111111111111111111 > .git/HEAD",
        "git commit -qam x --allow-empty && rm -rf .git/objects && ln -s {outside} .git/objects",
    ],
)
async def test_a_repository_that_is_none_any_more_is_rejected(bench, locked, lent, outside, script):
    await done(locked, script.format(outside=outside))
    with pytest.raises(Rejected):
        await taken(bench, lent)
    assert bench.at_forge(HEAD) == ""


async def test_odd_files_do_not_keep_the_rest_back(bench, locked, lent):
    await done(
        locked,
        "rm app.py && mkfifo app.py && mkfifo pipe && rm docs/readme.md && mkdir docs/readme.md "
        "&& touch docs/readme.md/x.md 'new\nline.py' && printf 'x' > \"$(printf 'caf\\351')\";"
        "rm -f .git/index",
    )
    base = await bench.base()
    saved = await taken(bench, lent)
    assert await bench.workspace.changed("shop", base, saved) == [
        "app.py", "caf\\xe9", "docs/readme.md", "docs/readme.md/x.md", "new\nline.py",
    ]  # fmt: skip


async def test_ignored_files_and_task_files_stay_behind(bench, locked, lent):
    await done(locked, "printf 'cache/\\n!.task-dev.md\\n' > .gitignore; mkdir cache; touch cache/x")
    saved = await taken(bench, lent)
    assert await bench.workspace.paths("shop", saved, "") == [".gitignore", "app.py", "docs/readme.md"]


async def test_conflicts_are_rejected_and_a_rewritten_history_too(bench, locked, lent):
    await done(
        locked,
        "git checkout -qb a; echo a > app.py; git commit -qam a; git checkout -q -; echo b > app.py;"
        "git commit -qam b; git merge -q a || true",
    )
    with pytest.raises(Rejected, match=r"conflicts are not resolved in app\.py"):
        await taken(bench, lent)
    await done(locked, "git reset -q --hard; git checkout -q --orphan new; git commit -qm new")
    with pytest.raises(Rejected, match="history was rewritten"):
        await taken(bench, lent)


async def test_an_index_that_is_garbage_is_overlooked(bench, locked, lent):
    await done(locked, "echo two > app.py; head -c 4000 /dev/urandom > .git/index")
    saved = await taken(bench, lent)
    assert await bench.text(saved, "app.py") == "two\n"


async def test_a_link_in_the_base_does_not_lead_what_is_brought_along_outside(bench, outside, tmp_path):
    (outside / "work-items" / "SHOP-1").mkdir(parents=True)
    (outside / "work-items" / "SHOP-1" / "01-brd.md").write_text("canary\n")
    shutil.rmtree(bench.person / "docs")
    (bench.person / "docs").symlink_to(outside)
    linked = bench.pushed({"app.py": "two\n"})
    await bench.workspace.refresh("shop")
    await bench.workspace.check_out(BRANCH, linked)
    await bench.workspace.lend(BRANCH, tmp_path / "lent")
    assert os.readlink(tmp_path / "lent" / "docs") == str(outside)
    assert [path.name for path in outside.rglob("*.md")] == ["readme.md", "01-brd.md"]
