"""What a deterministic runner counts, for ``GET /queue``; lives as long as the process (ORCH-115 D10)."""

from dataclasses import dataclass


@dataclass(slots=True)
class RunnerCounters:
    """Counters of one runner; ``yes`` and ``no`` are the names under which its two verdicts are shown."""

    yes: str
    no: str
    runs: int = 0
    passed: int = 0
    failed: int = 0
    tool_error: int = 0
    deferred: int = 0

    def judged(self, *, passed: bool) -> None:
        """The tool ran and its exit code was an answer."""
        if passed:
            self.passed += 1
        else:
            self.failed += 1

    def snapshot(self) -> dict[str, int]:
        """All counters by name."""
        return {
            "runs": self.runs,
            self.yes: self.passed,
            self.no: self.failed,
            "tool_error": self.tool_error,
            "deferred": self.deferred,
        }
