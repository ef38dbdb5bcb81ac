"""The deploy log says SUCCESS only when the hook did and production proves it."""

import os
from dataclasses import replace
from datetime import timedelta

import pytest

from orchestrator.delivery.deploy import DeployHook
from orchestrator.delivery.verification import Verification
from orchestrator.pipeline.machine_keys import KeyFailed, KeyPassed, read_deploy_status
from orchestrator.pipeline.stages import Stage
from orchestrator.pipeline.verdicts import FailureClass
from orchestrator.ports.producer import Deferred, GaveUp, Produced
from orchestrator.producers.deploy_finalizer import DeployFinalizer
from tests.unit.producers.bench import (
    AWAY,
    SICK,
    WELL,
    ScriptedProbe,
    bench,
    contract,
    counting,
    interrupted,
    job,
    shell,
    values,
)

HEALTH = "http://127.0.0.1:${ORCH_PORT_PRODUCTION}/health"
NAMES_THE_COMMIT = shell('echo "{\\"revision\\": \\"$(git rev-parse HEAD)\\"}"')


@pytest.fixture
async def shop(tmp_path):
    return await bench(tmp_path)


def finalizer(shop, *answers, **settings):
    self_hosting = settings.pop("self_hosting", "orchestrator")
    hook = DeployHook(
        commands=shop.commands,
        processes=shop.processes,
        sources=shop.sources,
        clock=shop.clock,
        state_dir=shop.home / "state",
        patience=timedelta(minutes=10),
    )
    verification = Verification(
        hook=hook, probe=ScriptedProbe(*answers), clock=shop.clock, health_limit=timedelta(seconds=3)
    )
    return DeployFinalizer(
        hook=hook,
        verification=verification,
        reports=shop.reports,
        settings=shop.settings(**settings),
        self_hosting=self_hosting,
    )


def ordered(shop, run=("true",), **deploy):
    section = {"run": list(run) if isinstance(run, tuple) else run, **deploy}
    given = shop.assignment(Stage.DEPLOY, contract(deploy=section))
    return replace(given, item=replace(given.item, merged=shop.start))


async def test_a_proven_deployment_is_a_success(shop):
    given = ordered(shop, shell("echo went live"), health=HEALTH, revision=NAMES_THE_COMMIT)
    produced = await finalizer(shop, AWAY, SICK, WELL).produce(given)
    assert isinstance(produced, Produced)
    document = await shop.document(produced.delivered, "14-deploy-log.md")
    assert list(values(document).items()) == [
        ("deploy_status", "SUCCESS"),
        ("work_item", "SHOP-1"),
        ("hook_exit_code", "0"),
        ("deployed_by", "deploy-finalizer"),
        ("stage", "deploy"),
        ("author_agent", "deploy-finalizer"),
        ("status", "success"),
        ("created_at", "2026-03-01"),
        ("model_used", "n/a"),
    ]
    assert isinstance(read_deploy_status(document.meta), KeyPassed)
    assert "went live" in document.body
    assert f"Revision: `{shop.start}`" in document.body
    assert shop.author(produced.delivered).startswith("deploy-finalizer <deploy-finalizer@orch.example>")


@pytest.mark.parametrize(
    ("run", "deploy", "answer", "reason"),
    [
        (shell("exit 1"), {}, WELL, "the hook ended with 1"),
        (shell("exit 2"), {}, WELL, "the hook ended with 2"),
        (shell("exit 77"), {}, WELL, "the hook ended with 77"),
        (("true",), {"health": HEALTH}, SICK, "not healthy within 3 s"),
        (("true",), {"health": HEALTH}, AWAY, "connection refused"),
        (("true",), {"revision": ["echo", '{"revision": "old"}']}, WELL, "production says it runs old"),
        (("true",), {"revision": ["false"]}, WELL, "production says it runs nothing"),
    ],
)
async def test_anything_else_is_a_failure(shop, run, deploy, answer, reason):
    produced = await finalizer(shop, answer).produce(ordered(shop, run, **deploy))
    document = await shop.document(produced.delivered, "14-deploy-log.md")
    assert (produced.verdict, produced.tool_error) == ("FAILED", "")
    assert isinstance(read_deploy_status(document.meta), KeyFailed)
    assert reason in produced.summary
    assert reason in document.body


