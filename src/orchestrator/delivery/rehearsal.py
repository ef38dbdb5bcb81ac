"""A rehearsal of exactly one commit on staging: build, start, which revision, check, stop (ORCH-058)."""

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from orchestrator.config.command import Command
from orchestrator.config.contract import Staging
from orchestrator.delivery.clean_runs import Outcome
from orchestrator.delivery.commands import ContractCommands
from orchestrator.errors import BadInput, Rejected
from orchestrator.pipeline.ids import Commit
from orchestrator.ports.clock import Ids
from orchestrator.ports.workspace import Branch, Workspace

_TAIL: Final = 3000


class Step(StrEnum):
    """What is done on staging, in this order; the revision is asked of what was started."""

    BUILD = "build"
    START = "start"
    REVISION = "revision"
    CHECK = "check"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Fresh:
    """Staging ran exactly this commit, and its checks passed."""

    revision: str


@dataclass(frozen=True, slots=True)
class NotFresh:
    """Staging said no to this commit; ``tail`` is the end of what it printed."""

    reason: str
    tail: str


@dataclass(frozen=True, slots=True)
class NotRehearsed:
    """A step did not come to an end, so nothing is known about the code."""

    reason: str


Rehearsed = Fresh | NotFresh | NotRehearsed


@dataclass(frozen=True, slots=True)
class _Stage:
    """One rehearsal: which commit, where it is checked out, and where its runs are kept."""

    branch: Branch
    commit: Commit
    staging: Staging
    checkout: Path
    runs: Path


class Rehearsal:
    """Asks staging which revision it runs, and brings it up anew from a clean checkout."""

    def __init__(self, workspace: Workspace, commands: ContractCommands, *, root: Path, ids: Ids) -> None:
        self._workspace = workspace
        self._commands = commands
        self._root = root
        self._ids = ids

    async def revision(self, branch: Branch, commit: Commit, staging: Staging) -> str | None:
        """Which revision staging runs now; ``None`` when it does not say.

        Raises ``Unavailable`` when no checkout or process could be made.
        """
        async with self._workspace.clean_checkout(branch.project, commit) as checkout:
            outcome = await self._do(self._stage(branch, commit, staging, checkout), Step.REVISION)
        if outcome is None or not outcome.result.ok:
            return None
        return revision_in(outcome.result.output)

    async def rebuild(self, branch: Branch, commit: Commit, staging: Staging) -> Rehearsed:
        """Build, start and check ``commit`` on staging; it is stopped again whatever came of it.

        Raises ``Unavailable`` when no checkout or process could be made.
        """
        async with self._workspace.clean_checkout(branch.project, commit) as checkout:
            stage = self._stage(branch, commit, staging, checkout)
            try:
                return await self._perform(stage)
            finally:
                await self._do(stage, Step.STOP)

    async def _perform(self, stage: _Stage) -> Rehearsed:
        for step in (Step.BUILD, Step.START, Step.REVISION, Step.CHECK):
            outcome = await self._do(stage, step)
            if outcome is None:
                continue
            tail = outcome.result.output.rstrip()[-_TAIL:]
            if not outcome.answered:
                return NotRehearsed(f"staging {step}: {outcome.why_not}")
            if outcome.result.exit_code != 0:
                return NotFresh(f"staging {step} ended with {outcome.result.exit_code}", tail)
            if step is Step.REVISION and revision_in(outcome.result.output) != stage.commit:
                said = revision_in(outcome.result.output) or "nothing"
                return NotFresh(f"staging runs {said[:40]}, not {stage.commit}", tail)
        return Fresh(stage.commit)

    async def _do(self, stage: _Stage, step: Step) -> Outcome | None:
        """Run one step; ``None`` when the contract does not have it."""
        command: Command | None = getattr(stage.staging, step)
        if command is None:
            return None
        branch = stage.branch
        variables = self._commands.variables(
            branch.project, revision=stage.commit, work_item=branch.item, environment="staging"
        )
        try:
            result = await self._commands.run(
                command,
                run_dir=stage.runs / step,
                cwd=stage.checkout,
                limit=stage.staging.timeout,
                variables=variables,
                keep_children=step is Step.START,
            )
        except BadInput as error:
            raise Rejected(f"the contract's staging.{step} cannot be run: {error}") from error
        return Outcome(result)

    def _stage(self, branch: Branch, commit: Commit, staging: Staging, checkout: Path) -> _Stage:
        runs = self._root / branch.project / "freshness" / commit / self._ids.new()
        return _Stage(branch, commit, staging, checkout, runs)


def revision_in(output: str) -> str | None:
    """The revision that a command printed: its last line, or ``revision`` in a JSON object there."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if not lines:
        return None
    if not lines[-1].startswith("{"):
        return lines[-1]
    try:
        said = json.loads(lines[-1]).get("revision")
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, str) else None
