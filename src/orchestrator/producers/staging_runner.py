"""The staging runner: the exit codes of the contract's staging commands are the verdict (ORCH-115)."""

from dataclasses import dataclass, replace

from orchestrator.config.contract import Contract, Staging
from orchestrator.config.settings import Settings
from orchestrator.delivery.attempts import Attempts
from orchestrator.delivery.commands import CommandResult
from orchestrator.delivery.regime import staging_regime
from orchestrator.delivery.rehearsal import revision_in
from orchestrator.delivery.reports import Reports, Visit
from orchestrator.delivery.steps import Steps, not_run
from orchestrator.errors import Unavailable
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.reports import StagingRun
from orchestrator.pipeline.stages import Stage
from orchestrator.ports.producer import Assignment, Outcome, Produced


@dataclass(frozen=True, slots=True)
class _Rehearsed:
    """How far staging got: the result that decides, everything that was printed, and what was wrong."""

    result: CommandResult
    output: str
    fault: str = ""


class StagingRunner:
    """Brings exactly the started commit up on staging, checks it, and reports; staging is left running."""

    def __init__(
        self, *, attempts: Attempts, reports: Reports, settings: Settings, self_hosting: str
    ) -> None:
        self._attempts = attempts
        self._reports = reports
        self._regime = staging_regime(settings, self_hosting)

    @property
    def name(self) -> str:
        """What is written as ``author_agent``."""
        return self._regime.runner.value

    def snapshot(self) -> dict[str, object]:
        """The block ``staging_runner`` of ``GET /queue``."""
        return self._regime.snapshot()

    def applies(self, item: WorkItem, stage: Stage, contract: Contract | None) -> bool:
        """In deploy-staging, where the contract says how, or says nothing and there is no staging at all.

        Our own repository without a section ``staging`` is left to the agent.
        """
        declared = contract is not None and contract.staging is not None
        return stage is Stage.DEPLOY_STAGING and self._regime.scope.takes(item.project, declared=declared)

    async def produce(self, assignment: Assignment) -> Outcome:
        """Rehearse, or go on with a rehearsal that was begun; what could not run is tried again later."""
        staging = assignment.contract.staging if assignment.contract is not None else None
        if staging is None:
            summary = "staging gate not applicable: the contract declares no staging section"
            return Produced(assignment.started_at, verdict="N/A", summary=summary)
        self._regime.counters.runs += 1
        rehearsed = await self._rehearse(assignment, staging)
        outcome = await self._outcome(assignment, rehearsed)
        await self._attempts.clear(assignment)
        return outcome

    async def _outcome(self, assignment: Assignment, rehearsed: _Rehearsed) -> Outcome:
        result = rehearsed.result
        if not result.ran:
            deferred = self._regime.defer(assignment, result)
            if deferred is not None:
                return deferred
            note = f"staging could not run, {assignment.defers + 1} times: {result.reason}"
            return await self._report(assignment, rehearsed, passed=False, note=note, tool_error=note)
        passed = self._regime.approves(result) and not rehearsed.fault
        self._regime.judged(assignment, result, "SUCCESS" if passed else "FAILED", passed=passed)
        return await self._report(assignment, rehearsed, passed=passed, note=rehearsed.fault)

    async def _rehearse(self, assignment: Assignment, staging: Staging) -> _Rehearsed:
        try:
            steps = await self._attempts.in_copy(assignment, limit=self._regime.limit_for(staging))
        except Unavailable as error:
            return _Rehearsed(not_run(str(error)), "")
        if staging.stop is not None:
            # Whatever ran before may be gone already, so how this ends says nothing.
            await steps.run("stop", staging.stop)
        rehearsed = await self._bring_up(steps, staging)
        if rehearsed.fault or not rehearsed.result.ok or staging.revision is None:
            return rehearsed
        said = await steps.run("revision", staging.revision)
        output = _told(rehearsed.output, "revision", said)
        if not said.ran:
            return _Rehearsed(replace(said, reason=f"revision: {said.reason}"), output)
        revision = revision_in(said.output) or "nothing"
        if said.exit_code != 0 or revision != assignment.started_at:
            fault = f"staging says it runs {revision[:40]}, not {assignment.started_at}"
            return _Rehearsed(rehearsed.result, output, fault)
        return replace(rehearsed, output=output)

    async def _bring_up(self, steps: Steps, staging: Staging) -> _Rehearsed:
        """Build, start and check, as far as each step says yes; the last one done decides."""
        output = ""
        for name, command in (("build", staging.build), ("start", staging.start)):
            if command is None:
                continue
            result = await steps.run(name, command, keep_children=name == "start")
            output = _told(output, name, result)
            if not result.ran:
                return _Rehearsed(replace(result, reason=f"{name}: {result.reason}"), output)
            if result.exit_code != 0:
                return _Rehearsed(result, output, f"{name} ended with {result.exit_code}")
        result = await steps.run("check", staging.check)
        if not result.ran:
            result = replace(result, reason=f"check: {result.reason}")
        return _Rehearsed(result, _told(output, "check", result))

    async def _report(
        self,
        assignment: Assignment,
        rehearsed: _Rehearsed,
        *,
        passed: bool,
        note: str,
        tool_error: str = "",
    ) -> Produced:
        port = self._attempts.variables(assignment, "staging")["ORCH_PORT_STAGING"]
        run = StagingRun(
            passed=passed,
            exit_code=rehearsed.result.exit_code,
            base_url=f"http://localhost:{port}",
            output=rehearsed.output,
            note=note,
        )
        return Produced(
            delivered=await self._reports.staging_log(Visit.of(assignment), run),
            artifact=self._reports.path(assignment, self._regime.runner),
            verdict="SUCCESS" if passed else "FAILED",
            summary=note or f"exit code {run.exit_code}",
            tool_error=tool_error,
        )


def _told(output: str, name: str, result: CommandResult) -> str:
    return f"{output}== {name}\n{result.output.rstrip()}\n"
