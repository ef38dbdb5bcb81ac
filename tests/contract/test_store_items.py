"""Work items: stored as given, moved by one of two who try, dependent without cycles."""

from dataclasses import replace

import pytest

from orchestrator.errors import Conflict, Rejected
from orchestrator.pipeline.ids import CodeId, Commit, Epoch, WorkItemId
from orchestrator.pipeline.stages import Stage, Track
from orchestrator.pipeline.untrusted import text_digest
from tests.unit.store import rigs


@pytest.fixture(params=rigs.DATABASES)
def rig(request, tmp_path):
    with rigs.opened(request.param, tmp_path) as rig:
        yield rig


async def test_a_new_item_is_created_in_epoch_one(rig):
    item = await rig.item(7, labels=("bug", "Подсчёт"))
    assert (item.stage, item.epoch, item.branch_attempt) == (Stage.CREATED, 1, 1)
    assert item.created_at == item.entered_at == rigs.START
    assert (item.id, item.labels, item.head) == ("ORCH-7", ("bug", "Подсчёт"), None)


async def test_an_item_is_found_by_each_of_its_names(rig):
    item = await rig.item(7)
    await rig.item(8)
    found = await rig.store.transact(
        lambda tx: (
            tx.items.get(item.task_id),
            tx.items.by_id(item.id),
            tx.items.by_ref("ref-7"),
            tx.items.by_branch("tally", item.branch),
        )
    )
    assert found == (item,) * 4


async def test_what_was_never_stored_is_not_found(rig):
    found = await rig.store.transact(
        lambda tx: (
            tx.items.get(rigs.NOBODY),
            tx.items.by_id(WorkItemId("ORCH-1")),
            tx.items.by_ref("x"),
            tx.items.by_branch("tally", "x"),
        )
    )
    assert found == (None,) * 4


async def test_the_newest_item_of_a_branch_is_the_one_that_is_found(rig):
    await rig.item(1, branch="shared")
    newest = await rig.item(2, branch="shared")
    assert await rig.store.transact(lambda tx: tx.items.by_branch("tally", "shared")) == newest


async def test_a_number_of_two_projects_names_no_one_item(rig):
    await rig.item(1)
    await rig.item(1, project="other", tracker_ref="ref-other")
    with pytest.raises(Rejected, match="ORCH-1 is an item of each of tally, other"):
        await rig.store.transact(lambda tx: tx.items.by_id(WorkItemId("ORCH-1")))


@pytest.mark.parametrize(
    "taken", [{"tracker_ref": "ref-1", "id": WorkItemId("ORCH-2")}, {"tracker_ref": "new"}]
)
async def test_a_taken_number_or_ref_conflicts(rig, taken):
    await rig.item(1)
    with pytest.raises(Conflict):
        await rig.item(1, **taken)


async def test_finished_items_are_not_open(rig):
    first, second, third = [await rig.item(number) for number in (1, 2, 3)]
    await rig.store.transact(lambda tx: tx.items.move(first, to=Stage.DONE, epoch=first.epoch))
    await rig.store.transact(lambda tx: tx.items.move(second, to=Stage.CANCELLED, epoch=second.epoch))
    assert await rig.store.transact(lambda tx: tx.items.open()) == [third]
    assert await rig.store.transact(lambda tx: tx.items.open("another")) == []
    assert [i.id for i in await rig.store.transact(lambda tx: tx.items.all("tally"))] == [
        "ORCH-1",
        "ORCH-2",
        "ORCH-3",
    ]


async def test_a_move_changes_stage_epoch_and_the_moment_of_entry(rig):
    item = await rig.item()
    rig.pass_time(hours=1)
    moved = await rig.store.transact(lambda tx: tx.items.move(item, to=Stage.ANALYSIS, epoch=Epoch(2)))
    assert (moved.stage, moved.epoch, moved.entered_at) == (Stage.ANALYSIS, 2, rig.clock.now())
    assert moved.created_at == rigs.START
    assert await rig.store.transact(lambda tx: tx.items.get(item.task_id)) == moved


async def test_of_two_who_move_an_item_the_second_conflicts_and_stores_nothing(rig):
    item = await rig.item()
    await rig.another(2000).store.transact(
        lambda tx: tx.items.move(item, to=Stage.ANALYSIS, epoch=item.epoch)
    )

    def lose(tx):
        tx.projects.remember("loser", "was here")
        tx.items.move(item, to=Stage.CANCELLED, epoch=item.epoch)

    with pytest.raises(Conflict, match=r"ORCH-1 is not in created \(epoch 1\) any more"):
        await rig.store.transact(lose)
    stored, trace = await rig.store.transact(
        lambda tx: (tx.items.get(item.task_id), tx.projects.recall("loser"))
    )
    assert (stored.stage, trace) == (Stage.ANALYSIS, None)


