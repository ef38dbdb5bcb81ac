"""What every forge promises; a new adapter is one more row in ROWS."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.config.contract import Contract, parse_contract
from orchestrator.errors import Conflict, Rejected
from orchestrator.forges.local import LocalForge
from orchestrator.pipeline.ids import Commit
from orchestrator.plumbing.git import Git
from orchestrator.plumbing.processes import Processes
from orchestrator.ports.forge import Checks, CheckState, Forge, PullRequest, PullState
from tests.unit.forges.repositories import commit, git, push, ref, working_repository
from tests.unit.trackers.clocks import TickingClock

BRANCH = "feature/SHOP-1-count"
SUITE = "test: {run: [sh, -c, 'echo looking; test -f good']}"
MISSING = Commit("1" * 40)


@dataclass
class Bench:
    """A forge with the project ``shop``; its repository as git sees it, and a person's clone."""

    forge: Forge
    repository: Path
    person: Path
    told: asyncio.Event
    approve: Callable[[int, Commit, str], Awaitable[None]]

    def pushed(self, files: dict[str, str], branch: str = BRANCH) -> Commit:
        """A new commit of a person at the end of the branch, which begins at the person's main."""
        git(
            self.person,
            "checkout",
            "--quiet",
            "-B",
            branch,
            ref(self.repository, f"refs/heads/{branch}") or "main",
        )
        made = commit(self.person, files)
        push(self.person, self.repository, f"HEAD:refs/heads/{branch}")
        return made

    async def pull(self, branch: str = BRANCH) -> PullRequest:
        return await self.forge.ensure_pull_request(
            "shop", branch=branch, base="main", title="Count", body="text"
        )

    async def merge(self, pull: PullRequest, method: str = "merge") -> Commit:
        return await self.forge.merge(
            "shop", pull.number, expected_head=pull.head, method=method, message=f"Merge {pull.number}"
        )

    async def settled(self, head: Commit) -> Checks:
        """The checks of a head once they are not pending any more."""
        async with asyncio.timeout(20):
            while (checks := await self.forge.checks("shop", head)).state is CheckState.PENDING:
                await self.told.wait()
                self.told.clear()
        return checks


@asynccontextmanager
async def local(tmp_path: Path) -> AsyncIterator[Bench]:
    told = asyncio.Event()

    async def contract_for(project: str) -> Contract | None:
        return parse_contract(SUITE)

    async def on_event(kind: str, project: str, head: Commit) -> None:
        told.set()

    forge = LocalForge(
        tmp_path / "forge", git=Git(), clock=TickingClock(), processes=Processes(),
        contract_for=contract_for, on_event=on_event,
    )  # fmt: skip
    person = working_repository(tmp_path / "person")
    repository = await forge.host("shop", person, "main")

    async def approve(number: int, head: Commit, who: str) -> None:
        await forge.approve("shop", number, head=head, who=who)

    yield Bench(forge, repository, person, told, approve)
    await forge.aclose()


Row = Callable[[Path], AbstractAsyncContextManager[Bench]]
ROWS: list[Row] = [local]


@pytest.fixture(params=ROWS, ids=lambda row: row.__name__)
async def bench(request, tmp_path):
    async with request.param(tmp_path) as made:
        yield made


async def test_a_branch_has_one_pull_request(bench):
    head = bench.pushed({"app.py": "two\n"})
    pull = await bench.pull()
    assert (pull.branch, pull.base, pull.head, pull.state) == (BRANCH, "main", head, PullState.OPEN)
    assert (pull.title, pull.merged_as) == ("Count", None)
    assert await bench.pull() == pull
    bench.pushed({"other.py": "1\n"}, "feature/SHOP-2-other")
    assert (await bench.pull("feature/SHOP-2-other")).number != pull.number


async def test_the_head_of_a_pull_request_follows_its_branch(bench):
    bench.pushed({"app.py": "two\n"})
    pull = await bench.pull()
    head = bench.pushed({"app.py": "three\n"})
    assert (await bench.forge.pull_request("shop", pull.number)).head == head


async def test_a_pull_request_of_a_branch_that_is_not_there_is_rejected(bench):
    with pytest.raises(Rejected):
        await bench.pull("feature/missing")
    with pytest.raises(Rejected):
        await bench.forge.pull_request("shop", 404)


async def test_a_merge_is_in_the_base_and_repeating_it_gives_the_same_commit(bench):
    bench.pushed({"app.py": "two\n"})
    pull = await bench.pull()
    merged = await bench.merge(pull)
    assert ref(bench.repository, "refs/heads/main") == merged
    assert git(bench.repository, "show", "main:app.py") == "two"
    assert await bench.merge(pull) == merged
    again = await bench.pull()
    assert (again.state, again.merged_as, again.head) == (PullState.MERGED, merged, pull.head)
    assert (again.number, ref(bench.repository, "refs/heads/main")) == (pull.number, merged)


