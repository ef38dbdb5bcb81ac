"""A clock that is moved by hand and names that count up, for tests and simulations."""

import asyncio
from datetime import datetime, timedelta


class ManualClock:
    """Time passes when it is told to, and when somebody sleeps."""

    def __init__(self, start: datetime) -> None:
        """Begin at ``start``, which is aware."""
        self._start = start
        self._now = start

    def now(self) -> datetime:
        """The present instant."""
        return self._now

    def monotonic(self) -> float:
        """Seconds since the start."""
        return (self._now - self._start).total_seconds()

    def advance(self, by: timedelta) -> None:
        """Let ``by`` pass at once; time does not go back.

        Raises:
            ValueError: ``by`` is negative.
        """
        if by < timedelta():
            raise ValueError(f"time does not go back by {-by}")
        self._now += by

    async def sleep(self, pause: timedelta) -> None:
        """Let ``pause`` pass at once, and everybody else have a turn."""
        self.advance(max(pause, timedelta()))
        await asyncio.sleep(0)


class SequentialIds:
    """Names that count up, so that a run from the same seed makes the same ones."""

    def __init__(self, prefix: str = "id") -> None:
        """Names are ``prefix`` and a number, beginning with 1."""
        self._prefix = prefix
        self._last = 0

    def new(self) -> str:
        """The next name."""
        self._last += 1
        return f"{self._prefix}{self._last}"
