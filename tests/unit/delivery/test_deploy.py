"""One confirm starts one deployment, and what came of it is found out however often we are interrupted."""

import signal
from dataclasses import replace
from datetime import timedelta

import psutil
import pytest

from orchestrator.delivery.deploy import (
    DeployHook,
    DeployOrder,
    HookState,
    Status,
    map_exit_code_to_status,
)
from orchestrator.pipeline.ids import Epoch
from orchestrator.plumbing.processes.records import read_identity
from tests.unit.producers.bench import bench, contract, counting, eventually, interrupted, shell


@pytest.fixture
async def shop(tmp_path):
    return await bench(tmp_path)


def hook(shop) -> DeployHook:
    return DeployHook(
        commands=shop.commands,
        processes=shop.processes,
        sources=shop.sources,
        clock=shop.clock,
        state_dir=shop.home / "state",
        patience=timedelta(minutes=10),
    )


def order(shop, run, **changes) -> DeployOrder:
    section = contract(deploy={"run": run}).deploy
    assert section is not None
    made = DeployOrder(
        project="shop",
        work_item=shop.item.id,
        epoch=Epoch(3),
        merged=shop.start,
        deploy=section,
        limit=timedelta(seconds=20),
    )
    return replace(made, **changes)


@pytest.mark.parametrize("code", [1, 2, 137, -9, None, "0", "", 0.0, False, True, object()])
def test_everything_but_a_plain_zero_is_a_failure(code):
    assert map_exit_code_to_status(code) is Status.FAILED


def test_zero_is_success():
    assert map_exit_code_to_status(0) == "SUCCESS"


@pytest.mark.parametrize("code", [0, 1, 2, 7])
async def test_the_hooks_exit_code_stays_in_its_sentinel(shop, code):
    wanted = order(shop, shell(f"echo deployed; exit {code}"))
    end = await hook(shop).carry_out(wanted)
    assert (end.state, end.exit_code, end.output) == (HookState.ENDED, code, "deployed\n")
    sentinel = shop.home / "state" / ".deploy-state-shop" / "SHOP-1" / f"{shop.start}-e3"
    assert (sentinel / "result").read_text() == f"{code}\n"
    assert "2026-03-01T12:00:00" in (sentinel / "initiated").read_text()


async def test_one_confirm_starts_the_hook_once(shop):
    wanted = order(shop, counting())
    first = await hook(shop).carry_out(wanted)
    assert await hook(shop).carry_out(wanted) == first
    assert shop.counted() == 1


async def test_another_epoch_is_another_confirm(shop):
    await hook(shop).carry_out(order(shop, counting()))
    await hook(shop).carry_out(order(shop, counting(), epoch=Epoch(4)))
    assert shop.counted() == 2


async def test_the_hook_runs_in_the_merged_commit_and_is_told_what_it_needs(shop):
    told = 'test "$(git rev-parse HEAD)" = "$ORCH_REVISION" && test -z "$(git status --porcelain)"'
    line = f'{told} && echo "$ORCH_ENVIRONMENT $ORCH_WORK_ITEM $ORCH_PORT_PRODUCTION"'
    end = await hook(shop).carry_out(order(shop, shell(line)))
    assert (end.exit_code, end.output) == (0, "production SHOP-1 18500\n")


async def test_a_hook_survives_us_with_the_ground_under_its_feet(shop):
    go, begun = shop.home / "go", shop.home / "begun"
    line = (
        f"touch {begun}; until [ -e {go} ]; do sleep 0.01; done; test -f feature.py && git log -1 --format=%s"
    )
    wanted = order(shop, counting(line))
    await interrupted(hook(shop).carry_out(wanted), begun.exists)
    go.touch()
    end = await hook(shop).carry_out(wanted)
    assert (end.state, end.exit_code, end.output) == (HookState.ENDED, 0, "Count\n")
    assert shop.counted() == 1


async def test_a_service_that_the_hook_started_goes_on(shop):
    pid = shop.home / "pid"
    end = await hook(shop).carry_out(order(shop, shell(f"sleep 60 & echo $! > {pid}")))
    service = psutil.Process(int(pid.read_text()))
    running = service.is_running()
    service.kill()
    assert (end.exit_code, running) == (0, True)


async def test_a_hook_that_cannot_be_executed_may_be_started_again(shop):
    """The system refused it, so production cannot have changed."""
    program = shop.home / "hook.sh"
    wanted = order(shop, [str(program)])
    end = await hook(shop).carry_out(wanted)
    assert (end.state, "hook.sh" in end.reason) == (HookState.NOT_STARTED, True)
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    end = await hook(shop).carry_out(wanted)
    assert (end.state, end.exit_code) == (HookState.ENDED, 0)


async def test_a_hook_that_took_too_long_is_not_started_again(shop):
    wanted = order(shop, counting("sleep 30"), limit=timedelta(milliseconds=300))
    for _ in range(2):
        end = await hook(shop).carry_out(wanted)
        assert (end.state, end.exit_code) == (HookState.UNKNOWN, None)
        assert "no answer within 0.3 s" in end.reason
    assert shop.counted() == 1


async def lost(shop, wanted) -> None:
    """The hook's supervisor dies without a word, as when its container is replaced."""
    place = hook(shop).sentinel(wanted) / "hook-1"
    await interrupted(
        hook(shop).carry_out(wanted), lambda: (place / "supervisor.json").exists() and shop.counted()
    )
    identity = read_identity(place / "supervisor.json")
    assert identity is not None
    psutil.Process(identity.pid).send_signal(signal.SIGKILL)
    await eventually(lambda: not psutil.pid_exists(identity.pid) or _is_zombie(identity.pid))


def _is_zombie(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def test_a_lost_hook_may_still_leave_its_result_itself(shop):
    wanted = order(shop, counting("sleep 30"))
    await lost(shop, wanted)
    assert (await hook(shop).carry_out(wanted)).state is HookState.PENDING
    # What the hook does on another host: the path was in its ORCH_DEPLOY_RESULT.
    (hook(shop).sentinel(wanted) / "result").write_text("0")
    end = await hook(shop).carry_out(wanted)
    assert (end.state, end.exit_code, shop.counted()) == (HookState.ENDED, 0, 1)


async def test_a_result_that_never_comes_is_a_failure_of_nobodys_code(shop):
    wanted = order(shop, counting("sleep 30"))
    await lost(shop, wanted)
    shop.clock.advance(timedelta(minutes=11))
    end = await hook(shop).carry_out(wanted)
    assert (end.state, shop.counted()) == (HookState.UNKNOWN, 1)


async def test_the_path_of_the_result_is_told_to_the_hook(shop):
    wanted = order(shop, shell('echo "$ORCH_DEPLOY_RESULT"'))
    end = await hook(shop).carry_out(wanted)
    assert end.output.strip() == str(hook(shop).sentinel(wanted) / "result")
