"""The deploy finalizer: starts the confirmed deployment once, and believes what it sees of it (ORCH-036)."""

from datetime import timedelta

from orchestrator.config.contract import Contract, Deploy
from orchestrator.config.settings import Settings
from orchestrator.delivery.commands import CommandResult
from orchestrator.delivery.deploy import DeployHook, DeployOrder, HookEnd, HookState
from orchestrator.delivery.regime import deploy_regime
from orchestrator.delivery.reports import Reports, Visit
from orchestrator.delivery.verification import Disproven, Unproven, Verification
from orchestrator.pipeline.ids import Commit
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.reports import Deployment
from orchestrator.pipeline.stages import Stage
from orchestrator.pipeline.verdicts import FailureClass
from orchestrator.ports.producer import Assignment, Deferred, GaveUp, Outcome, Produced


class DeployFinalizer:
    """Phases B and C of a deployment: start the hook, wait for it, verify production, report."""

    def __init__(
        self,
        *,
        hook: DeployHook,
        verification: Verification,
        reports: Reports,
        settings: Settings,
        self_hosting: str,
    ) -> None:
        self._hook = hook
        self._verification = verification
        self._reports = reports
        self._poll = timedelta(seconds=settings.self_deploy_poll_s)
        self._regime = deploy_regime(settings, self_hosting)

    @property
    def name(self) -> str:
        """What is written as ``author_agent``."""
        return self._regime.runner.value

    def applies(self, item: WorkItem, stage: Stage, contract: Contract | None) -> bool:
        """In deploy, where the contract says how, or says nothing and there is nothing to deploy.

        Our own repository without a section ``deploy`` is left to the agent.
        """
        declared = contract is not None and contract.deploy is not None
        return stage is Stage.DEPLOY and self._regime.scope.takes(item.project, declared=declared)

    async def produce(self, assignment: Assignment) -> Outcome:
        """Deploy what was confirmed, or go on with a deployment that was begun."""
        deploy = assignment.contract.deploy if assignment.contract is not None else None
        if deploy is None:
            return await self._nothing_to_deploy(assignment)
        merged = assignment.item.merged
        if merged is None:
            return GaveUp("nothing was merged that could be deployed", FailureClass.BUG, retryable=False)
        self._regime.counters.runs += 1
        order = _order(assignment, deploy, merged)
        end = await self._hook.carry_out(order)
        if end.state is HookState.PENDING:
            return Deferred(end.reason, after=self._poll)
        outcome = await self._finalize(assignment, order, end)
        if not isinstance(outcome, Deferred):
            await self._hook.clear(order)
        return outcome

    async def _finalize(self, assignment: Assignment, order: DeployOrder, end: HookEnd) -> Outcome:
        match end.state:
            case HookState.NOT_STARTED:
                return await self._without_answer(assignment, end, f"the hook could not start: {end.reason}")
            case HookState.UNKNOWN:
                # Production may have changed, so the hook is not started again: a person has to look.
                reason = f"nobody knows how the hook ended: {end.reason}"
                self._regime.give_up(assignment, _as_result(end, reason))
                return await self._failed(assignment, end, reason, tool_error=reason)
        if not self._regime.approves(_as_result(end)):
            self._regime.judged(assignment, _as_result(end), "FAILED", passed=False)
            return await self._failed(assignment, end, f"the hook ended with {end.exit_code}")
        return await self._verified(assignment, order, end)

    async def _verified(self, assignment: Assignment, order: DeployOrder, end: HookEnd) -> Outcome:
        seen = await self._verification.look(order, attempt=assignment.defers)
        if isinstance(seen, Unproven):
            return await self._without_answer(assignment, end, seen.reason)
        passed = not isinstance(seen, Disproven)
        self._regime.judged(assignment, _as_result(end), "SUCCESS" if passed else "FAILED", passed=passed)
        if isinstance(seen, Disproven):
            reason = f"the hook ended with 0, but {seen.reason}"
            return await self._failed(assignment, end, reason, revision=seen.revision)
        deployment = Deployment(True, end.exit_code, seen.revision, end.output)
        return await self._report(assignment, deployment)

    async def _without_answer(self, assignment: Assignment, end: HookEnd, reason: str) -> Outcome:
        """The second level: defer, and when the budget is spent fail closed (ORCH-115 D5)."""
        deferred = self._regime.defer(assignment, _as_result(end, reason))
        if deferred is not None:
            return deferred
        return await self._failed(assignment, end, reason, tool_error=reason)

    async def _failed(
        self, assignment: Assignment, end: HookEnd, reason: str, *, revision: str = "", tool_error: str = ""
    ) -> Produced:
        deployment = Deployment(False, end.exit_code, revision, end.output, note=reason)
        return await self._report(assignment, deployment, tool_error=tool_error)

    async def _nothing_to_deploy(self, assignment: Assignment) -> Produced:
        note = "not applicable, nothing to deploy: the contract declares no deploy section"
        return await self._report(assignment, Deployment(True, None, note=note), verdict="N/A")

    async def _report(
        self, assignment: Assignment, deployment: Deployment, *, verdict: str = "", tool_error: str = ""
    ) -> Produced:
        word = "SUCCESS" if deployment.passed else "FAILED"
        return Produced(
            delivered=await self._reports.deploy_log(Visit.of(assignment), deployment),
            artifact=self._reports.path(assignment, self._regime.runner),
            verdict=verdict or word,
            summary=deployment.note or f"production runs {assignment.item.merged}",
            tool_error=tool_error,
        )


def _order(assignment: Assignment, deploy: Deploy, merged: Commit) -> DeployOrder:
    item = assignment.item
    return DeployOrder(
        project=item.project,
        work_item=item.id,
        epoch=item.epoch,
        merged=merged,
        deploy=deploy,
        limit=deploy.timeout,
    )


def _as_result(end: HookEnd, reason: str = "") -> CommandResult:
    return CommandResult(
        ran=not reason,
        exit_code=end.exit_code,
        output=end.output,
        duration=end.duration,
        reason=reason,
    )
