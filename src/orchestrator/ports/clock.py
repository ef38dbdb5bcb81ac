"""Time and identity come from outside, so that a simulation can run the real engine from one seed."""

from datetime import datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """The wall clock, a stopwatch and a pause."""

    def now(self) -> datetime:
        """The present instant, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back; only differences mean anything."""
        ...

    async def sleep(self, pause: timedelta) -> None:
        """Let ``pause`` pass."""
        ...


class Ids(Protocol):
    """A source of names that nobody else uses."""

    def new(self) -> str:
        """A fresh identifier: lower-case letters and digits."""
        ...
