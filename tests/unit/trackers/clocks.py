"""A clock whose every look is a second later than the one before."""

from datetime import UTC, datetime, timedelta


class TickingClock:
    def __init__(self) -> None:
        self.instant = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)

    def now(self) -> datetime:
        self.instant += timedelta(seconds=1)
        return self.instant

    def monotonic(self) -> float:
        return self.instant.timestamp()

    async def sleep(self, pause: timedelta) -> None:
        self.instant += pause