async def test_the_same_stage_of_another_epoch_is_not_moved(rig):
    item = await rig.item()
    await rig.store.transact(lambda tx: tx.items.move(item, to=item.stage, epoch=Epoch(2)))
    with pytest.raises(Conflict):
        await rig.store.transact(lambda tx: tx.items.move(item, to=Stage.ANALYSIS, epoch=item.epoch))


async def test_a_new_items_text_is_let_in_by_nobody_until_it_is(rig):
    item = await rig.item(author="ada", title="Count\0 twice")
    assert (item.author, item.text_approved) == ("ada", text_digest(item.title, item.description))
    new = await rig.store.transact(lambda tx: tx.items.add(replace(rigs.new_item(2), author="mallory")))
    assert (new.author, new.text_approved) == ("mallory", "")
    await rig.store.transact(lambda tx: tx.items.approve_text(new.task_id, "d" * 64))
    stored = await rig.store.transact(lambda tx: tx.items.get(new.task_id))
    assert stored == replace(new, text_approved="d" * 64)


async def test_notes_change_only_what_they_are_about(rig):
    item = await rig.item()

    def note(tx):
        tx.items.note_head(item.task_id, head=Commit("c" * 40), code=CodeId("d" * 40))
        tx.items.note_pull_request(item.task_id, 12)
        tx.items.note_merged(item.task_id, Commit("e" * 40))
        tx.items.note_ticket(item.task_id, title="T", description="D", labels=["x"], track=Track.BUG)
        return tx.items.get(item.task_id)

    noted = await rig.store.transact(note)
    assert (noted.head, noted.code, noted.merged, noted.pull_request) == ("c" * 40, "d" * 40, "e" * 40, 12)
    assert (noted.title, noted.description, noted.labels, noted.track) == ("T", "D", ("x",), Track.BUG)
    assert (noted.stage, noted.epoch, noted.branch) == (item.stage, item.epoch, item.branch)


async def test_another_branch_forgets_pull_request_and_merge(rig):
    item = await rig.item()

    def renew(tx):
        tx.items.note_pull_request(item.task_id, 12)
        tx.items.note_merged(item.task_id, Commit("e" * 40))
        tx.items.note_branch(item.task_id, "feature/orch-1-2", 2)
        return tx.items.get(item.task_id)

    renewed = await rig.store.transact(renew)
    assert (renewed.branch, renewed.branch_attempt) == ("feature/orch-1-2", 2)
    assert (renewed.pull_request, renewed.merged) == (None, None)


async def test_a_note_about_nobody_is_rejected(rig):
    with pytest.raises(Rejected, match="no work item"):
        await rig.store.transact(lambda tx: tx.items.note_pull_request(rigs.NOBODY, 1))


async def test_an_item_is_blocked_until_what_it_depends_on_is_finished(rig):
    item, needed = await rig.item(1), await rig.item(2)

    def depend(tx):
        tx.items.depend(item.task_id, needed.task_id)
        tx.items.depend(item.task_id, needed.task_id)
        return tx.items.blockers(item.task_id), tx.items.blockers(needed.task_id)

    assert await rig.store.transact(depend) == ([needed], [])
    await rig.store.transact(lambda tx: tx.items.move(needed, to=Stage.DONE, epoch=needed.epoch))
    assert await rig.store.transact(lambda tx: tx.items.blockers(item.task_id)) == []


async def test_a_cycle_of_dependencies_is_rejected_and_named(rig):
    one, two, three = [await rig.item(number) for number in (1, 2, 3)]
    await rig.store.transact(lambda tx: tx.items.depend(one.task_id, two.task_id))
    await rig.store.transact(lambda tx: tx.items.depend(two.task_id, three.task_id))
    with pytest.raises(Rejected, match="ORCH-3 → ORCH-1 → ORCH-2 → ORCH-3"):
        await rig.store.transact(lambda tx: tx.items.depend(three.task_id, one.task_id))
    with pytest.raises(Rejected, match="ORCH-1 → ORCH-1"):
        await rig.store.transact(lambda tx: tx.items.depend(one.task_id, one.task_id))
    assert await rig.store.transact(lambda tx: tx.items.blockers(three.task_id)) == []


async def test_text_that_no_database_stores_is_kept_as_far_as_possible(rig):
    item = await rig.item(title="nul \0 and half \ud800, кириллица 🦊")
    assert item.title == "nul \ufffd and half ?, кириллица 🦊"
