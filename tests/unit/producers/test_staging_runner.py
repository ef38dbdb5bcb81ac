"""Staging is brought up from exactly the ordered commit, and its commands' exit codes decide (ORCH-115)."""

import os
import signal
from dataclasses import replace
from datetime import timedelta

import pytest

from orchestrator.pipeline.machine_keys import KeyFailed, KeyPassed, read_staging_status
from orchestrator.pipeline.stages import Stage
from orchestrator.ports.producer import Deferred, Produced
from orchestrator.producers.staging_runner import StagingRunner
from tests.unit.producers.bench import bench, contract, counting, interrupted, job, shell, values

NAMES_THE_COMMIT = shell('echo "{\\"status\\": \\"ok\\", \\"revision\\": \\"$(git rev-parse HEAD)\\"}"')


@pytest.fixture
async def shop(tmp_path):
    return await bench(tmp_path)


def runner(shop, **settings):
    self_hosting = settings.pop("self_hosting", "orchestrator")
    return StagingRunner(
        attempts=shop.attempts,
        reports=shop.reports,
        settings=shop.settings(**settings),
        self_hosting=self_hosting,
    )


def ordered(shop, **staging):
    section = {"check": ["true"], "timeout_s": 20, **staging}
    return shop.assignment(Stage.DEPLOY_STAGING, contract(staging=section))


async def test_the_log_carries_the_verdict_and_what_was_waived(shop):
    waived = "INFRA-WAIVED: C9a, C9b"
    given = ordered(
        shop, check=shell(f"echo '{waived}'; echo 'VERDICT: SUCCESS (exit 0)'"), revision=NAMES_THE_COMMIT
    )
    produced = await runner(shop).produce(given)
    assert isinstance(produced, Produced)
    assert (produced.verdict, produced.artifact) == ("SUCCESS", "docs/work-items/SHOP-1/15-staging-log.md")
    document = await shop.document(produced.delivered, "15-staging-log.md")
    assert list(values(document).items()) == [
        ("staging_status", "SUCCESS"),
        ("work_item", "SHOP-1"),
        ("stage", "deploy-staging"),
        ("author_agent", "staging-runner"),
        ("status", "success"),
        ("created_at", "2026-03-01"),
        ("model_used", "n/a"),
        ("exit_code", "0"),
        ("base_url", "http://localhost:18501"),
    ]
    assert isinstance(read_staging_status(document.meta), KeyPassed)
    assert f"- {waived}" in document.body
    assert shop.author(produced.delivered).endswith("staging(SHOP-1): staging gate SUCCESS")


async def test_the_steps_are_done_in_their_order(shop):
    trace = shop.home / "trace"
    steps = {
        name: shell(f"echo {name} >> {trace}; false") if name == "stop" else shell(f"echo {name} >> {trace}")
        for name in ("stop", "build", "start", "check")
    }
    produced = await runner(shop).produce(ordered(shop, **steps))
    assert trace.read_text().split() == ["stop", "build", "start", "check"]
    assert produced.verdict == "SUCCESS"


@pytest.mark.parametrize(
    ("steps", "exit_code", "fault"),
    [
        ({"check": shell("exit 1")}, "1", ""),
        ({"build": shell("exit 2")}, "2", "build ended with 2"),
        ({"start": shell("exit 3")}, "3", "start ended with 3"),
        ({"revision": ["echo", '{"revision": "old"}']}, "0", "staging says it runs old"),
        ({"revision": ["echo", "{}"]}, "0", "staging says it runs nothing"),
        ({"revision": ["false"]}, "0", "staging says it runs nothing"),
    ],
)
async def test_a_step_that_says_no_fails_the_code(shop, steps, exit_code, fault):
    produced = await runner(shop).produce(ordered(shop, **steps))
    document = await shop.document(produced.delivered, "15-staging-log.md")
    assert (produced.verdict, produced.tool_error) == ("FAILED", "")
    assert isinstance(read_staging_status(document.meta), KeyFailed)
    assert document.meta["exit_code"] == exit_code
    assert fault in document.body


