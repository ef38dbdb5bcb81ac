"""The real clock and real chance: the only readers of the wall clock, and the only makers of random names."""

import asyncio
import time
import uuid
from datetime import UTC, datetime, timedelta


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """The present instant, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back; only differences mean anything."""
        return time.monotonic()

    async def sleep(self, pause: timedelta) -> None:
        """Let ``pause`` pass; a negative one is over at once."""
        await asyncio.sleep(max(pause.total_seconds(), 0.0))


class RandomIds:
    """Names of 32 hexadecimal digits that nobody else makes."""

    def new(self) -> str:
        """A fresh identifier: lower-case letters and digits."""
        return uuid.uuid4().hex
