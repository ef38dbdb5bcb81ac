"""The regression suite of a contract, run on one commit."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from orchestrator.config.contract import Suite as Declared
from orchestrator.delivery.clean_runs import CleanRuns, Errand
from orchestrator.pipeline.ids import Commit, WorkItemId

TAIL: Final = 3000
"""Characters of the output that go with an answer."""


class Purpose(StrEnum):
    """Why the suite runs; one commit may be asked for several reasons, and each is remembered by itself."""

    LOCAL = "tests-local"
    MERGE = "merge-retest"
    BASE = "merge-base"


class SuiteAnswer(StrEnum):
    """Green, red, or no answer: the suite did not come to an end (ORCH-110)."""

    GREEN = "green"
    RED = "red"
    NOT_RUN = "not-run"


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """What the suite said; ``tail`` is the end of its output, ``reason`` one line for people."""

    answer: SuiteAnswer
    reason: str
    tail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Which suite to run on which commit, for whom and why."""

    project: str
    work_item: WorkItemId
    commit: Commit
    suite: Declared
    purpose: Purpose

    @property
    def errand(self) -> Errand:
        """The order as a run in a clean checkout."""
        return Errand(
            project=self.project,
            work_item=self.work_item,
            commit=self.commit,
            purpose=self.purpose,
            command=self.suite.run,
            limit=self.suite.timeout,
        )


class Suite:
    """Runs regression suites, once per commit and purpose."""

    def __init__(self, runs: CleanRuns) -> None:
        self._runs = runs

    async def run(self, order: Order) -> SuiteResult:
        """Run the suite (or read its answer again).

        Raises ``Unavailable`` when no checkout or process could be made, ``Malformed`` for a damaged run.
        """
        outcome = await self._runs.run(order.errand)
        result, tail = outcome.result, outcome.result.output.rstrip()[-TAIL:]
        if not outcome.answered:
            return SuiteResult(SuiteAnswer.NOT_RUN, outcome.why_not, tail)
        seconds = f"in {result.duration.total_seconds():.1f} s"
        if result.exit_code == 0:
            return SuiteResult(SuiteAnswer.GREEN, f"green {seconds}", tail)
        return SuiteResult(SuiteAnswer.RED, f"red {seconds}, exit code {result.exit_code}", tail)

    def forget(self, order: Order) -> None:
        """Let the suite run anew the next time: its answer says nothing about the code."""
        self._runs.forget(order.errand)
