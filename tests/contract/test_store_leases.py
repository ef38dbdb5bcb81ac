"""Leases: one live owner at a time, void with the process that took them."""

from contextlib import AsyncExitStack

import pytest

from orchestrator.errors import Conflict, Rejected
from orchestrator.pipeline.ids import Epoch
from orchestrator.pipeline.stages import Stage
from tests.unit.store import rigs

DEPLOY = {"stage": Stage.DEPLOY, "epoch": Epoch(1), "owner": "worker 1"}


@pytest.fixture(params=rigs.DATABASES)
def rig(request, tmp_path):
    with rigs.opened(request.param, tmp_path) as rig:
        yield rig


@pytest.fixture
async def stack(rig):
    """Holds what the test entered until its end."""
    async with AsyncExitStack() as stack:
        yield stack


async def test_a_held_item_conflicts_for_everybody_until_it_is_given_back(rig):
    item, other = await rig.item(), rig.another(2000)
    async with rig.leases.hold(item.task_id, **DEPLOY) as lease:
        assert (lease.task_id, lease.stage, lease.epoch, lease.owner) == (
            item.task_id,
            "deploy",
            1,
            "worker 1",
        )
        for leases in (rig.leases, other.leases):
            with pytest.raises(Conflict, match="worker 1"):
                await leases.hold(item.task_id, **DEPLOY).__aenter__()
        (view,) = await other.leases.held()
        assert (view.task_id, view.owner, view.stage, view.live) == (item.task_id, "worker 1", "deploy", True)
        assert view.since == rigs.START
    assert await rig.leases.held() == ()
    async with other.leases.hold(item.task_id, **DEPLOY) as next_lease:
        assert next_lease.fence > lease.fence


async def test_items_are_held_independently(rig):
    one, two = await rig.item(1), await rig.item(2)
    async with rig.leases.hold(one.task_id, **DEPLOY), rig.leases.hold(two.task_id, **DEPLOY):
        assert len(await rig.leases.held()) == 2


async def test_a_failure_gives_the_lease_back(rig):
    item = await rig.item()
    with pytest.raises(ZeroDivisionError):
        async with rig.leases.hold(item.task_id, **DEPLOY):
            raise ZeroDivisionError
    assert await rig.leases.held() == ()


async def test_the_lease_of_a_dead_process_is_taken_over(rig):
    item, other = await rig.item(), rig.another(2000)
    theirs = other.leases.hold(item.task_id, **DEPLOY)
    their_lease = await theirs.__aenter__()
    rig.kill(other)
    assert [view.live for view in await rig.leases.held()] == [False]
    async with rig.leases.hold(item.task_id, **DEPLOY) as lease:
        assert lease.fence > their_lease.fence
        # The old holder comes back to life and leaves: what is not its own any more stays.
        await theirs.__aexit__(None, None, None)
        assert len(await rig.leases.held()) == 1


async def test_a_process_that_got_the_same_pid_is_another_owner(rig, stack):
    item, earlier = await rig.item(), rig.another(1000, boot="the boot before")
    await stack.enter_async_context(earlier.leases.hold(item.task_id, **DEPLOY))
    rig.kill(earlier)
    assert await rig.leases.recover_on_startup() == 1
    assert await rig.leases.held() == ()


async def test_recovery_leaves_the_living_alone(rig, stack):
    one, two, three = [await rig.item(number) for number in (1, 2, 3)]
    living, dead = rig.another(2000), rig.another(3000)
    await stack.enter_async_context(living.leases.hold(one.task_id, **DEPLOY))
    await stack.enter_async_context(dead.leases.hold(two.task_id, **DEPLOY))
    await dead.leases.take_merge("tally", two.task_id)
    await living.leases.take_merge("other", three.task_id)
    rig.kill(dead)
    assert await rig.leases.recover_on_startup() == 2
    assert [view.task_id for view in await rig.leases.held()] == [one.task_id]
    await rig.leases.take_merge("tally", one.task_id)
    with pytest.raises(Conflict):
        await rig.leases.take_merge("other", one.task_id)


async def test_a_lease_can_be_taken_away_by_force(rig):
    item, other = await rig.item(), rig.another(2000)
    held = other.leases.hold(item.task_id, **DEPLOY)
    await held.__aenter__()
    assert await rig.leases.release(item.task_id)
    assert not await rig.leases.release(item.task_id)
    async with rig.leases.hold(item.task_id, **DEPLOY):
        await held.__aexit__(None, None, None)
        assert len(await rig.leases.held()) == 1


async def test_nobody_holds_an_item_that_does_not_exist(rig):
    with pytest.raises(Rejected):
        await rig.leases.hold(rigs.NOBODY, **DEPLOY).__aenter__()


async def test_one_item_at_a_time_merges_into_a_project(rig):
    one, two = await rig.item(1), await rig.item(2)
    other = rig.another(2000)
    lease = await rig.leases.take_merge("tally", one.task_id)
    assert (lease.project, lease.task_id) == ("tally", one.task_id)
    assert await other.leases.take_merge("tally", one.task_id) == lease
    with pytest.raises(Conflict, match="ORCH-1 is merging into tally"):
        await rig.leases.take_merge("tally", two.task_id)
    assert await rig.leases.take_merge("other", two.task_id)
    await rig.leases.give_back_merge("tally", two.task_id)
    with pytest.raises(Conflict):
        await rig.leases.take_merge("tally", two.task_id)
    await rig.leases.give_back_merge("tally", one.task_id)
    assert await rig.leases.take_merge("tally", two.task_id)


async def test_the_merge_lease_of_a_dead_process_goes_to_the_next_item(rig):
    one, two, other = await rig.item(1), await rig.item(2), rig.another(2000)
    await other.leases.take_merge("tally", one.task_id)
    rig.kill(other)
    assert (await rig.leases.take_merge("tally", two.task_id)).task_id == two.task_id


async def test_a_merge_lease_registers_no_project(rig):
    item = await rig.item()
    await rig.leases.take_merge("tally", item.task_id)
    assert await rig.store.transact(lambda tx: (tx.projects.get("tally"), list(tx.projects.all()))) == (
        None,
        [],
    )
