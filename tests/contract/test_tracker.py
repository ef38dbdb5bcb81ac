"""What every tracker promises; a new adapter is one more row in ROWS."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.errors import Rejected
from orchestrator.ports.tracker import Tracker, TrackerState
from orchestrator.testing import MemoryTracker
from orchestrator.trackers.board import BoardTracker
from tests.unit.trackers.clocks import TickingClock


@dataclass
class Bench:
    """A tracker with one project, and what a person does on it."""

    tracker: Tracker
    project: str
    file: Callable[[str], Awaitable[str]]
    comment: Callable[[str, str], Awaitable[object]]
    missing: str
    edit: Callable[[str, str, str], Awaitable[object]]


@asynccontextmanager
async def board(tmp_path: Path) -> AsyncIterator[Bench]:
    tracker = BoardTracker(f"sqlite:///{tmp_path}/board.db", TickingClock())
    await tracker.create_project("shop", "SHOP")

    async def file(title: str) -> str:
        return (await tracker.file("shop", title, "text", author="ada", labels=["Bug"])).ref

    async def comment(ref: str, text: str) -> object:
        return await tracker.comment(ref, "ada", text)

    async def edit(ref: str, text: str, by: str) -> object:
        return await tracker.edit(ref, title=f"About {text}", description=text, by=by)

    yield Bench(tracker, "shop", file, comment, "SHOP-404", edit)
    tracker.close()


@asynccontextmanager
async def memory(tmp_path: Path) -> AsyncIterator[Bench]:
    tracker = MemoryTracker(TickingClock())
    tracker.create_project("shop", "SHOP")

    async def file(title: str) -> str:
        return (await tracker.file("shop", title, "text", author="ada", labels=["Bug"])).ref

    async def comment(ref: str, text: str) -> object:
        return tracker.comment(ref, "ada", text)

    async def edit(ref: str, text: str, by: str) -> object:
        return await tracker.edit(ref, title=f"About {text}", description=text, by=by)

    yield Bench(tracker, "shop", file, comment, "SHOP-404", edit)


Row = Callable[[Path], AbstractAsyncContextManager[Bench]]
ROWS: list[Row] = [board, memory]


@pytest.fixture(params=ROWS, ids=lambda row: row.__name__)
async def bench(request, tmp_path):
    async with request.param(tmp_path) as made:
        yield made


async def test_a_filed_item_is_read_as_it_was_filed(bench):
    ref = await bench.file("Count visits")
    ticket = await bench.tracker.ticket(ref)
    assert (ticket.title, ticket.description, ticket.author) == ("Count visits", "text", "ada")
    assert (ticket.project, ticket.state, ticket.labels) == (bench.project, TrackerState.TODO, ("Bug",))
    assert ticket.updated_at.tzinfo is not None
    assert ticket.number


async def test_an_item_that_is_not_there_is_rejected(bench):
    with pytest.raises(Rejected):
        await bench.tracker.ticket(bench.missing)


@pytest.mark.parametrize("state", list(TrackerState))
async def test_every_state_can_be_written_and_read(bench, state):
    ref = await bench.file("Count visits")
    await bench.tracker.set_state(ref, state)
    assert (await bench.tracker.ticket(ref)).state is state


async def test_writing_the_present_state_is_no_change(bench):
    ref = await bench.file("Count visits")
    await bench.tracker.set_state(ref, TrackerState.DONE)
    before = await bench.tracker.ticket(ref)
    await bench.tracker.set_state(ref, TrackerState.DONE)
    assert await bench.tracker.ticket(ref) == before


async def test_changes_come_oldest_first_and_include_the_instant_asked_for(bench):
    first, second, third = [await bench.file(title) for title in ("one", "two", "three")]
    await bench.tracker.set_state(first, TrackerState.IN_PROGRESS)
    everything = await bench.tracker.changed_since(bench.project, None)
    assert [ticket.ref for ticket in everything] == [second, third, first]
    since = (await bench.tracker.ticket(third)).updated_at
    assert [item.ref for item in await bench.tracker.changed_since(bench.project, since)] == [third, first]
    late = (await bench.tracker.ticket(first)).updated_at + timedelta(microseconds=1)
    assert await bench.tracker.changed_since(bench.project, late) == []


async def test_a_keyed_comment_is_edited_in_place(bench):
    ref = await bench.file("Count visits")
    await bench.tracker.put_comment(ref, "run-1", "started")
    await bench.comment(ref, "please hurry")
    await bench.tracker.put_comment(ref, "run-1", "ended")
    await bench.tracker.put_comment(ref, "run-2", "started")
    comments = await bench.tracker.comments(ref)
    assert [(comment.key, comment.text) for comment in comments] == [
        ("run-1", "ended"),
        ("", "please hurry"),
        ("run-2", "started"),
    ]
    assert len({comment.id for comment in comments}) == 3


async def test_labels_are_replaced_as_a_whole(bench):
    ref = await bench.file("Count visits")
    await bench.tracker.set_labels(ref, ["stage:review", "Bug"])
    assert set((await bench.tracker.ticket(ref)).labels) == {"stage:review", "Bug"}
    await bench.tracker.set_labels(ref, [])
    assert (await bench.tracker.ticket(ref)).labels == ()


async def test_writing_to_an_item_that_is_not_there_is_rejected(bench):
    with pytest.raises(Rejected):
        await bench.tracker.set_state(bench.missing, TrackerState.DONE)
    with pytest.raises(Rejected):
        await bench.tracker.put_comment(bench.missing, "run-1", "text")
    with pytest.raises(Rejected):
        await bench.tracker.set_labels(bench.missing, ["Bug"])
    with pytest.raises(Rejected):
        await bench.tracker.comments(bench.missing)


async def test_a_ticket_tells_who_filed_it_and_who_last_changed_its_text(bench):
    ref, other = await bench.file("one"), await bench.file("two")
    assert ((await bench.tracker.ticket(ref)).author, (await bench.tracker.ticket(ref)).edited_by) == (
        "ada",
        "",
    )
    await bench.edit(ref, "more", "bob")
    await bench.edit(ref, "most", "eve")
    await bench.edit(ref, "most", "bob")
    await bench.tracker.set_state(ref, TrackerState.DONE)
    told = {ticket.ref: ticket.edited_by for ticket in await bench.tracker.changed_since(bench.project, None)}
    assert told == {ref: "eve", other: ""}
    assert (await bench.tracker.ticket(ref)).author == "ada"


async def test_the_members_are_named_or_everybody_who_can_write_is_one(bench):
    members = await bench.tracker.members(bench.project)
    assert members is None or "ada" in members
