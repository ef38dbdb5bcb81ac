"""What follows a failed job: another try, or the end. A pure function of the error and the attempts."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

from orchestrator.errors import Conflict, Unavailable

FIRST_PAUSE: Final = timedelta(seconds=1)
LONGEST_PAUSE: Final = timedelta(minutes=5)
DOUBLINGS: Final = 10
CONFLICT_PAUSE: Final = timedelta(milliseconds=200)


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again after ``after``; ``spend`` counts an attempt."""

    after: timedelta
    spend: bool


@dataclass(frozen=True, slots=True)
class Dead:
    """No further try."""


AfterFailure: TypeAlias = Retry | Dead


def after_failure(error: Exception, *, attempts: int, max_attempts: int) -> AfterFailure:
    """A lost race costs nothing; an outage or a bug costs an attempt, with growing pauses between them."""
    if isinstance(error, Conflict):
        return Retry(CONFLICT_PAUSE, spend=False)
    if attempts + 1 >= max_attempts:
        return Dead()
    pause = FIRST_PAUSE if isinstance(error, Unavailable) else 2 * FIRST_PAUSE
    return Retry(min(pause * 2 ** min(attempts, DOUBLINGS), LONGEST_PAUSE), spend=True)
