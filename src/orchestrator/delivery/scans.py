"""Running the scanners of a contract on one commit (ORCH-022).

The scanners that we know run isolated (``-I``): a module of the checkout that has a scanner's name is not it.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib.util import find_spec
from typing import Final

from orchestrator.config.command import Command
from orchestrator.config.contract import Security
from orchestrator.delivery.clean_runs import CleanRuns, Errand, Outcome
from orchestrator.delivery.scan_reports import Discovery, UnreadableReport, read_report
from orchestrator.pipeline.ids import Commit, WorkItemId
from orchestrator.plumbing.redaction import redact
from orchestrator.ports.workspace import Workspace

_REPORT: Final = ".orchestrator-scan.json"

_TO_FILE: Final = """
import os, runpy, sys
name, *argv = sys.argv[1:]
flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
sys.stdout = os.fdopen(os.open(name, flags, 0o600), "w", encoding="utf-8")
sys.argv = argv
runpy.run_module(argv[0], run_name="__main__", alter_sys=True)
"""
"""Standard output of a module to a new file: the run's log also holds what goes to standard error."""

_MODULES: Final = {"bandit": "bandit", "detect-secrets": "detect_secrets", "pip-audit": "pip_audit"}
_ARGUMENTS: Final = {
    "bandit": ("-r", ".", "-f", "json", "-q"),
    "detect-secrets": ("scan", "--all-files", "--no-verify"),
    "pip-audit": ("-f", "json", "--progress-spinner", "off"),
}
_DEPENDENCIES: Final = (("requirements.txt", ("-r", "requirements.txt")), ("pyproject.toml", (".",)))


@dataclass(frozen=True, slots=True)
class Scanned:
    """What one scanner found."""

    scanner: str
    found: tuple[Discovery, ...]


@dataclass(frozen=True, slots=True)
class NotScanned:
    """A scanner could not run; ``retry`` says whether it may run the next time."""

    scanner: str
    reason: str
    retry: bool


@dataclass(frozen=True, slots=True)
class Subject:
    """What is scanned, and for which work item."""

    project: str
    work_item: WorkItemId
    commit: Commit


class Scans:
    """Runs scanners in clean checkouts, once per scanner and commit."""

    def __init__(
        self, workspace: Workspace, runs: CleanRuns, *, limit: timedelta, python: str = sys.executable
    ) -> None:
        """Scan within ``limit`` per scanner; ``python`` is the interpreter that has the scanners."""
        self._python = python
        self._workspace = workspace
        self._runs = runs
        self._limit = limit

    def names(self, security: Security) -> tuple[str, ...]:
        """All scanners of the section: those we know, then the section's own commands."""
        return (*security.scanners, *(str(command) for command in security.run))

    async def scan(self, subject: Subject, security: Security, scanner: str) -> Scanned | NotScanned:
        """What ``scanner`` (one of ``names``) finds in the subject.

        Raises ``Unavailable`` when no checkout or process could be made, ``Malformed`` for a damaged run.
        """
        if scanner in _MODULES:
            return await self._known(subject, scanner)
        own = [str(command) for command in security.run].index(scanner)
        outcome = await self._run(subject, f"scan-run-{own + 1}", security.run[own], report=None)
        if not outcome.answered:
            return NotScanned(scanner, outcome.why_not, retry=True)
        return Scanned(scanner, _own_findings(scanner, outcome))

    async def _known(self, subject: Subject, scanner: str) -> Scanned | NotScanned:
        if find_spec(_MODULES[scanner]) is None:
            return NotScanned(scanner, f"{scanner} is not installed (pip install {scanner})", retry=False)
        arguments = _ARGUMENTS[scanner]
        if scanner == "pip-audit":
            source = await self._dependencies(subject)
            if source is None:
                return Scanned(scanner, ())
            arguments = (*arguments, *source)
        words = (self._python, "-I", "-c", _TO_FILE, _REPORT, _MODULES[scanner], *arguments)
        outcome = await self._run(subject, f"scan-{scanner}", Command(words), report=_REPORT)
        if not outcome.answered:
            return NotScanned(scanner, outcome.why_not, retry=True)
        try:
            return Scanned(scanner, read_report(scanner, outcome.report or b""))
        except UnreadableReport as error:
            self._runs.forget(self._errand(subject, f"scan-{scanner}", Command(words), report=_REPORT))
            return NotScanned(scanner, f"{error} {_last_line(outcome.result.output)}".strip(), retry=True)

    async def _dependencies(self, subject: Subject) -> Sequence[str] | None:
        """Where the dependencies are declared; ``None`` when nothing declares any."""
        for path, arguments in _DEPENDENCIES:
            if await self._workspace.read(subject.project, subject.commit, path) is not None:
                return arguments
        return None

    async def _run(self, subject: Subject, purpose: str, command: Command, *, report: str | None) -> Outcome:
        return await self._runs.run(self._errand(subject, purpose, command, report=report))

    def _errand(self, subject: Subject, purpose: str, command: Command, *, report: str | None) -> Errand:
        return Errand(
            project=subject.project,
            work_item=subject.work_item,
            commit=subject.commit,
            purpose=purpose,
            command=command,
            limit=self._limit,
            report=report,
        )


def _own_findings(scanner: str, outcome: Outcome) -> tuple[Discovery, ...]:
    """SARIF on the output counts as it is; without it the exit code is the finding."""
    output = outcome.result.output
    start, end = output.find("{"), output.rfind("}")
    if 0 <= start < end:
        try:
            return read_report("sarif", output[start : end + 1].encode())
        except UnreadableReport:
            pass
    if outcome.result.exit_code == 0:
        return ()
    said = f"{scanner} ended with {outcome.result.exit_code}"
    return (Discovery("critical", said, f"{said}: {_last_line(output)}"),)


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return redact(lines[-1])[:200] if lines else ""
