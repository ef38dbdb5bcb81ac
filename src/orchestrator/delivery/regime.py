"""The rules of a deterministic runner: scope, limit, budget of tries, and what is told of its verdicts."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import structlog

from orchestrator.config.contract import Staging, Suite
from orchestrator.config.settings import Settings
from orchestrator.delivery.commands import CommandResult
from orchestrator.delivery.counters import RunnerCounters
from orchestrator.delivery.deploy import Status, map_exit_code_to_status
from orchestrator.delivery.patience import Patience
from orchestrator.delivery.scopes import Scope
from orchestrator.delivery.steps import limit_of
from orchestrator.pipeline.artifacts import Producer
from orchestrator.ports.producer import Assignment, Deferred

log = structlog.get_logger(__name__)

DEPLOY_RETRIES: Final = 2
DEPLOY_PAUSE: Final = timedelta(seconds=30)
"""The budget for a hook that cannot be started is that of the other runners (ORCH-115 D8)."""


@dataclass(frozen=True, slots=True)
class Regime:
    """The rules of one runner, and its counters."""

    runner: Producer
    scope: Scope
    patience: Patience
    limit: timedelta
    counters: RunnerCounters = field(compare=False)

    def limit_for(self, section: Suite | Staging) -> timedelta:
        """The time limit of a contract's commands: its own, or the installation's."""
        return limit_of(section, self.limit)

    def approves(self, result: CommandResult) -> bool:
        """Whether the command's exit code says yes, by the one mapping (ORCH-115 D4, ORCH-116 D4)."""
        return map_exit_code_to_status(result.exit_code) is Status.SUCCESS

    def snapshot(self) -> dict[str, object]:
        """The runner's block of ``GET /queue`` (ORCH-115 D10)."""
        return {
            "enabled": self.scope.enabled,
            "repos": self.scope.repos,
            "timeout_s": int(self.limit.total_seconds()),
            "infra_max_retries": self.patience.max_retries,
            **self.counters.snapshot(),
        }

    def judged(self, assignment: Assignment, result: CommandResult, verdict: str, *, passed: bool) -> None:
        """Count and tell a verdict that the tool itself gave."""
        self.counters.judged(passed=passed)
        outcome = "code-pass" if passed else "code-fail"
        log.info("runner_verdict", **self._facts(assignment, result, verdict), outcome=outcome)

    def defer(self, assignment: Assignment, result: CommandResult) -> Deferred | None:
        """Count and tell that the tool did not run; another try, or ``None`` when there are none left."""
        deferred = self.patience.defer(result.reason, assignment.defers)
        if deferred is None:
            self.give_up(assignment, result)
            return None
        self._tell_tool_error(assignment, result)
        self.counters.deferred += 1
        return deferred

    def give_up(self, assignment: Assignment, result: CommandResult) -> None:
        """Count and tell that the tool gave no answer and is not tried again: the verdict is a failure."""
        self._tell_tool_error(assignment, result)
        self.counters.failed += 1

    def _tell_tool_error(self, assignment: Assignment, result: CommandResult) -> None:
        self.counters.tool_error += 1
        log.warning(
            "runner_verdict",
            **self._facts(assignment, result, "TOOL-ERROR"),
            outcome="tool-error",
            timed_out=result.timed_out,
            reason=result.reason,
        )

    def _facts(self, assignment: Assignment, result: CommandResult, verdict: str) -> dict[str, object]:
        return {
            "runner": self.runner.value,
            "work_item": assignment.item.id,
            "repo": assignment.item.project,
            "exit_code": result.exit_code,
            "result": verdict,
            "duration_s": round(result.duration.total_seconds(), 3),
        }


def testing_regime(settings: Settings, self_hosting: str) -> Regime:
    """The rules of the test runner (ORCH-116 D8, D9)."""
    return Regime(
        Producer.TEST_RUNNER,
        Scope(settings.test_runner_enabled, settings.test_runner_repos, self_hosting),
        Patience(
            Producer.TEST_RUNNER.value,
            settings.test_runner_infra_max_retries,
            timedelta(seconds=settings.test_runner_infra_retry_delay_s),
        ),
        timedelta(seconds=settings.test_runner_timeout_s),
        RunnerCounters("pass", "fail"),
    )


def staging_regime(settings: Settings, self_hosting: str) -> Regime:
    """The rules of the staging runner (ORCH-115 D8, D9)."""
    return Regime(
        Producer.STAGING_RUNNER,
        Scope(settings.staging_runner_enabled, settings.staging_runner_repos, self_hosting),
        Patience(
            Producer.STAGING_RUNNER.value,
            settings.staging_runner_infra_max_retries,
            timedelta(seconds=settings.staging_runner_infra_retry_delay_s),
        ),
        timedelta(seconds=settings.staging_runner_timeout_s),
        RunnerCounters("success", "failed"),
    )


def deploy_regime(settings: Settings, self_hosting: str) -> Regime:
    """The rules of the deploy finalizer (ORCH-036)."""
    return Regime(
        Producer.DEPLOY_FINALIZER,
        Scope(settings.self_deploy_enabled, settings.self_deploy_repos, self_hosting),
        Patience(Producer.DEPLOY_FINALIZER.value, DEPLOY_RETRIES, DEPLOY_PAUSE),
        timedelta(seconds=settings.self_deploy_result_timeout_s),
        RunnerCounters("success", "failed"),
    )
