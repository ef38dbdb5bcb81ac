"""Read models: one card per item with what its waiting is explained by; the queue; lead times; a backup."""

from datetime import timedelta

import pytest

from orchestrator.errors import BadInput
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.ids import Epoch
from orchestrator.pipeline.items import Hold
from orchestrator.pipeline.rounds import Round
from orchestrator.pipeline.stages import Role, Stage
from orchestrator.pipeline.verdicts import Inconclusive
from orchestrator.ports.queue import JobKind, JobStatus
from orchestrator.ports.store import TransitionRow, VerdictRow
from orchestrator.store import OpenJob, Owner, SqlStore, backup
from orchestrator.testing.clock import ManualClock
from tests.unit.store import rigs

HOLD = Hold("three rounds are spent", rigs.START, "an operator")


@pytest.fixture(params=rigs.DATABASES)
def rig(request, tmp_path):
    with rigs.opened(request.param, tmp_path) as rig:
        yield rig


def doubt(reason, epoch=1):
    return VerdictRow(GateName.CI_GREEN, Inconclusive(reason), Epoch(epoch), Stage.DEVELOPMENT, rigs.START)


async def test_a_card_shows_what_an_explanation_needs(rig):
    item, needed = await rig.item(1), await rig.item(2)

    def facts(tx):
        tx.facts.put_on_hold(item.task_id, HOLD)
        tx.facts.add_round(item.task_id, Round(1, GateName.CI_GREEN, Role.DEVELOPER, "red"))
        tx.facts.add_round(item.task_id, Round(2, GateName.CI_GREEN, Role.DEVELOPER, "red"))
        tx.facts.add_verdict(item.task_id, doubt("older"))
        tx.facts.add_verdict(item.task_id, doubt("newest"))
        tx.facts.add_verdict(item.task_id, doubt("of another epoch", 2))
        tx.items.depend(item.task_id, needed.task_id)
        tx.jobs.enqueue(rigs.produce(item))
        tx.jobs.enqueue(rigs.produce(needed))

    await rig.store.transact(facts)
    rig.pass_time(minutes=1)
    await rig.queue.claim([JobKind.PRODUCE])
    one, two = await rig.views.board()
    assert (one.id, one.title, one.project, one.stage, one.epoch) == (
        "ORCH-1",
        "Count twice",
        "tally",
        "created",
        1,
    )
    assert (one.hold, one.rounds, one.blocked_by) == (HOLD, 2, ("ORCH-2",))
    assert one.verdict == doubt("newest")
    assert one.job == OpenJob("developer", JobStatus.QUEUED, rigs.START)
    assert two.job == OpenJob("developer", JobStatus.RUNNING, rigs.START + timedelta(minutes=1))
    assert (two.hold, two.rounds, two.verdict, two.blocked_by) == (None, 0, None, ())


async def test_the_board_shows_the_items_that_ended_last(rig):
    for number in range(1, 5):
        item = await rig.item(number)
        if number < 4:
            rig.pass_time(minutes=1)
            await rig.store.transact(
                lambda tx, item=item: tx.items.move(item, to=Stage.DONE, epoch=item.epoch)
            )
    assert [card.id for card in await rig.views.board(finished=2)] == ["ORCH-2", "ORCH-3", "ORCH-4"]


async def test_an_empty_board_is_empty(rig):
    assert await rig.views.board() == []


async def test_the_queue_at_a_glance(rig):
    first = await rig.enqueue()
    await rig.queue.claim([JobKind.LOOK])
    second = await rig.enqueue()
    third = await rig.enqueue(delay=timedelta(minutes=1))
    view = await rig.views.queue_view(limit=2)
    assert (view.counts["queued"], view.counts["running"], view.counts["failed"], view.due) == (2, 1, 0, 1)
    assert [job.id for job in view.running] == [first]
    assert [job.id for job in view.recent] == [third, second]


async def test_lead_time_runs_from_creation_to_done(rig):
    item = await rig.item()
    await rig.item(2)
    rig.pass_time(hours=3)

    def finish(tx):
        tx.items.move(item, to=Stage.DONE, epoch=item.epoch)
        row = TransitionRow(rig.clock.now(), Stage.DEPLOY, Stage.DONE, item.epoch, "advance", "", "", None)
        tx.facts.add_transition(item.task_id, row)

    await rig.store.transact(finish)
    (lead,) = await rig.views.lead_times()
    assert (lead.id, lead.took, lead.done_at) == ("ORCH-1", timedelta(hours=3), rig.clock.now())


async def test_a_backup_taken_in_use_has_everything(tmp_path):
    with rigs.opened("sqlite", tmp_path) as rig:
        await rig.item()
        copy = tmp_path / "copy.db"
        backup(rig.url, copy)
        store = SqlStore(f"sqlite:///{copy}", ManualClock(rigs.START), Owner(1, "boot"))
        assert [item.id for item in await store.transact(lambda tx: tx.items.all())] == ["ORCH-1"]
        store.close()
        with pytest.raises(BadInput, match="exists already"):
            backup(rig.url, copy)
        assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy.db"]


@pytest.mark.parametrize(
    ("url", "name", "message"),
    [("postgresql://host/name", "copy.db", "pg_dump"), ("sqlite://", "missing/copy.db", "no folder")],
)
def test_a_backup_that_cannot_be_made_says_why(tmp_path, url, name, message):
    with pytest.raises(BadInput, match=message):
        backup(url, tmp_path / name)
