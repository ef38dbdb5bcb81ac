"""What the local forge does beyond the port: hosting, publishing, and surviving a crash midway."""

import asyncio
import sqlite3

import pytest

from orchestrator.errors import BadInput, Conflict, Rejected
from orchestrator.forges.local import LocalForge, PublishingForge
from orchestrator.forges.local.merging import Merge, Merging, Method
from orchestrator.plumbing.git import Git
from orchestrator.plumbing.processes import Processes
from orchestrator.ports.forge import CheckState, PullState
from tests.unit.forges.repositories import commit, git, push, ref, working_repository
from tests.unit.trackers.clocks import TickingClock

BRANCH = "feature/SHOP-1-count"


async def no_contract(project):
    return None


async def nobody(kind, project, head):
    raise AssertionError("nothing was run, so there is nothing to tell")


def make_forge(root, kind=LocalForge):
    return kind(
        root,
        git=Git(),
        clock=TickingClock(),
        processes=Processes(),
        contract_for=no_contract,
        on_event=nobody,
    )


@pytest.fixture
async def forge(tmp_path):
    made = make_forge(tmp_path / "forge")
    yield made
    await made.aclose()


@pytest.fixture
def person(tmp_path):
    return working_repository(tmp_path / "person")


async def pull_of(forge, person, branch=BRANCH, files=None):
    git(person, "checkout", "--quiet", "-B", branch, "main")
    commit(person, files or {"app.py": "two\n"})
    push(person, forge.path("shop"), f"HEAD:refs/heads/{branch}")
    git(person, "checkout", "--quiet", "main")
    return await forge.ensure_pull_request("shop", branch=branch, base="main", title="t", body="")


async def merge(forge, pull, method="merge"):
    return await forge.merge("shop", pull.number, expected_head=pull.head, method=method, message="Merge")


async def test_a_hosted_project_has_the_users_branches_and_is_hosted_once(forge, person, tmp_path):
    path = await forge.host("shop", person, "main")
    assert path == tmp_path / "forge" / "shop.git" == forge.path("shop")
    assert ref(path, "refs/heads/main") == git(person, "rev-parse", "main")
    assert await forge.host("shop", person, "main") == path
    with pytest.raises(BadInput, match="hosted already"):
        await forge.host("shop", tmp_path, "main")


async def test_a_copy_that_was_cut_short_is_made_anew(forge, person, tmp_path):
    (tmp_path / "forge" / "shop.git").mkdir(parents=True)
    path = await forge.host("shop", person, "main")
    assert ref(path, "refs/heads/main")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.rename(path.with_name("away")), "there is no repository"),
        (lambda path: (path / ".git").rename(path / "git"), "is not a git repository"),
        (lambda path: (path / "app.py").write_text("dirty"), "changes that are not committed .app.py."),
        (lambda path: git(path, "branch", "-m", "trunk"), "has no branch main"),
    ],
)
async def test_a_source_that_cannot_be_used_is_named(forge, person, spoil, message):
    spoil(person)
    with pytest.raises(BadInput, match=message):
        await forge.host("shop", person, "main")
    with pytest.raises(Rejected, match="hosts no project"):
        forge.path("shop")


async def test_an_address_with_a_password_is_refused(forge):
    with pytest.raises(BadInput, match="password or token"):
        await forge.host("shop", "https://ada:hunter22@forge.example/shop.git", "main")


async def test_a_checked_out_base_is_published_by_the_user(forge, person):
    await forge.host("shop", person, "main")
    merged = await merge(forge, await pull_of(forge, person))
    published = await forge.publish("shop")
    assert not published.done
    assert published.hint.startswith(f"{person} has main checked out, run there: git pull ")
    git(person, *published.hint.partition("run there: git ")[2].split(), "--quiet")
    assert git(person, "rev-parse", "main") == merged


async def test_a_bare_upstream_gets_the_merged_base(forge, person, tmp_path):
    upstream = tmp_path / "upstream.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(person), str(upstream))
    await forge.host("shop", upstream, "main")
    merged = await merge(forge, await pull_of(forge, person))
    assert (await forge.publish("shop")).done
    assert ref(upstream, "refs/heads/main") == merged


async def test_what_the_user_committed_since_is_followed_until_both_went_on(forge, person, tmp_path):
    upstream = tmp_path / "upstream.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(person), str(upstream))
    await forge.host("shop", upstream, "main")
    later = commit(person, {"late.py": "late\n"})
    push(person, upstream, "main")
    assert await forge.follow("shop") == later
    await merge(forge, await pull_of(forge, person))
    commit(person, {"later.py": "later\n"})
    push(person, upstream, "main")
    with pytest.raises(Conflict):
        await forge.follow("shop")
    published = await forge.publish("shop")
    assert not published.done
    assert "did not take main" in published.hint


