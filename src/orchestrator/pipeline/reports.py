"""Front matter of the reports that deterministic code writes: a fixed order, an honest author and model.

The values that gates read are in capitals. The schema's own ``status:`` says ``success`` or ``failed``: in
the test report the same parser reads it, where ``success`` is neutral, ``failed`` negative (ORCH-116 D6.1).
"""

from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Final

from orchestrator.pipeline.artifacts import Producer
from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.stages import Stage

NO_MODEL: Final = "n/a"
"""What ``model_used`` says when no model was asked."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Whose report it is, and of which day."""

    work_item: WorkItemId
    created_on: date


class Smoke(StrEnum):
    """How the read-only smoke test of the running service went."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


class Action(StrEnum):
    """What the post-deploy monitor did about what it saw."""

    NONE = "NONE"
    ALERT_ONLY = "ALERT_ONLY"
    ROLLBACK_OK = "ROLLBACK_OK"
    ROLLBACK_FAILED = "ROLLBACK_FAILED"


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """One run of a repository's tests; ``exit_code`` is ``None`` when the command gave none."""

    passed: bool
    exit_code: int | None
    output: str = ""
    smoke: Smoke = Smoke.SKIPPED
    note: str = ""


@dataclass(frozen=True, slots=True)
class StagingRun:
    """One run of the checks on staging."""

    passed: bool
    exit_code: int | None
    base_url: str
    output: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Deployment:
    """One production deploy, judged by the exit code of its hook."""

    passed: bool
    hook_exit_code: int | None
    revision: str = ""
    output: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Watch:
    """What the monitor saw in its window after a deploy."""

    healthy: bool
    action: Action
    window: timedelta
    checks_total: int
    checks_failed: int
    observations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scan:
    """What the security scanners found: ``new`` against the base counts, ``known`` is listed."""

    passed: bool
    scanners: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the code the tests reach, in per cent; ``epsilon`` is in percentage points."""

    passed: bool
    percent: float
    baseline: float | None
    epsilon: float
    diff_percent: float | None = None
    note: str = ""


def test_report_meta(stamp: Stamp, run: SuiteRun) -> dict[str, object]:
    """The front matter of ``13-test-report.md`` (ORCH-116 D6)."""
    return {
        "result": "PASS" if run.passed else "FAIL",
        **_schema(stamp, Stage.TESTING, Producer.TEST_RUNNER, passed=run.passed),
        "exit_code": run.exit_code,
        "smoke": run.smoke.value,
    }


def staging_log_meta(stamp: Stamp, run: StagingRun) -> dict[str, object]:
    """The front matter of ``15-staging-log.md`` (ORCH-115 D6)."""
    return {
        "staging_status": "SUCCESS" if run.passed else "FAILED",
        **_schema(stamp, Stage.DEPLOY_STAGING, Producer.STAGING_RUNNER, passed=run.passed),
        "exit_code": run.exit_code,
        "base_url": run.base_url,
    }


def deploy_log_meta(stamp: Stamp, deployment: Deployment) -> dict[str, object]:
    """The front matter of ``14-deploy-log.md``: the four keys of old logs first, then the schema's others."""
    schema = _schema(stamp, Stage.DEPLOY, Producer.DEPLOY_FINALIZER, passed=deployment.passed)
    return {
        "deploy_status": "SUCCESS" if deployment.passed else "FAILED",
        "work_item": schema.pop("work_item"),
        "hook_exit_code": deployment.hook_exit_code,
        "deployed_by": Producer.DEPLOY_FINALIZER.value,
        **schema,
    }


def post_deploy_log_meta(stamp: Stamp, watch: Watch) -> dict[str, object]:
    """The front matter of ``16-post-deploy-log.md`` (ORCH-021)."""
    schema = _schema(stamp, Stage.DONE, Producer.POST_DEPLOY_MONITOR, passed=watch.healthy)
    return {
        "post_deploy_status": "HEALTHY" if watch.healthy else "DEGRADED",
        "action_taken": watch.action.value,
        "work_item": schema.pop("work_item"),
        "window_s": int(watch.window.total_seconds()),
        "checks_total": watch.checks_total,
        "checks_failed": watch.checks_failed,
        **schema,
    }


def security_report_meta(stamp: Stamp, scan: Scan) -> dict[str, object]:
    """The front matter of ``09-security-report.md`` (product §4 'Security gate')."""
    return {
        "security_status": "PASS" if scan.passed else "FAIL",
        **_schema(stamp, Stage.DEPLOY_STAGING, Producer.SECURITY_GATE, passed=scan.passed),
        "scanners": ", ".join(scan.scanners) or "none",
        "new_findings": len(scan.new),
        "known_findings": len(scan.known),
    }


def coverage_report_meta(stamp: Stamp, coverage: Coverage) -> dict[str, object]:
    """The front matter of ``11-coverage-report.md`` (product §4 'Coverage gate')."""
    return {
        "coverage_status": "PASS" if coverage.passed else "FAIL",
        **_schema(stamp, Stage.DEPLOY_STAGING, Producer.COVERAGE_GATE, passed=coverage.passed),
        "coverage": coverage.percent,
        "baseline": coverage.baseline,
        "epsilon": coverage.epsilon,
        "diff_coverage": coverage.diff_percent,
    }


def _schema(stamp: Stamp, stage: Stage, author: Producer, *, passed: bool) -> dict[str, object]:
    return {
        "work_item": str(stamp.work_item),
        "stage": stage.value,
        "author_agent": author.value,
        "status": "success" if passed else "failed",
        "created_at": stamp.created_on,
        "model_used": NO_MODEL,
    }
