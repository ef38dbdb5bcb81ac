"""Stopping an item ends everything of it and loses nothing."""

import pytest

from tests.scenario.house import House, View, eventually, git, is_alive


def stopped(shop: House, item: str) -> View:
    """The item after it was stopped and cleaned up."""
    answer = shop.done("item", "stop", item, "--reason", "not wanted any more")
    assert answer["stage"] == "cancelled"
    eventually(shop.is_quiet, "the cleanup is over", within=15)
    view = shop.view(item)
    assert (view["stage"], view["hold"]) == ("cancelled", None)
    return view


def rescued(shop: House, item: str) -> list[str]:
    refs = git(shop.forge(), "for-each-ref", "--format=%(refname)", f"refs/orchestrator/rescue/{item}")
    return refs.splitlines()


def assert_all_of_it_is_gone(shop: House) -> None:
    assert shop.told_processes() == []
    assert list((shop.home / "worktrees").glob("*/*")) == []
    assert list((shop.home / "checkouts").glob("*/*")) == []
    assert list((shop.home / "runs").rglob("checkout")) == []


def test_a_run_is_ended_with_all_its_processes_and_its_work_is_kept(shop):
    shop.steer("hold-developer")
    shop.steer("grandchild")
    shop.serve()
    item = shop.file("Sell more")
    shop.drive(item, lambda _: shop.worked(item, "developer"))
    agent = int(shop.ledger("starts")[-1][-1])
    grandchild = int(shop.ledger("grandchildren")[-1][0])
    assert is_alive(agent)
    assert is_alive(grandchild)
    view = stopped(shop, item)
    assert not is_alive(agent)
    assert not is_alive(grandchild)
    (ref,) = rescued(shop, item)
    assert git(shop.forge(), "show", f"{ref}:change-{item}.txt") == f"{item} round 1"
    assert next(row["text"] for row in view["timeline"] if row["kind"] == "stop") == "not wanted any more"
    assert view["runs"][-1]["finished_at"] is not None
    assert_all_of_it_is_gone(shop)


def test_the_pull_request_is_closed_and_the_next_item_starts(shop):
    shop.steer("hold-reviewer")
    shop.serve()
    item = shop.file("Sell more")
    shop.drive(item, lambda _: shop.worked(item, "reviewer"))
    waiting = shop.file("Sell even more")
    assert shop.view(waiting)["stage"] == "created"
    stopped(shop, item)
    assert shop.rows("forge/forge.db", "SELECT number, state FROM forge_pulls") == [(1, "closed")]
    assert shop.rows("board.db", f"SELECT state FROM board_items WHERE ref = '{item}'") == [("Cancelled",)]
    shop.release("hold-reviewer")
    shop.drive_to_done(waiting)
    assert shop.view(item)["stage"] == "cancelled"
    assert_all_of_it_is_gone(shop)


@pytest.mark.parametrize("point", ["ci", "suite", "staging"])
def test_a_command_of_the_contract_is_ended_too(shop, point):
    shop.steer(f"hold-{point}")
    shop.serve()
    item = shop.file("Sell more")
    shop.drive(item, lambda _: any(line[0] == point for line in shop.ledger("steps")))
    pid = next(int(line[-1]) for line in shop.ledger("steps") if line[0] == point)
    stopped(shop, item)
    eventually(lambda: not is_alive(pid), f"the {point} command ends", within=5)
    eventually(lambda: not shop.told_processes(), "nothing of it runs", within=5)
    assert_all_of_it_is_gone(shop)


def test_a_stop_without_a_server_is_carried_out_by_the_next_one(shop):
    shop.steer("hold-developer")
    server = shop.serve()
    item = shop.file("Sell more")
    shop.drive(item, lambda _: shop.worked(item, "developer"))
    server.kill(9)
    assert shop.orch("item", "stop", item).code == 0
    assert shop.told_processes()
    shop.serve()
    eventually(shop.is_quiet, "the cleanup is over", within=15)
    assert len(rescued(shop, item)) == 1
    assert_all_of_it_is_gone(shop)


def test_a_stopped_item_moves_no_more(shop):
    shop.serve()
    item = shop.file("Sell more")
    shop.drive(item, lambda view: view["explanation"]["waits_for"] == "person")
    stopped(shop, item)
    for words in (["approve"], ["confirm-deploy"], ["retry"], ["stop"]):
        ran = shop.orch("item", *words, item)
        assert (ran.code, ran.err.count("\n")) == (2, 1), ran
        assert "cancelled" in ran.err