async def test_nothing_is_checked_when_the_build_fails(shop):
    produced = await runner(shop).produce(ordered(shop, build=["false"], check=counting()))
    assert (produced.verdict, shop.counted()) == ("FAILED", 0)


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ({"check": ["no-such-program"]}, "check: "),
        ({"check": ["sleep", "30"], "timeout_s": 1}, "check: no answer within 1 s"),
        ({"build": ["no-such-program"]}, "build: "),
        ({"revision": ["no-such-program"]}, "revision: "),
        ({"check": ["echo", "${NOWHERE}"]}, "NOWHERE"),
    ],
)
async def test_a_step_that_did_not_run_is_deferred_without_a_verdict(shop, steps, reason):
    stage = runner(shop, staging_runner_infra_retry_delay_s=7)
    deferred = await stage.produce(ordered(shop, **steps))
    assert isinstance(deferred, Deferred)
    assert (deferred.marker, deferred.after) == ("staging-runner infra-retry", timedelta(seconds=7))
    assert reason in deferred.reason
    assert (await shop.workspace.head(shop.branch)).commit == shop.start
    assert (stage.snapshot()["tool_error"], stage.snapshot()["deferred"]) == (1, 1)


async def test_a_budget_of_none_fails_closed_at_once(shop):
    stage = runner(shop, staging_runner_infra_max_retries=0)
    produced = await stage.produce(ordered(shop, check=["no-such-program"]))
    assert (produced.verdict, "could not run, 1 times" in produced.tool_error) == ("FAILED", True)
    counters = {name: stage.snapshot()[name] for name in ("runs", "success", "failed", "deferred")}
    assert counters == {"runs": 1, "success": 0, "failed": 1, "deferred": 0}


async def test_what_was_started_goes_on_and_runs_no_other_code(shop):
    """The start command detaches; the service outlives the checkout that it was started from."""
    pid = shop.home / "pid"
    start = shell(f"git rev-parse HEAD > {shop.home}/ran; sleep 60 & echo $! > {pid}")
    try:
        produced = await runner(shop).produce(ordered(shop, start=start, check=["test", "-f", "feature.py"]))
        os.kill(int(pid.read_text()), 0)
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)
    assert produced.verdict == "SUCCESS"
    assert (shop.home / "ran").read_text().strip() == shop.start
    assert list((shop.home / "runs").rglob("checkout")) == []


async def test_an_interrupted_rehearsal_goes_on_where_it_was(shop):
    """The check keeps its checkout when we are stopped, and no step is done twice."""
    go, begun = shop.home / "go", shop.home / "begun"
    waiting = counting(f"touch {begun}; until [ -e {go} ]; do sleep 0.01; done; test -f feature.py")
    given = ordered(shop, build=counting(), check=waiting, revision=NAMES_THE_COMMIT)
    await interrupted(runner(shop).produce(given), begun.exists)
    go.touch()
    produced = await runner(shop).produce(given)
    assert (produced.verdict, shop.counted()) == ("SUCCESS", 2)


async def test_a_later_try_does_every_step_anew(shop):
    given = ordered(shop, build=counting(), check=["no-such-program"])
    await runner(shop).produce(given)
    again = replace(given, job=job(Stage.DEPLOY_STAGING, 8), defers=1)
    assert isinstance(await runner(shop).produce(again), Deferred)
    assert shop.counted() == 2


async def test_a_project_without_staging_is_not_held_up(shop):
    stage = runner(shop)
    assert stage.applies(shop.item, Stage.DEPLOY_STAGING, None)
    produced = await stage.produce(shop.assignment(Stage.DEPLOY_STAGING, None))
    assert (produced.delivered, produced.verdict, produced.artifact) == (shop.start, "N/A", "")
    assert stage.snapshot()["runs"] == 0


@pytest.mark.parametrize(
    ("stage", "declared", "settings", "applies"),
    [
        (Stage.DEPLOY_STAGING, True, {}, True),
        (Stage.DEPLOY, True, {}, False),
        (Stage.DEPLOY_STAGING, True, {"staging_runner_enabled": False}, False),
        (Stage.DEPLOY_STAGING, False, {"staging_runner_enabled": False}, False),
        (Stage.DEPLOY_STAGING, True, {"staging_runner_repos": "other"}, False),
        (Stage.DEPLOY_STAGING, True, {"staging_runner_repos": "Shop"}, True),
        (Stage.DEPLOY_STAGING, False, {"self_hosting": "shop"}, False),
        (Stage.DEPLOY_STAGING, True, {"self_hosting": "shop"}, True),
    ],
)
async def test_it_applies_by_stage_and_not_by_role(shop, stage, declared, settings, applies):
    given = contract(staging={"check": ["true"]}) if declared else contract()
    assert runner(shop, **settings).applies(shop.item, stage, given) is applies


async def test_the_installation_limits_what_the_contract_does_not(shop):
    given = shop.assignment(Stage.DEPLOY_STAGING, contract(staging={"check": ["sleep", "30"]}))
    deferred = await runner(shop, staging_runner_timeout_s=1).produce(given)
    assert "no answer within 1 s" in deferred.reason
    assert list((shop.home / "runs").rglob("checkout")) == []
