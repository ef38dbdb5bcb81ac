"""Production is watched tick by tick, through restarts, and only what is allowed is done about it."""

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from orchestrator.config.contract import ContractError
from orchestrator.delivery.rollback import Rollback
from orchestrator.delivery.watchman import Watchman
from orchestrator.errors import AdapterError
from orchestrator.pipeline.ids import Commit, TaskId, WorkItemId
from orchestrator.pipeline.stages import Stage, Track
from orchestrator.ports.queue import Done, Job, JobKind, Later
from orchestrator.ports.store import NewItem
from orchestrator.producers.post_deploy_monitor import PostDeployMonitor
from tests.unit.producers.bench import (
    AWAY,
    SICK,
    WELL,
    Bench,
    OneProject,
    ScriptedProbe,
    bench,
    contract,
    counting,
    interrupted,
    job,
    shell,
    values,
)
from tests.unit.store.rigs import Rig, opened

WATCH = {"window_s": 20, "interval_s": 5, "health": "http://127.0.0.1:1/health"}


@dataclass
class Watch:
    """A deployed item and everything that watches it."""

    shop: Bench
    rig: Rig
    probe: ScriptedProbe
    projects: OneProject
    order: Job

    def monitor(self, **settings) -> PostDeployMonitor:
        shop = self.shop
        made = shop.settings(**settings)
        watchman = Watchman(
            probe=self.probe,
            rollback=Rollback(commands=shop.commands, sources=shop.sources),
            clock=shop.clock,
            settings=made,
            state_dir=shop.home / "state",
        )
        return PostDeployMonitor(
            store=self.rig.store,
            projects=self.projects,
            workspace=shop.workspace,
            watchman=watchman,
            reports=shop.reports,
            settings=made,
        )

    async def to_the_end(self, **settings) -> dict:
        """Tick, each time with a new monitor as after a restart, until the watch is over."""
        for _ in range(50):
            ending = await self.monitor(**settings)(self.order)
            if isinstance(ending, Done):
                return dict(ending.result)
            assert isinstance(ending, Later)
            self.shop.clock.advance(ending.after)
        raise AssertionError("the watch does not end")

    async def alerts(self) -> list[Job]:
        jobs = await self.rig.store.transact(lambda tx: tx.jobs.of_item(self.shop.item.task_id))
        return [one for one in jobs if one.kind is JobKind.NOTIFY]

    async def report(self):
        head = (await self.shop.workspace.head(self.shop.branch)).commit
        return await self.shop.document(head, "16-post-deploy-log.md")


@asynccontextmanager
async def watching(tmp_path, *answers, given=None, self_hosting=False):
    shop = await bench(tmp_path)
    given = given or contract(post_deploy=WATCH)
    with opened("sqlite", tmp_path) as rig:
        item = await rig.store.transact(lambda tx: _deployed(tx, shop))
        shop.item = item
        order = job(
            Stage.DONE, kind=JobKind.WATCH, task_id=item.task_id, epoch=item.epoch, commit=item.merged
        )
        yield Watch(shop, rig, ScriptedProbe(*answers), OneProject(given, self_hosting=self_hosting), order)


def _deployed(tx, shop):
    new = NewItem(
        id=WorkItemId("SHOP-1"),
        project="shop",
        title="Count twice",
        description="",
        tracker_ref="ref-1",
        track=Track.FULL,
        branch=shop.item.branch,
        base="main",
    )
    item = tx.items.add(new)
    tx.items.move(item, to=Stage.DONE, epoch=item.epoch)
    tx.items.note_merged(item.task_id, shop.start)
    return tx.items.get(item.task_id)


async def test_a_healthy_window_ends_with_a_report(tmp_path):
    async with watching(tmp_path, WELL) as watch:
        result = await watch.to_the_end()
        assert result == {
            "post_deploy_status": "HEALTHY",
            "action_taken": "NONE",
            "checks_total": 4,
            "checks_failed": 0,
            "window_s": 20,
        }
        document = await watch.report()
        assert list(values(document))[:6] == [
            "post_deploy_status",
            "action_taken",
            "work_item",
            "window_s",
            "checks_total",
            "checks_failed",
        ]
        assert document.meta["post_deploy_status"] == "HEALTHY"
        assert await watch.alerts() == []
        head = (await watch.shop.workspace.head(watch.shop.branch)).commit
        stored = await watch.rig.store.transact(lambda tx: tx.items.get(watch.shop.item.task_id))
        assert stored.head == head


async def test_a_single_glitch_stays_healthy(tmp_path):
    async with watching(tmp_path, WELL, SICK, WELL) as watch:
        result = await watch.to_the_end()
        assert (result["post_deploy_status"], result["checks_failed"]) == ("HEALTHY", 1)


async def test_a_degraded_production_is_told_at_once_and_once(tmp_path):
    async with watching(tmp_path, WELL, AWAY) as watch:
        result = await watch.to_the_end(post_deploy_window_s=900)
        assert (result["post_deploy_status"], result["action_taken"]) == ("DEGRADED", "ALERT_ONLY")
        assert (result["checks_total"], "reopen" in result) == (4, False)
        await watch.to_the_end()
        (alert,) = await watch.alerts()
        assert "3 failed health checks in a row" in str(alert.data["text"])
        assert alert.data["key"] == f"notify:{alert.task_id}:post-deploy:{watch.shop.start}:1"
        document = await watch.report()
        assert document.meta["post_deploy_status"] == "DEGRADED"
        assert "connection refused" in document.body


