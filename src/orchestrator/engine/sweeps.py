"""Sweeps: what is looked at again every now and then, so that a lost message delays an item and no more."""

from dataclasses import asdict
from datetime import timedelta

import structlog

from orchestrator.engine.recovery import Recovery
from orchestrator.engine.tracker_poll import TrackerPoll
from orchestrator.errors import AdapterError
from orchestrator.ports.clock import Clock

log = structlog.get_logger(__name__)


class Sweeps:
    """Recovers at the start, then asks about quiet items and polls the tracker in turns."""

    def __init__(
        self,
        *,
        recovery: Recovery,
        tracker_poll: TrackerPoll,
        clock: Clock,
        interval: timedelta,
        grace: timedelta,
    ) -> None:
        self._recovery = recovery
        self._tracker_poll = tracker_poll
        self._clock = clock
        self._interval = interval
        self._grace = grace
        self.recovered: dict[str, int] = {}
        self.last_run: str | None = None
        self.asked = 0
        self.gestures = 0

    async def begin(self) -> None:
        """Bring everything back that the last end left behind; once, before anything is claimed."""
        self.recovered = asdict(await self._recovery.on_start())

    async def run(self) -> None:
        """Sweep until cancelled; a neighbour that does not answer is asked again next time."""
        while True:
            await self._sweep()
            self.last_run = self._clock.now().isoformat()
            await self._clock.sleep(self._interval)

    async def _sweep(self) -> None:
        try:
            self.gestures += await self._tracker_poll.poll()
            self.asked += await self._recovery.sweep(self._grace)
        except AdapterError as error:
            log.warning("sweep_failed", reason=str(error))
