"""Whose words reach an agent: those of the project's authors, and those that a person has read."""

import pytest

from orchestrator.config.projects import make_project
from orchestrator.engine.authors import NAMELESS, is_approved
from orchestrator.engine.tracker_poll import TrackerPoll
from orchestrator.errors import BadInput, Unavailable
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.items import Hold
from orchestrator.pipeline.stages import Stage, Track
from orchestrator.ports.queue import JobKind
from orchestrator.ports.tracker import TrackerState
from tests.unit.engine.bench import PROJECT, waits_at

REF = "SHOP-1"


async def only(engine, *authors):
    """From now on these are the authors of the project."""
    values = {"name": PROJECT, "prefix": "SHOP", "repo_url": "/srv/shop", "authors": authors}
    await engine.projects.put(make_project(values), (0, 0))


async def file(engine, author, title="Count visits", **form):
    ticket = await engine.tracker.file(PROJECT, title, "Twice", author=author, **form)
    return await engine.desk.start(ticket, source="test")


def polling(engine):
    return TrackerPoll(
        tracker=engine.tracker, store=engine.store, intake=engine.intake, desk=engine.desk,
        projects=engine.projects,
    )  # fmt: skip


async def held(engine):
    case = await engine.case()
    return case.hold.reason if case.hold is not None else None


async def test_without_a_list_everybody_who_can_file_is_an_author(engine):
    item = (await file(engine, "mallory")).item
    assert (item.author, is_approved(item), await held(engine)) == ("mallory", True, None)


async def test_without_a_list_the_members_of_the_tracker_are_the_authors(engine):
    engine.tracker.people = frozenset({"ada"})
    await file(engine, "mallory")
    assert "mallory, who is not among the authors of shop" in await held(engine)


async def test_the_projects_list_stands_above_the_members(engine):
    engine.tracker.people = frozenset({"mallory"})
    await only(engine, "ada")
    assert is_approved((await file(engine, "ada")).item)


async def test_an_item_of_a_stranger_waits_in_created_and_is_told_once(engine):
    await only(engine, "ada", "bob")
    accepted = await file(engine, "mallory")
    served = await engine.settle()
    reason = await held(engine)
    assert "mallory" in reason
    assert "orch item retry SHOP-1" in reason
    item = await engine.item()
    assert (item.stage, item.text_approved, served < 10) == (Stage.CREATED, "", True)
    assert accepted.outcome == "held: a person has to read what mallory wrote"
    assert engine.producer.assignments == []
    assert len(engine.notifier.sent) == 1
    comments = [comment.text for comment in await engine.tracker.comments(REF)]
    assert [("mallory" in text) for text in comments] == [True]
    assert (await engine.tracker.ticket(REF)).state is TrackerState.BLOCKED
    await engine.recovery.on_start()
    await engine.settle()
    assert len(engine.notifier.sent) == 1


@pytest.mark.parametrize("author", ["", "  "])
async def test_an_author_whom_the_tracker_does_not_name_is_a_stranger(engine, author):
    await only(engine, "ada")
    await file(engine, author)
    assert NAMELESS in await held(engine)


async def test_a_retry_lets_in_exactly_the_text_that_stands_there_and_says_who_did(engine):
    await only(engine, "ada")
    waits_at(engine, GateName.ANALYSIS_COMPLETE)
    await file(engine, "mallory")
    await engine.desk.retry(REF, by="ada")
    item = await engine.item()
    assert is_approved(item)
    assert (await engine.moves())[-1].reason == "retry by ada, who has read the text and lets it in"
    await engine.settle()
    assert (await engine.item()).stage is Stage.ANALYSIS


async def test_a_state_set_in_the_tracker_is_no_sign_that_anybody_read_the_text(engine):
    await only(engine, "ada")
    poll = polling(engine)
    await file(engine, "mallory")
    await engine.settle()
    await poll.poll()
    engine.tracker.move(REF, TrackerState.TODO)
    assert await poll.poll() == 0
    await engine.settle()
    assert not is_approved(await engine.item())
    assert "mallory" in await held(engine)
    assert (await engine.tracker.ticket(REF)).state is TrackerState.BLOCKED


async def test_a_held_item_lets_the_next_one_in_line_go_first(engine):
    await only(engine, "ada")
    waits_at(engine, GateName.ANALYSIS_COMPLETE)
    await file(engine, "mallory")
    await file(engine, "ada")
    await engine.settle()
    assert (await engine.item("SHOP-2")).stage is Stage.ANALYSIS


# Texts that are edited before work begins.


@pytest.fixture
async def waiting(engine):
    """An item of an author, behind another one."""
    await only(engine, "ada", "bob")
    await engine.desk.freeze(PROJECT, "release")
    await file(engine, "ada")
    return await engine.item()


@pytest.mark.parametrize(("editor", "let_in"), [("ada", True), ("bob", True), ("mallory", False)])
@pytest.mark.parametrize("way", ["desk", "tracker"])
async def test_an_edited_text_is_let_in_if_its_editor_is_an_author(engine, waiting, way, editor, let_in):
    if way == "desk":
        await engine.desk.edit_item(REF, description="Thrice", by=editor)
    else:
        await engine.tracker.edit(REF, title="Count visits", description="Thrice", by=editor)
        await polling(engine).poll()
    item = await engine.item()
    assert (item.description, item.author, is_approved(item)) == ("Thrice", "ada", let_in)
    reason = await held(engine)
    assert (reason is None) is let_in
    assert let_in or "mallory" in reason
    await engine.settle()
    alerts = [text for text in engine.notifier.sent if "mallory" in text]
    assert len(alerts) == (0 if let_in else 1)


async def test_an_edit_by_an_author_lets_the_text_in_but_ends_no_hold(engine, waiting):
    await engine.desk.edit_item(REF, description="Thrice", by="mallory")
    await engine.desk.edit_item(REF, description="Four times", by="ada")
    assert is_approved(await engine.item())
    assert "mallory" in await held(engine)


async def test_a_label_changes_nothing_about_the_text(engine, waiting):
    await engine.tracker.edit(REF, title="Count visits", description="Twice", by="mallory")
    engine.tracker.label(REF, ["Bug"])
    await polling(engine).poll()
    item = await engine.item()
    assert (item.track, is_approved(item), await held(engine)) == (Track.BUG, True, None)


async def test_a_ticket_that_a_stranger_edited_before_it_was_seen_is_held(engine):
    await only(engine, "ada")
    await engine.tracker.file(PROJECT, "Count visits", author="ada", state=TrackerState.BACKLOG)
    await engine.tracker.edit(REF, title="Count visits", description="and more", by="mallory")
    engine.tracker.move(REF, TrackerState.TODO)
    await polling(engine).poll()
    assert "mallory" in await held(engine)


async def test_a_tracker_that_cannot_tell_its_members_starts_nothing(engine):
    ticket = await engine.tracker.file(PROJECT, "Count visits", author="ada")
    engine.tracker.outage = Unavailable("away")
    with pytest.raises(Unavailable):
        await engine.desk.start(ticket, source="test")
    with pytest.raises(BadInput):
        await engine.desk.item(REF)


async def test_a_text_that_was_changed_in_the_row_is_let_in_by_a_retry_of_any_stage(engine):
    item = await engine.placed(Stage.REVIEW)
    assert not is_approved(item)
    hold = Hold("the text is not one that was let in", engine.clock.now(), "an operator")
    await engine.store.transact(lambda tx: tx.facts.put_on_hold(item.task_id, hold))
    await engine.desk.retry(item.id, by="ada")
    assert is_approved(await engine.item())
    assert await engine.jobs(JobKind.LOOK)
