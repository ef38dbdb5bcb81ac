"""Commands in a clean checkout of one commit, each run once: asked again, the same answer is read again.

An answer counts when the run was seen from its start to its end. The checkout of an asker that was stopped
may have been removed under the feet of its command, so of such an orphan only a plain yes is believed.
"""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from orchestrator.config.command import Command
from orchestrator.delivery.commands import CommandResult, ContractCommands
from orchestrator.errors import BadInput, Rejected
from orchestrator.pipeline.ids import Commit, WorkItemId
from orchestrator.plumbing.processes import was_begun
from orchestrator.ports.workspace import Workspace

REPORT_LIMIT: Final = 16_000_000
"""The largest report that is kept; a longer one counts as none."""

GATES: Final = "gates"
"""Where the errands of gates stand among the runs of their item, so that stopping the item ends them too."""

_SEEN: Final = "seen"
_VOID: Final = "void"
_REPORT: Final = "report"
_KILLED: Final = frozenset({-1, -2, -9, -15})
"""Exit by SIGHUP, SIGINT, SIGKILL or SIGTERM: somebody outside ended the command, its code said nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What is to be run on which commit.

    ``purpose`` keeps errands of one commit apart, ``report`` is a file of the checkout that is kept, ``key``
    is what the answer is remembered by (the commit when it is empty).
    """

    project: str
    work_item: WorkItemId
    commit: Commit
    purpose: str
    command: Command
    limit: timedelta
    report: str | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the command ended, and the report it left."""

    result: CommandResult
    report: bytes | None = None

    @property
    def answered(self) -> bool:
        """Whether the exit code is the command's own answer (ORCH-115 D5)."""
        return self.result.ran and self.result.exit_code not in _KILLED

    @property
    def why_not(self) -> str:
        """Why there is no answer, in one line."""
        return self.result.reason or f"it was killed (exit code {self.result.exit_code})"


class CleanRuns:
    """Runs errands; each attempt has a directory of its own among the runs of its item, below ``root``."""

    def __init__(self, workspace: Workspace, commands: ContractCommands, *, root: Path) -> None:
        self._workspace = workspace
        self._commands = commands
        self._root = root

    async def run(self, errand: Errand) -> Outcome:
        """Run the errand, re-attach to it, or read its answer again.

        A run without an answer is not remembered: the next time it is tried anew.

        Raises:
            Unavailable: no checkout or no process could be made.
            Rejected: the command names a variable that it is not told.
            Malformed: a run directory is damaged.
        """
        attempt = self._attempt(errand)
        if (attempt / _SEEN).exists():
            return Outcome(await self._execute(errand, attempt, attempt), _kept(attempt))
        if was_begun(attempt):
            orphan = Outcome(await self._execute(errand, attempt, attempt))
            if orphan.result.ok and errand.report is None:
                (attempt / _SEEN).touch()
                return orphan
            self.forget(errand)
            attempt = self._attempt(errand)
        return await self._begin(errand, attempt)

    def known(self, errand: Errand) -> bytes | None:
        """The report of an errand that was run before; nothing is started."""
        attempt = self._attempt(errand)
        return _kept(attempt) if (attempt / _SEEN).exists() else None

    def forget(self, errand: Errand) -> None:
        """Let the next ``run`` begin anew."""
        attempt = self._attempt(errand)
        attempt.mkdir(parents=True, exist_ok=True)
        (attempt / _VOID).touch()

    def _attempt(self, errand: Errand) -> Path:
        place = self._root / errand.work_item / GATES / errand.purpose / (errand.key or errand.commit)
        number = 1
        while (place / str(number) / _VOID).exists():
            number += 1
        return place / str(number)

    async def _begin(self, errand: Errand, attempt: Path) -> Outcome:
        async with self._workspace.clean_checkout(errand.project, errand.commit) as checkout:
            result = await self._execute(errand, attempt, checkout)
            if errand.report is not None:
                _keep(checkout / errand.report, attempt)
        outcome = Outcome(result, _kept(attempt))
        (attempt / (_SEEN if outcome.answered else _VOID)).touch()
        return outcome

    async def _execute(self, errand: Errand, attempt: Path, cwd: Path) -> CommandResult:
        variables = self._commands.variables(
            errand.project, revision=errand.commit, work_item=errand.work_item, environment="test"
        )
        try:
            return await self._commands.run(
                errand.command, run_dir=attempt, cwd=cwd, limit=errand.limit, variables=variables
            )
        except BadInput as error:
            raise Rejected(f"the contract's command cannot be run: {error}") from error


def _keep(report: Path, attempt: Path) -> None:
    if report.is_file() and report.stat().st_size <= REPORT_LIMIT:
        (attempt / _REPORT).write_bytes(report.read_bytes())


def _kept(attempt: Path) -> bytes | None:
    report = attempt / _REPORT
    return report.read_bytes() if report.is_file() else None
