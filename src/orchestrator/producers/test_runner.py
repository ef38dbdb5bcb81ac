"""The test runner: whether the tests pass is said by their exit code, not by a model (ORCH-116)."""

from dataclasses import replace

from orchestrator.config.contract import Command, Contract, Suite
from orchestrator.config.settings import Settings
from orchestrator.delivery.attempts import Attempts
from orchestrator.delivery.commands import CommandResult
from orchestrator.delivery.regime import testing_regime
from orchestrator.delivery.reports import Reports, Visit
from orchestrator.delivery.smoke import SKIPPED, SmokeResult, SmokeTest
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.reports import Smoke, SuiteRun
from orchestrator.pipeline.stages import Stage
from orchestrator.ports.producer import Assignment, Outcome, Produced


class TestRunner:
    """Runs the contract's suite in the item's worktree, then the read-only smoke test, and reports both."""

    def __init__(
        self,
        *,
        attempts: Attempts,
        reports: Reports,
        smoke: SmokeTest,
        settings: Settings,
        self_hosting: str,
    ) -> None:
        self._attempts = attempts
        self._reports = reports
        self._smoke = smoke
        self._settings = settings
        self._regime = testing_regime(settings, self_hosting)

    @property
    def name(self) -> str:
        """What is written as ``author_agent``."""
        return self._regime.runner.value

    def snapshot(self) -> dict[str, object]:
        """The block ``test_runner`` of ``GET /queue``."""
        return {"target": self._settings.test_runner_target, **self._regime.snapshot()}

    def applies(self, item: WorkItem, stage: Stage, contract: Contract | None) -> bool:
        """In testing, where the switch and the scope allow it and there is something to run (ORCH-116 D8)."""
        declared = contract is not None and contract.test is not None
        return stage is Stage.TESTING and self._regime.scope.covers(item.project, declared=declared)

    async def produce(self, assignment: Assignment) -> Outcome:
        """Run the suite, or re-attach to it, and report; a suite that could not run is tried again later."""
        self._regime.counters.runs += 1
        suite = self._suite(assignment.contract)
        result = await self._attempts.in_worktree(
            assignment, "suite", suite.run, limit=self._regime.limit_for(suite)
        )
        smoke = await self._smoke_test(assignment, result)
        if smoke.was_impossible:
            result = replace(result, ran=False, reason=f"smoke test: {smoke.reason}")
        if not result.ran:
            return await self._without_answer(assignment, result)
        passed = self._regime.approves(result) and smoke.state is not Smoke.FAILED
        self._regime.judged(assignment, result, "PASS" if passed else "FAIL", passed=passed)
        note = f"smoke test: {smoke.reason}" if smoke.state is Smoke.FAILED else ""
        return await self._report(assignment, result, SuiteRun(passed, result.exit_code, note=note), smoke)

    async def _without_answer(self, assignment: Assignment, result: CommandResult) -> Outcome:
        """The second level: defer, and when the budget is spent fail closed (ORCH-116 D5)."""
        deferred = self._regime.defer(assignment, result)
        if deferred is not None:
            return deferred
        note = f"the tests could not run, {assignment.defers + 1} times: {result.reason}"
        run = SuiteRun(passed=False, exit_code=result.exit_code, note=note)
        return await self._report(assignment, result, run, SKIPPED, tool_error=note)

    async def _report(
        self,
        assignment: Assignment,
        result: CommandResult,
        run: SuiteRun,
        smoke: SmokeResult,
        *,
        tool_error: str = "",
    ) -> Produced:
        told = replace(run, output=result.output, smoke=smoke.state)
        delivered = await self._reports.test_report(Visit.of(assignment), told)
        return Produced(
            delivered=delivered,
            artifact=self._reports.path(assignment, self._regime.runner),
            verdict="PASS" if run.passed else "FAIL",
            summary=run.note or f"exit code {run.exit_code}",
            tool_error=tool_error,
        )

    async def _smoke_test(self, assignment: Assignment, result: CommandResult) -> SmokeResult:
        """The smoke test of a suite that passed, where the contract declares one and it is switched on."""
        contract = assignment.contract
        wanted = self._settings.test_runner_smoke_enabled and self._regime.approves(result) and result.ran
        if not wanted or contract is None or contract.smoke is None:
            return SKIPPED
        variables = self._attempts.variables(assignment, "test")
        record = self._attempts.place(assignment) / "smoke.json"
        return await self._smoke.run(contract.smoke, variables, record=record)

    def _suite(self, contract: Contract | None) -> Suite:
        """The contract's suite; our own repository has one without a contract, too."""
        if contract is not None and contract.test is not None:
            return contract.test
        return Suite(run=Command(("python", "-m", "pytest", self._settings.test_runner_target)))