def with_rollback(run):
    return contract(post_deploy=WATCH, deploy={"run": ["true"], "rollback": run})


async def test_a_rollback_that_is_allowed_reopens_the_item(tmp_path):
    ours = shell('test "$(git rev-parse HEAD)" = "$ORCH_REVISION" && echo x >> "$COUNT"')
    async with watching(tmp_path, AWAY, given=with_rollback(ours)) as watch:
        result = await watch.to_the_end(post_deploy_auto_rollback=True)
        assert (result["action_taken"], result["reopen"]) == ("ROLLBACK_OK", True)
        assert "3 failed health checks" in result["reason"]
        again = await watch.monitor(post_deploy_auto_rollback=True)(watch.order)
        assert isinstance(again, Done)
        assert again.result["action_taken"] == "ROLLBACK_OK"
        assert watch.shop.counted() == 1


@pytest.mark.parametrize("run", [shell("exit 1"), shell("exit 2"), ["no-such-program"]])
async def test_a_rollback_that_fails_reopens_nothing(tmp_path, run):
    async with watching(tmp_path, AWAY, given=with_rollback(run)) as watch:
        result = await watch.to_the_end(post_deploy_auto_rollback=True)
        assert (result["action_taken"], "reopen" in result) == ("ROLLBACK_FAILED", False)


@pytest.mark.parametrize(
    ("settings", "self_hosting", "run"),
    [
        ({}, False, counting()),
        ({"post_deploy_auto_rollback": True}, True, counting()),
        ({"post_deploy_auto_rollback": True}, False, None),
    ],
    ids=["switched off", "our own production", "no rollback declared"],
)
async def test_nothing_is_rolled_back_that_must_not_be(tmp_path, settings, self_hosting, run):
    given = with_rollback(run) if run is not None else None
    async with watching(tmp_path, AWAY, given=given, self_hosting=self_hosting) as watch:
        result = await watch.to_the_end(**settings)
        assert (result["action_taken"], watch.shop.counted()) == ("ALERT_ONLY", 0)


async def test_a_rollback_goes_on_after_an_interruption(tmp_path):
    go, begun = tmp_path / "go", tmp_path / "begun"
    run = counting(f"touch {begun}; until [ -e {go} ]; do sleep 0.01; done")
    async with watching(tmp_path, AWAY, given=with_rollback(run)) as watch:
        await interrupted(watch.to_the_end(post_deploy_auto_rollback=True), begun.exists)
        go.touch()
        # Production answers again meanwhile; what was seen before still counts.
        watch.probe.answers = [WELL]
        result = await watch.to_the_end(post_deploy_auto_rollback=True)
        assert (result["action_taken"], watch.shop.counted()) == ("ROLLBACK_OK", 1)


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        (contract(), {}),
        (contract(post_deploy={}), {}),
        (contract(post_deploy={"health": "http://${NOWHERE}/"}), {}),
        (ContractError(".orchestrator.yml:1:1: it is no contract"), {}),
        (contract(post_deploy=WATCH), {"post_deploy_monitor_enabled": False}),
        (contract(post_deploy=WATCH), {"post_deploy_repos": "other"}),
    ],
)
async def test_what_cannot_or_shall_not_be_watched_ends_at_once(tmp_path, given, settings):
    async with watching(tmp_path, SICK, given=given) as watch:
        ending = await watch.monitor(**settings)(watch.order)
        assert isinstance(ending, Done)
        assert ending.result["post_deploy_status"] == "N/A"
        assert ending.result["reason"]
        assert watch.probe.asked == []


@pytest.mark.parametrize(
    "changes", [{"task_id": None}, {"task_id": TaskId(99)}, {"epoch": 5}, {"commit": Commit("other")}]
)
async def test_an_item_that_moved_on_is_not_watched(tmp_path, changes):
    async with watching(tmp_path, SICK) as watch:
        ending = await watch.monitor()(replace(watch.order, **changes))
        assert ending.result["post_deploy_status"] == "N/A"


async def test_a_report_that_cannot_be_written_holds_nothing_up(tmp_path):
    async with watching(tmp_path, WELL) as watch:
        monitor = watch.monitor()
        assert isinstance(await monitor(watch.order), Later)
        watch.shop.clock.advance(timedelta(minutes=1))
        (tmp_path / "forge.git").rename(tmp_path / "away.git")
        ending = await monitor(watch.order)
        assert ending.result["post_deploy_status"] == "HEALTHY"
        with pytest.raises(AdapterError):
            await watch.shop.workspace.refresh("shop")


async def test_the_block_counts_what_was_seen(tmp_path):
    async with watching(tmp_path, WELL) as watch:
        monitor = watch.monitor()
        await monitor(watch.order)
        watch.shop.clock.advance(timedelta(minutes=1))
        await monitor(watch.order)
        assert {"watched": 1, "healthy": 1, "degraded": 0}.items() <= monitor.snapshot().items()