async def test_a_hook_that_cannot_start_is_tried_within_a_budget(shop):
    given = ordered(shop, ("no-such-hook",))
    deferred = await finalizer(shop).produce(given)
    assert isinstance(deferred, Deferred)
    assert deferred.marker == "deploy-finalizer infra-retry"
    produced = await finalizer(shop).produce(replace(given, job=job(Stage.DEPLOY, 9), defers=2))
    document = await shop.document(produced.delivered, "14-deploy-log.md")
    assert (produced.verdict, document.meta["hook_exit_code"]) == ("FAILED", "null")
    assert "could not start" in produced.tool_error


async def test_a_revision_that_cannot_be_asked_for_is_asked_again_without_deploying_again(shop):
    asks = shop.home / "ask.sh"
    given = ordered(shop, counting(), revision=[str(asks)])
    assert isinstance(await finalizer(shop).produce(given), Deferred)
    asks.write_text("#!/bin/sh\ngit rev-parse HEAD\n")
    asks.chmod(0o755)
    produced = await finalizer(shop).produce(replace(given, job=job(Stage.DEPLOY, 9), defers=1))
    assert (produced.verdict, shop.counted()) == ("SUCCESS", 1)


async def test_an_outcome_that_nobody_knows_calls_a_person_at_once(shop):
    given = ordered(shop, counting("sleep 30"), timeout_s=1)
    produced = await finalizer(shop).produce(given)
    assert produced.verdict == "FAILED"
    assert "nobody knows how the hook ended" in produced.tool_error


async def test_a_deployment_goes_on_after_an_interruption_and_is_reported_once(shop):
    go, begun = shop.home / "go", shop.home / "begun"
    given = ordered(shop, counting(f"touch {begun}; until [ -e {go} ]; do sleep 0.01; done"))
    await interrupted(finalizer(shop).produce(given), begun.exists)
    go.touch()
    first = await finalizer(shop).produce(given)
    second = await finalizer(shop).produce(given)
    assert (first.verdict, shop.counted()) == ("SUCCESS", 1)
    assert first.delivered == second.delivered


async def test_the_hooks_checkout_is_cleared_away_and_its_sentinels_stay(shop):
    await finalizer(shop).produce(ordered(shop, revision=NAMES_THE_COMMIT))
    (sentinel,) = (shop.home / "state" / ".deploy-state-shop" / "SHOP-1").iterdir()
    assert {"initiated", "result", "hook-1"} <= set(os.listdir(sentinel))
    assert not (sentinel / "checkout").exists()


async def test_where_nothing_is_deployed_the_log_says_so(shop):
    given = shop.assignment(Stage.DEPLOY, contract())
    produced = await finalizer(shop).produce(given)
    document = await shop.document(produced.delivered, "14-deploy-log.md")
    assert produced.verdict == "N/A"
    assert isinstance(read_deploy_status(document.meta), KeyPassed)
    assert "not applicable" in document.body


async def test_nothing_is_deployed_that_was_not_merged(shop):
    given = shop.assignment(Stage.DEPLOY, contract(deploy={"run": counting()}))
    gave_up = await finalizer(shop).produce(given)
    assert isinstance(gave_up, GaveUp)
    assert (gave_up.failure, gave_up.retryable, shop.counted()) == (FailureClass.BUG, False, 0)


@pytest.mark.parametrize(
    ("stage", "declared", "settings", "applies"),
    [
        (Stage.DEPLOY, True, {}, True),
        (Stage.DEPLOY, False, {}, True),
        (Stage.DEPLOY_STAGING, True, {}, False),
        (Stage.DEPLOY, True, {"self_deploy_enabled": False}, False),
        (Stage.DEPLOY, True, {"self_deploy_repos": "other"}, False),
        (Stage.DEPLOY, False, {"self_hosting": "shop"}, False),
        (Stage.DEPLOY, True, {"self_hosting": "shop"}, True),
    ],
)
async def test_it_applies_where_code_can_deploy(shop, stage, declared, settings, applies):
    given = contract(deploy={"run": ["true"]}) if declared else None
    assert finalizer(shop, **settings).applies(shop.item, stage, given) is applies