async def test_a_merge_that_was_not_written_down_is_recognised(forge, person):
    path = await forge.host("shop", person, "main")
    pull = await pull_of(forge, person)
    crashed = Merge(pull.number, BRANCH, "main", pull.head, Method.SQUASH, "Merge")
    made = await Merging(Git(), path).carry_out(crashed)
    seen = await forge.pull_request("shop", pull.number)
    assert (seen.state, seen.merged_as, seen.head) == (PullState.MERGED, made, pull.head)
    assert await merge(forge, pull, "squash") == made
    assert ref(path, "refs/heads/main") == made


async def test_two_merges_at_once_are_one(forge, person):
    path = await forge.host("shop", person, "main")
    pull = await pull_of(forge, person)
    answers = await asyncio.gather(merge(forge, pull), merge(forge, pull), return_exceptions=True)
    commits = {answer for answer in answers if isinstance(answer, str)}
    assert all(isinstance(answer, Conflict | str) for answer in answers)
    assert commits == {ref(path, "refs/heads/main")} == {await merge(forge, pull)}
    assert git(path, "rev-list", "--count", "--merges", "main") == "1"


async def test_a_base_that_moved_meanwhile_is_a_conflict_and_nothing_is_lost(forge, person):
    path = await forge.host("shop", person, "main")
    pulls = [
        await pull_of(forge, person, f"feature/SHOP-{number}", {f"{number}.py": "x\n"})
        for number in (1, 2, 3)
    ]
    answers = await asyncio.gather(*(merge(forge, pull) for pull in pulls), return_exceptions=True)
    assert all(isinstance(answer, Conflict | str) for answer in answers)
    for pull in pulls:
        await merge(forge, pull)
    assert git(path, "rev-list", "--count", "--merges", "main") == "3"
    assert git(path, "ls-tree", "--name-only", "main").split() == ["1.py", "2.py", "3.py", "app.py", "docs"]


async def test_what_cannot_be_merged_says_why(forge, person):
    await forge.host("shop", person, "main")
    pull = await pull_of(forge, person)
    with pytest.raises(Rejected, match="no merge method octopus; known are merge, squash, rebase"):
        await merge(forge, pull, "octopus")
    push(person, forge.path("shop"), "main:refs/heads/feature/empty")
    empty = await forge.ensure_pull_request("shop", branch="feature/empty", base="main", title="t", body="")
    with pytest.raises(Rejected, match="no commit that main lacks"):
        await merge(forge, empty)
    with pytest.raises(Rejected, match="into main"):
        await forge.ensure_pull_request("shop", branch="main", base="main", title="t", body="")


async def test_without_a_test_section_there_are_no_checks(forge, person):
    await forge.host("shop", person, "main")
    pull = await pull_of(forge, person)
    assert (await forge.checks("shop", pull.head)).state is CheckState.NONE


async def test_a_forge_of_a_newer_version_is_refused(forge, tmp_path):
    with sqlite3.connect(tmp_path / "forge" / "forge.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(BadInput, match="schema 99"):
        LocalForge(
            tmp_path / "forge", git=Git(), clock=TickingClock(), processes=Processes(),
            contract_for=no_contract, on_event=nobody,
        )  # fmt: skip


async def test_a_merge_reaches_the_repository_that_the_project_was_taken_from(tmp_path, person):
    upstream = tmp_path / "upstream.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(person), str(upstream))
    forge = make_forge(tmp_path / "publishing", kind=PublishingForge)
    await forge.host("shop", upstream, "main")
    merged = await merge(forge, await pull_of(forge, person))
    assert ref(upstream, "refs/heads/main") == merged
    await forge.aclose()


async def test_a_merge_counts_although_the_owners_checked_out_base_takes_no_push(tmp_path, person):
    forge = make_forge(tmp_path / "publishing", kind=PublishingForge)
    path = await forge.host("shop", person, "main")
    before = ref(person, "refs/heads/main")
    git(person, "checkout", "--quiet", "main")
    merged = await merge(forge, await pull_of(forge, person))
    assert ref(path, "refs/heads/main") == merged
    assert ref(person, "refs/heads/main") == before
    await forge.aclose()


async def test_the_base_cannot_be_pushed_to(forge, person):
    path = await forge.host("shop", person, "main")
    base = ref(path, "refs/heads/main")
    commit(person, {"app.py": "behind your back\n"})
    for refspec in ("main", "+main", ":main"):
        assert "rejected" in push(person, path, refspec)
    assert ref(path, "refs/heads/main") == base


async def test_another_branch_can_be_pushed_with_force(forge, person):
    path = await forge.host("shop", person, "main")
    await pull_of(forge, person)
    git(person, "checkout", "--quiet", BRANCH)
    git(person, "commit", "--quiet", "--amend", "-m", "reworded")
    push(person, path, f"+HEAD:refs/heads/{BRANCH}")
    assert ref(path, f"refs/heads/{BRANCH}") == git(person, "rev-parse", "HEAD")
