"""What the built-in board does beyond the port."""

import sqlite3
from datetime import timedelta

import pytest

from orchestrator.errors import BadInput, Malformed, Rejected, Unavailable
from orchestrator.ports.tracker import TrackerState
from orchestrator.trackers.board import BoardTracker, ChangeKind
from tests.unit.trackers.clocks import TickingClock


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/deep/board.db"


@pytest.fixture
async def board(url):
    tracker = BoardTracker(url, TickingClock(), actor="robot")
    await tracker.create_project("shop", "SHOP")
    yield tracker
    tracker.close()


async def test_items_are_numbered_within_their_project(board):
    await board.create_project("bank", "BNK")
    filed = [await board.file(project, "t", author="ada") for project in ("shop", "bank", "shop")]
    assert [ticket.number for ticket in filed] == ["SHOP-1", "BNK-1", "SHOP-2"]
    assert [ticket.ref for ticket in await board.changed_since("bank", None)] == ["BNK-1"]


async def test_making_a_project_again_is_no_change_and_a_clash_is_named(board):
    await board.file("shop", "t", author="ada")
    await board.create_project("shop", "SHOP")
    assert (await board.file("shop", "t", author="ada")).number == "SHOP-2"
    with pytest.raises(Rejected, match=r"clashes with shop \(SHOP\)"):
        await board.create_project("store", "SHOP")


async def test_our_writes_are_told_from_a_persons_move(board):
    ref = (await board.file("shop", "t", author="ada")).ref
    await board.set_state(ref, TrackerState.NEEDS_APPROVAL)
    await board.move(ref, TrackerState.APPROVED, by="ada")
    await board.set_labels(ref, ["stage:analysis"])
    changes = await board.changes("shop")
    assert [(change.kind, change.new, change.who) for change in changes] == [
        (ChangeKind.FILED, "Todo", "ada"),
        (ChangeKind.STATE, "Needs Approval", "robot"),
        (ChangeKind.STATE, "Approved", "ada"),
        (ChangeKind.LABELS, ["stage:analysis"], "robot"),
    ]
    assert await board.changes("shop", after=changes[2].id) == changes[3:]


async def test_a_persons_comment_changes_the_item_and_ours_does_not(board):
    ref = (await board.file("shop", "t", author="ada")).ref
    filed_at = (await board.ticket(ref)).updated_at
    await board.put_comment(ref, "run-1", "text")
    assert (await board.ticket(ref)).updated_at == filed_at
    comment = await board.comment(ref, "ada", "the answer is 42")
    assert (comment.author, comment.text, comment.key) == ("ada", "the answer is 42", "")
    assert (await board.ticket(ref)).updated_at > filed_at


async def test_an_item_can_wait_for_others_that_exist(board):
    first = (await board.file("shop", "a", author="ada")).ref
    second = (await board.file("shop", "b", author="ada", blocked_by=[first])).ref
    assert (await board.ticket(second)).blocked_by == (first,)
    with pytest.raises(Rejected, match="no item SHOP-9"):
        await board.file("shop", "c", author="ada", blocked_by=["SHOP-9"])
    assert (await board.file("shop", "c", author="ada")).number == "SHOP-3"


async def test_labels_are_kept_once_each(board):
    ref = (await board.file("shop", "a", author="ada", labels=["Bug", "Bug"])).ref
    assert (await board.ticket(ref)).labels == ("Bug",)
    await board.set_labels(ref, ["Bug", "Bug", "urgent"])
    assert (await board.ticket(ref)).labels == ("Bug", "urgent")


async def test_what_cannot_be_filed_is_rejected(board):
    with pytest.raises(Rejected, match="no project bank"):
        await board.file("bank", "t", author="ada")
    with pytest.raises(Rejected, match="title"):
        await board.file("shop", "  ", author="ada")
    with pytest.raises(Rejected, match="no project bank"):
        await board.changed_since("bank", None)
    with pytest.raises(Rejected, match="key"):
        await board.put_comment("SHOP-1", "", "text")
    with pytest.raises(Rejected, match="name and a prefix"):
        await board.create_project("", "X")


async def test_two_processes_share_one_board(board, url):
    other = BoardTracker(url, TickingClock(), actor="cli")
    assert (await other.file("shop", "t", author="bob")).number == "SHOP-1"
    assert (await board.file("shop", "t", author="ada")).number == "SHOP-2"
    other.close()


async def test_a_board_of_a_newer_version_is_refused(board, tmp_path, url):
    with sqlite3.connect(tmp_path / "deep" / "board.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(BadInput, match="schema 99"):
        BoardTracker(url, TickingClock())


def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "board.db").write_text("this is a letter, not a database" * 10)
    with pytest.raises(BadInput, match="cannot be used as the board"):
        BoardTracker(f"sqlite:///{tmp_path}/board.db", TickingClock())


async def test_a_locked_board_is_unavailable(tmp_path):
    board = BoardTracker(f"sqlite:///{tmp_path}/board.db?timeout=0.01", TickingClock())
    holder = sqlite3.connect(tmp_path / "board.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="locked"):
        await board.create_project("shop", "SHOP")
    holder.execute("ROLLBACK")
    holder.close()
    await board.create_project("shop", "SHOP")
    board.close()


async def test_a_state_that_nobody_knows_is_malformed(board, tmp_path):
    ref = (await board.file("shop", "a", author="ada")).ref
    with sqlite3.connect(tmp_path / "deep" / "board.db") as connection:
        connection.execute("UPDATE board_items SET state = 'Paused'")
    connection.close()
    with pytest.raises(Malformed, match="Paused"):
        await board.ticket(ref)


async def test_instants_are_in_utc(board):
    ref = (await board.file("shop", "a", author="ada")).ref
    assert (await board.ticket(ref)).updated_at.utcoffset() == timedelta(0)


async def test_a_person_may_change_what_an_item_asks_for(board):
    ref = (await board.file("shop", "Count", "text", author="ada")).ref
    ticket = await board.edit(ref, title="Count visits", description="of all pages", by="bob")
    assert (ticket.title, ticket.description) == ("Count visits", "of all pages")
    edits = [(change.kind, change.who) for change in await board.changes("shop")][1:]
    assert edits == [(ChangeKind.TITLE, "bob"), (ChangeKind.DESCRIPTION, "bob")]
    with pytest.raises(Rejected):
        await board.edit(ref, title=" ", description="", by="bob")
