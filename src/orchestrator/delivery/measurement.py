"""Test coverage: run what the contract says, read the report it leaves (ORCH-027).

Reports are made by code of the branch, so they are read with care: no XML parser, no entity, only figures.
"""

import json
import math
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from orchestrator.config.contract import Contract, Coverage
from orchestrator.delivery.clean_runs import CleanRuns, Errand
from orchestrator.ports.workspace import Branch, Head

_ROOT: Final = re.compile(r"<coverage\b([^<>]{0,4000})>")
_FIGURE: Final = re.compile(
    r"\b(lines-valid|lines-covered|branches-valid|branches-covered|line-rate)=[\"']([0-9.]{1,20})[\"']"
)
_LCOV: Final = re.compile(r"^(LF|LH|BRF|BRH):(\d{1,12})\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Measured:
    """How much of the code the tests reach, in per cent."""

    percent: float


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """The tool left no figure; ``reason`` is one line for people."""

    reason: str


class Measurement:
    """Measures the coverage of a head, once per code."""

    def __init__(self, runs: CleanRuns, *, limit: timedelta) -> None:
        self._runs = runs
        self._limit = limit

    async def measure(self, branch: Branch, head: Head, coverage: Coverage) -> Measured | NotMeasured:
        """Run the contract's command (or read its report again).

        Raises ``Unavailable`` when no checkout or process could be made, ``Malformed`` for a damaged run.
        """
        outcome = await self._runs.run(self._errand(branch, head, coverage))
        if not outcome.answered:
            return NotMeasured(outcome.why_not)
        percent = percent_of(outcome.report or b"")
        if percent is None:
            code = outcome.result.exit_code
            return NotMeasured(f"no figure in {coverage.report} (the command ended with {code})")
        return Measured(percent)

    def known(self, branch: Branch, head: Head, contract: Contract | None) -> float | None:
        """What was measured for this code before; nothing is run."""
        if contract is None or contract.coverage is None:
            return None
        return percent_of(self._runs.known(self._errand(branch, head, contract.coverage)) or b"")

    def _errand(self, branch: Branch, head: Head, coverage: Coverage) -> Errand:
        return Errand(
            project=branch.project,
            work_item=branch.item,
            commit=head.commit,
            purpose="coverage",
            command=coverage.run,
            limit=self._limit,
            report=coverage.report,
            key=head.code,
        )


def percent_of(report: bytes) -> float | None:
    """Total coverage in a report of coverage.py (JSON), Cobertura or lcov; ``None`` for anything else."""
    text = report.decode("utf-8", errors="replace").lstrip("\ufeff \t\r\n")
    if text.startswith("{"):
        percent = _of_json(text)
    elif text.startswith("<"):
        percent = _of_cobertura(text)
    else:
        percent = _of_lcov(text)
    return percent if percent is not None and 0 <= percent <= 100 else None


def _of_json(text: str) -> float | None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    totals = data.get("totals")
    percent = totals.get("percent_covered") if isinstance(totals, dict) else None
    if isinstance(percent, bool) or not isinstance(percent, int | float) or not math.isfinite(percent):
        return None
    return float(percent)


def _of_cobertura(text: str) -> float | None:
    root = _ROOT.search(text)
    if root is None:
        return None
    try:
        figures = {name: float(value) for name, value in _FIGURE.findall(root[1])}
    except ValueError:
        return None
    valid = figures.get("lines-valid", 0) + figures.get("branches-valid", 0)
    if valid:
        return 100 * (figures.get("lines-covered", 0) + figures.get("branches-covered", 0)) / valid
    return 100 * figures["line-rate"] if "line-rate" in figures else None


def _of_lcov(text: str) -> float | None:
    sums = {"LF": 0, "LH": 0, "BRF": 0, "BRH": 0}
    for name, value in _LCOV.findall(text):
        sums[name] += int(value)
    found = sums["LF"] + sums["BRF"]
    return 100 * (sums["LH"] + sums["BRH"]) / found if found else None
