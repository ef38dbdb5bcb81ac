"""Writing a runner's report: exact bytes, in the item's worktree, saved in the runner's name."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from orchestrator.delivery.files import put_file
from orchestrator.errors import Conflict
from orchestrator.pipeline import report_bodies, reports
from orchestrator.pipeline.artifacts import Producer, artifact_path
from orchestrator.pipeline.ids import Commit, Epoch
from orchestrator.pipeline.reports import Deployment, StagingRun, Stamp, SuiteRun, Watch
from orchestrator.pipeline.wording import Language
from orchestrator.plumbing.documents import render_document
from orchestrator.ports.producer import Assignment
from orchestrator.ports.workspace import Author, Branch, Workspace


@dataclass(frozen=True, slots=True)
class Visit:
    """The visit to a stage for which a report is written; ``ordered_at`` gives it its date."""

    branch: Branch
    epoch: Epoch
    started_at: Commit
    ordered_at: datetime

    @classmethod
    def of(cls, assignment: Assignment) -> "Visit":
        """The visit that an assignment belongs to."""
        epoch, ordered_at = assignment.item.epoch, assignment.job.created_at
        return cls(assignment.branch, epoch, assignment.started_at, ordered_at)

    @property
    def stamp(self) -> Stamp:
        """Whose report it is, and of which day: the same however often it is written."""
        return Stamp(self.branch.item, self.ordered_at.date())


_NUMBERS: Final = {
    Producer.TEST_RUNNER: "13",
    Producer.DEPLOY_FINALIZER: "14",
    Producer.STAGING_RUNNER: "15",
    Producer.POST_DEPLOY_MONITOR: "16",
}


@dataclass(frozen=True, slots=True)
class _Report:
    author: Producer
    subject: str
    meta: Mapping[str, object]
    body: str


class Reports:
    """Renders and saves the reports of deterministic runners."""

    def __init__(self, workspace: Workspace, *, language: Language, email_domain: str) -> None:
        self._workspace = workspace
        self._language = language
        self._email_domain = email_domain

    def path(self, assignment: Assignment, author: Producer) -> str:
        """Where the report of ``author`` stands, from the root of the repository."""
        return artifact_path(assignment.item.id, _NUMBERS[author])

    async def test_report(self, visit: Visit, run: SuiteRun) -> Commit:
        """Save ``13-test-report.md``; the commit that holds it (ORCH-116 D6)."""
        meta = reports.test_report_meta(visit.stamp, run)
        body = report_bodies.test_report_body(visit.stamp, run, self._language)
        subject = f"testing({visit.branch.item}): tests {meta['result']}"
        return await self._save(visit, _Report(Producer.TEST_RUNNER, subject, meta, body))

    async def staging_log(self, visit: Visit, run: StagingRun) -> Commit:
        """Save ``15-staging-log.md``; the commit that holds it (ORCH-115 D6)."""
        meta = reports.staging_log_meta(visit.stamp, run)
        body = report_bodies.staging_log_body(visit.stamp, run, self._language)
        subject = f"staging({visit.branch.item}): staging gate {meta['staging_status']}"
        return await self._save(visit, _Report(Producer.STAGING_RUNNER, subject, meta, body))

    async def deploy_log(self, visit: Visit, deployment: Deployment) -> Commit:
        """Save ``14-deploy-log.md``; the commit that holds it."""
        meta = reports.deploy_log_meta(visit.stamp, deployment)
        body = report_bodies.deploy_log_body(visit.stamp, deployment, self._language)
        subject = f"deploy({visit.branch.item}): deploy {meta['deploy_status']}"
        return await self._save(visit, _Report(Producer.DEPLOY_FINALIZER, subject, meta, body))

    async def post_deploy_log(self, visit: Visit, watch: Watch) -> Commit:
        """Save ``16-post-deploy-log.md``; the commit that holds it."""
        meta = reports.post_deploy_log_meta(visit.stamp, watch)
        body = report_bodies.post_deploy_log_body(visit.stamp, watch, self._language)
        subject = f"post-deploy({visit.branch.item}): {meta['post_deploy_status']}"
        return await self._save(visit, _Report(Producer.POST_DEPLOY_MONITOR, subject, meta, body))

    async def _save(self, visit: Visit, report: _Report) -> Commit:
        """Put the report alone on top of the visit's starting point; what tools left behind is dropped."""
        branch, path = visit.branch, artifact_path(visit.branch.item, _NUMBERS[report.author])
        text = render_document(_plain(report.meta), f"\n{report.body}")
        worktree = await self._workspace.check_out(branch, visit.started_at)
        put_file(worktree, path, text.encode())
        author = Author(report.author.value, f"{report.author.value}@{self._email_domain}")
        try:
            return await self._workspace.save(
                branch,
                author=author,
                message=report.subject,
                started_at=visit.started_at,
                epoch=visit.epoch,
            )
        except Conflict:
            saved = await self._saved_before(visit, path, text.encode())
            if saved is None:
                raise
            return saved

    async def _saved_before(self, visit: Visit, path: str, data: bytes) -> Commit | None:
        """The branch's head, when a process that died here had saved these very bytes and nothing else."""
        project = visit.branch.project
        await self._workspace.refresh(project)
        head = (await self._workspace.head(visit.branch)).commit
        if not await self._workspace.contains(project, visit.started_at, head):
            return None
        if set(await self._workspace.changed(project, visit.started_at, head)) != {path}:
            return None
        blob = await self._workspace.read(project, head, path)
        return head if blob is not None and blob.data == data else None


def _plain(meta: Mapping[str, object]) -> dict[str, str | int]:
    """Values as they are written into a front matter; what is not known is ``null``."""
    return {name: _value(value) for name, value in meta.items()}


def _value(value: object) -> str | int:
    match value:
        case None:
            return "null"
        case int() | str():
            return value
        case date():
            return value.isoformat()
        case _:
            return str(value)
