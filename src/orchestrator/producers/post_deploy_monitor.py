"""The post-deploy monitor: one look at production per tick, until its window is over (ORCH-021)."""

from collections.abc import Mapping
from typing import Final

import structlog

from orchestrator.config.projects import scope_applies
from orchestrator.config.settings import Settings
from orchestrator.delivery.reports import Reports, Visit
from orchestrator.delivery.watchman import Concluded, Unwatched, Watching, Watchman
from orchestrator.errors import AdapterError, BadInput
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.reports import Action
from orchestrator.pipeline.stages import Stage
from orchestrator.ports.projects import ProjectRegistry
from orchestrator.ports.queue import Done, Ending, Job, JobKind, Later, NewJob
from orchestrator.ports.store import Store, Transaction
from orchestrator.ports.workspace import Branch, Workspace

log = structlog.get_logger(__name__)

_TEXTS: Final[Mapping[str, str]] = {
    "en": "{item}: production is degraded after the deploy: {reason}. {action}: {done}",
    "ru": "{item}: продакшен деградировал после выката: {reason}. {action}: {done}",
}


class PostDeployMonitor:
    """The handler of jobs of the kind ``watch``."""

    def __init__(
        self,
        *,
        store: Store,
        projects: ProjectRegistry,
        workspace: Workspace,
        watchman: Watchman,
        reports: Reports,
        settings: Settings,
    ) -> None:
        self._store = store
        self._projects = projects
        self._workspace = workspace
        self._watchman = watchman
        self._reports = reports
        self._settings = settings
        self._counts = {"watched": 0, "healthy": 0, "degraded": 0, "rolled_back": 0}

    def snapshot(self) -> dict[str, object]:
        """The block ``post_deploy`` of ``GET /queue``."""
        settings = self._settings
        return {
            "enabled": settings.post_deploy_monitor_enabled,
            "repos": settings.post_deploy_repos,
            "window_s": settings.post_deploy_window_s,
            "interval_s": settings.post_deploy_interval_s,
            "auto_rollback": settings.post_deploy_auto_rollback,
            **self._counts,
        }

    async def __call__(self, job: Job) -> Ending:
        """One tick: come back later, or end with what was seen; the engine acts on ``reopen``."""
        item = await self._item(job)
        if item is None or item.merged is None:
            return _not_watched("the item has moved on")
        project = await self._projects.project(item.project)
        try:
            contract = await self._projects.contract(item.project)
        except BadInput as error:
            return _not_watched(str(error))
        if contract is None or contract.post_deploy is None:
            return _not_watched("the contract declares no post_deploy section")
        enabled = self._settings.post_deploy_monitor_enabled
        if not enabled or not scope_applies(self._settings.post_deploy_repos, project, declared=True):
            return _not_watched("the monitor is switched off for this project")
        # A tick never touches our own production (inventory §8.7).
        may_roll_back = self._settings.post_deploy_auto_rollback and not project.self_hosting
        seen = await self._watchman.tick(item, item.merged, contract, may_roll_back=may_roll_back)
        match seen:
            case Unwatched(reason=reason):
                return _not_watched(reason)
            case Watching(pause=pause):
                return Later(pause, "production is being watched")
            case Concluded():
                return await self._conclude(item, seen)

    async def _item(self, job: Job) -> WorkItem | None:
        """The item, if it still is where this watch was ordered for it."""
        if job.task_id is None:
            return None
        task_id = job.task_id
        item = await self._store.transact(lambda tx: tx.items.get(task_id))
        if item is None or item.stage is not Stage.DONE or item.epoch != job.epoch:
            return None
        return item if job.commit in {None, item.merged} else None

    async def _conclude(self, item: WorkItem, seen: Concluded) -> Done:
        await self._write_report(item, seen)
        watch = seen.watch
        if seen.reason:
            await self._store.transact(lambda tx: self._alert(tx, item, seen))
        self._count(seen)
        result: dict[str, object] = {
            "post_deploy_status": "HEALTHY" if watch.healthy else "DEGRADED",
            "action_taken": watch.action.value,
            "checks_total": watch.checks_total,
            "checks_failed": watch.checks_failed,
            "window_s": int(watch.window.total_seconds()),
        }
        log.info("post_deploy_verdict", work_item=item.id, repo=item.project, **result)
        if watch.action is Action.ROLLBACK_OK:
            # The change is out of production again, so the item is not done (product §4 'Deploy FAILED').
            result |= {"reopen": True, "reason": f"rolled back after the deploy: {seen.reason}"}
        return Done(result)

    async def _write_report(self, item: WorkItem, seen: Concluded) -> None:
        """Best effort: no gate reads this report, and the item does not wait for it (inventory §8.7)."""
        branch = Branch(project=item.project, name=item.branch, base=item.base, item=item.id)
        try:
            head = await self._workspace.head(branch)
            if not head.exists:
                log.info("post_deploy_report_not_written", work_item=item.id, reason="the branch is gone")
                return
            visit = Visit(branch, item.epoch, head.commit, seen.armed.at)
            saved = await self._reports.post_deploy_log(visit, seen.watch)
            code = await self._workspace.code_id(branch, saved)
        except AdapterError as error:
            log.warning("post_deploy_report_not_written", work_item=item.id, reason=str(error))
            return
        await self._store.transact(lambda tx: tx.items.note_head(item.task_id, head=saved, code=code))

    def _alert(self, tx: Transaction, item: WorkItem, seen: Concluded) -> None:
        key = f"notify:{item.task_id}:post-deploy:{item.merged}:{item.epoch}"
        text = _TEXTS[self._settings.language].format(
            item=item.id, reason=seen.reason, action=seen.watch.action.value, done=seen.done
        )
        tx.jobs.enqueue(
            NewJob(
                kind=JobKind.NOTIFY,
                task_id=item.task_id,
                dedup=key,
                data={"key": key, "text": text},
                priority=-1,
            )
        )

    def _count(self, seen: Concluded) -> None:
        self._counts["watched"] += 1
        self._counts["degraded" if seen.reason else "healthy"] += 1
        self._counts["rolled_back"] += seen.watch.action is Action.ROLLBACK_OK


def _not_watched(reason: str) -> Done:
    return Done({"post_deploy_status": "N/A", "reason": reason})
