"""The second level of a runner's outcome: a tool that could not run is tried again (ORCH-115 D5)."""

from dataclasses import dataclass
from datetime import timedelta

from orchestrator.ports.producer import Deferred


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and after which pause a runner tries again; ``runner`` gives the marker that is counted."""

    runner: str
    max_retries: int
    pause: timedelta

    @property
    def marker(self) -> str:
        """What stands in the task text of each repeated job (inventory §6.3)."""
        return f"{self.runner} infra-retry"

    def defer(self, reason: str, spent: int) -> Deferred | None:
        """Another try; ``None`` when ``spent`` tries have used the budget up."""
        if spent >= self.max_retries:
            return None
        attempt = f"attempt {spent + 1}/{self.max_retries}"
        return Deferred(f"{reason} ({attempt})", after=self.pause, marker=self.marker)