@pytest.mark.parametrize(("method", "parents"), [("merge", 2), ("squash", 1), ("rebase", 1)])
async def test_each_method_gives_the_base_the_tested_tree(bench, method, parents):
    bench.pushed({"app.py": "two\n"})
    bench.pushed({"app.py": "three\n"})
    pull = await bench.pull()
    merged = await bench.merge(pull, method)
    assert git(bench.repository, "rev-parse", "main^{tree}") == git(
        bench.repository, "rev-parse", f"{pull.head}^{{tree}}"
    )
    assert len(git(bench.repository, "log", "-1", "--format=%P", merged).split()) == parents
    count = git(bench.repository, "rev-list", "--count", "main")
    assert (method, count) in {("merge", "4"), ("squash", "2"), ("rebase", "3")}


async def test_a_branch_behind_its_base_is_merged_when_it_does_not_conflict(bench):
    bench.pushed({"app.py": "two\n"})
    await bench.merge(await bench.pull())
    bench.pushed({"other.py": "1\n"}, "feature/SHOP-2-other")
    behind = await bench.pull("feature/SHOP-2-other")
    with pytest.raises(Rejected):
        await bench.merge(behind, "rebase")
    await bench.merge(behind, "squash")
    assert git(bench.repository, "show", "main:app.py", "main:other.py") == "two\n1"


async def test_contents_that_conflict_are_rejected_and_the_base_stays(bench):
    bench.pushed({"app.py": "two\n"})
    merged = await bench.merge(await bench.pull())
    bench.pushed({"app.py": "other\n"}, "feature/SHOP-2-other")
    with pytest.raises(Rejected):
        await bench.merge(await bench.pull("feature/SHOP-2-other"))
    assert ref(bench.repository, "refs/heads/main") == merged


async def test_a_head_that_moved_is_a_conflict(bench):
    bench.pushed({"app.py": "two\n"})
    tested = await bench.pull()
    base = ref(bench.repository, "refs/heads/main")
    bench.pushed({"app.py": "not tested\n"})
    with pytest.raises(Conflict):
        await bench.merge(tested)
    assert ref(bench.repository, "refs/heads/main") == base


async def test_a_merged_pull_request_does_not_take_another_head(bench):
    bench.pushed({"app.py": "two\n"})
    pull = await bench.pull()
    await bench.merge(pull)
    with pytest.raises(Conflict):
        await bench.forge.merge("shop", pull.number, expected_head=MISSING, method="merge", message="again")


async def test_what_is_closed_is_not_merged_and_may_be_opened_anew(bench):
    bench.pushed({"app.py": "two\n"})
    pull = await bench.pull()
    await bench.forge.close("shop", pull.number)
    await bench.forge.close("shop", pull.number)
    assert (await bench.forge.pull_request("shop", pull.number)).state is PullState.CLOSED
    with pytest.raises(Rejected):
        await bench.merge(pull)
    assert (await bench.pull()).number != pull.number


async def test_closing_what_is_merged_is_no_change(bench):
    bench.pushed({"app.py": "two\n"})
    pull = await bench.pull()
    await bench.merge(pull)
    await bench.forge.close("shop", pull.number)
    assert (await bench.forge.pull_request("shop", pull.number)).state is PullState.MERGED


async def test_the_base_cannot_be_pushed_to(bench):
    git(bench.person, "checkout", "--quiet", "main")
    base = ref(bench.repository, "refs/heads/main")
    commit(bench.person, {"app.py": "behind your back\n"})
    for refspec in ("main", "+main", ":main"):
        assert "rejected" in push(bench.person, bench.repository, refspec)
    assert ref(bench.repository, "refs/heads/main") == base


async def test_another_branch_can_be_pushed_with_force(bench):
    bench.pushed({"app.py": "two\n"})
    git(bench.person, "commit", "--quiet", "--amend", "-m", "reworded")
    push(bench.person, bench.repository, f"+HEAD:refs/heads/{BRANCH}")
    assert ref(bench.repository, f"refs/heads/{BRANCH}") == git(bench.person, "rev-parse", "HEAD")


async def test_an_approval_is_for_exactly_one_head(bench):
    first = bench.pushed({"app.py": "two\n"})
    pull = await bench.pull()
    await bench.approve(pull.number, first, "ada")
    await bench.approve(pull.number, first, "ada")
    await bench.approve(pull.number, first, "bob")
    second = bench.pushed({"app.py": "three\n"})
    assert sorted(await bench.forge.approvals("shop", pull.number, first)) == ["ada", "bob"]
    assert list(await bench.forge.approvals("shop", pull.number, second)) == []


async def test_a_good_head_becomes_green_and_a_bad_one_red_with_its_log(bench):
    bad = bench.pushed({"app.py": "two\n"})
    assert (await bench.forge.checks("shop", bad)).state is CheckState.PENDING
    red = await bench.settled(bad)
    assert red.state is CheckState.FAILURE
    assert [run.state for run in red.runs] == [CheckState.FAILURE]
    assert "looking" in red.runs[0].log_tail
    good = bench.pushed({"good": "yes\n"})
    assert (await bench.settled(good)).state is CheckState.SUCCESS
    assert await bench.forge.checks("shop", bad) == red


async def test_checks_of_a_commit_that_is_not_there_are_rejected(bench):
    with pytest.raises(Rejected):
        await bench.forge.checks("shop", MISSING)
