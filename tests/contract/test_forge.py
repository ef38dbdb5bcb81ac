"""What every forge promises; a new adapter is one more row in `forges.ROWS`."""

import pytest

from orchestrator.errors import Conflict, Rejected
from orchestrator.pipeline.ids import Commit
from orchestrator.ports.forge import CheckState, PullState
from tests.contract.forges import BRANCH, ROWS

MISSING = Commit("1" * 40)
OTHER = "feature/SHOP-2-other"


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
    bench.pushed({"other.py": "1\n"}, OTHER)
    assert (await bench.pull(OTHER)).number != pull.number


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


async def test_a_pull_request_goes_from_another_branch_into_the_base(bench):
    bench.pushed({"app.py": "two\n"})
    bench.pushed({"other.py": "1\n"}, OTHER)
    with pytest.raises(Rejected):
        await bench.pull("main")
    with pytest.raises(Rejected):
        await bench.pull(BRANCH, base=OTHER)


async def test_a_project_that_is_not_hosted_is_rejected(bench):
    with pytest.raises(Rejected):
        await bench.forge.ensure_pull_request("bank", branch=BRANCH, base="main", title="Count", body="")
    with pytest.raises(Rejected):
        await bench.forge.pull_request("bank", 1)
    with pytest.raises(Rejected):
        await bench.forge.checks("bank", MISSING)
    with pytest.raises(Rejected):
        await bench.forge.approvals("bank", 1, MISSING)
    with pytest.raises(Rejected):
        await bench.forge.close("bank", 1)


async def test_a_merge_is_in_the_base_and_repeating_it_gives_the_same_commit(bench):
    bench.pushed({"app.py": "two\n"})
    pull = await bench.pull()
    merged = await bench.merge(pull)
    assert bench.at("main") == merged
    assert bench.files(merged)["app.py"] == "two\n"
    assert await bench.merge(pull) == merged
    again = await bench.pull()
    assert (again.state, again.merged_as, again.head) == (PullState.MERGED, merged, pull.head)
    assert (again.number, bench.at("main")) == (pull.number, merged)


@pytest.mark.parametrize(("method", "parents"), [("merge", 2), ("squash", 1), ("rebase", 1)])
async def test_each_method_gives_the_base_the_tested_tree(bench, method, parents):
    bench.pushed({"app.py": "two\n"})
    bench.pushed({"app.py": "three\n"})
    pull = await bench.pull()
    merged = await bench.merge(pull, method)
    assert bench.at("main") == merged
    assert bench.files(merged) == bench.files(pull.head)
    assert len(bench.parents(merged)) == parents
    assert (method, bench.length("main")) in {("merge", 4), ("squash", 2), ("rebase", 3)}


async def test_a_branch_behind_its_base_is_merged_when_it_does_not_conflict(bench):
    bench.pushed({"app.py": "two\n"})
    await bench.merge(await bench.pull())
    bench.pushed({"other.py": "1\n"}, OTHER)
    behind = await bench.pull(OTHER)
    with pytest.raises(Rejected):
        await bench.merge(behind, "rebase")
    await bench.merge(behind, "squash")
    files = bench.files(bench.at("main"))
    assert (files["app.py"], files["other.py"]) == ("two\n", "1\n")


async def test_contents_that_conflict_are_rejected_and_the_base_stays(bench):
    bench.pushed({"app.py": "two\n"})
    merged = await bench.merge(await bench.pull())
    bench.pushed({"app.py": "other\n"}, OTHER)
    with pytest.raises(Rejected):
        await bench.merge(await bench.pull(OTHER))
    assert bench.at("main") == merged


async def test_what_cannot_be_merged_is_rejected_and_stays_open(bench):
    bench.pushed({"app.py": "two\n"})
    pull = await bench.pull()
    base = bench.at("main")
    with pytest.raises(Rejected):
        await bench.merge(pull, "octopus")
    assert (bench.at("main"), (await bench.pull()).state) == (base, PullState.OPEN)
    await bench.merge(pull, "rebase")
    with pytest.raises(Rejected):
        await bench.forge.merge("shop", 404, expected_head=pull.head, method="merge", message="none")


async def test_a_head_that_moved_is_a_conflict(bench):
    bench.pushed({"app.py": "two\n"})
    tested = await bench.pull()
    base = bench.at("main")
    bench.pushed({"app.py": "not tested\n"})
    with pytest.raises(Conflict):
        await bench.merge(tested)
    assert bench.at("main") == base


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
