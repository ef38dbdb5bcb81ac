"""Looking after a run while it goes on: what it has consumed, whether it is through, whether it still lives.

Everything is found out from the run's log and its processes, so that an orchestrator that was started again
looks after a run as the one before did.
"""

import asyncio
import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from orchestrator.agents.clis import Ended, EndedBy, Reader
from orchestrator.agents.vital_signs import Load, load_of, newest_change
from orchestrator.errors import Malformed
from orchestrator.plumbing.processes import SupervisedRun
from orchestrator.plumbing.processes.lines import LineReader
from orchestrator.ports.agent import AgentTask
from orchestrator.ports.clock import Clock

_NOTE: Final = "ended.json"

AT_ONCE: Final = 500
"""Lines that are read at one look: a run that is found again may have written a long log meanwhile."""

_BUSY: Final = 0.02
"""Share of a processor below which the processes of a run only wait (timers and the like)."""


@dataclass(frozen=True, slots=True)
class Care:
    """How runs are looked after.

    ``result_grace`` is how long a CLI that said it is through may take to end, ``stall`` how long nothing at
    all may move, ``memory_mb`` what all processes of a run may occupy together (0: not limited).
    """

    result_grace: timedelta = timedelta(seconds=10)
    stall: timedelta = timedelta(minutes=15)
    memory_mb: int = 0
    look: timedelta = timedelta(milliseconds=50)
    """How soon the log is looked at again while something is written to it."""
    idle_look: timedelta = timedelta(milliseconds=250)
    measure: timedelta = timedelta(seconds=2)
    """How often processes and files are looked at."""


class Attendance:
    """Looks after one run: reads its log, and says when it has to be ended and why."""

    def __init__(
        self, task: AgentTask, reader: Reader, run: SupervisedRun, *, care: Care, clock: Clock
    ) -> None:
        self._task = task
        self._reader = reader
        self._log_path = run.log_path
        self._lines = LineReader(run.log_path)
        self._size = 0
        self._care = care
        self._clock = clock
        self._root = run.pid
        now = clock.monotonic()
        self._read_at = now
        self._through_since: float | None = None
        self._measured_at = now
        self._life = _Life(now)

    def read(self) -> None:
        """Read what is new in the log; of very much, the next part."""
        self._feed(AT_ONCE)
        size = self._log_path.stat().st_size if self._log_path.exists() else 0
        if size != self._size:
            self._size, self._read_at = size, self._clock.monotonic()

    def read_rest(self) -> None:
        """Read the log of a run that has ended to its last character. Blocking."""
        self._feed(None)

    def _feed(self, most: int | None) -> None:
        """Read so many lines; ``None``: all of a log that does not grow any more."""
        count = 0
        while count != most and (line := self._lines.next(whole=most is None)) is not None:
            if line.text is not None:
                self._reader.feed(line.text)
            count += 1

    @property
    def pause(self) -> float:
        """Seconds until the next look: short while the run talks."""
        silent = self._clock.monotonic() - self._read_at
        care = self._care
        return (care.look if silent < 1 else care.idle_look).total_seconds()

    async def verdict(self) -> Ended | None:
        """Why the run has to be ended now; ``None`` while it may go on."""
        return self._ceiling() or self._lingering() or await self._measured()

    def _ceiling(self) -> Ended | None:
        if self._reader.result_seen:
            # What is done is paid for: nothing is saved by throwing it away.
            return None
        usage = self._reader.usage
        reached = self._task.ceiling.reached(
            tokens=usage.tokens, cost_usd=usage.cost_usd, turns=self._reader.turns
        )
        return None if reached is None else Ended(EndedBy.BUDGET, reached)

    def _lingering(self) -> Ended | None:
        """A CLI that is through may wait for what it started in the background, for ever."""
        if not self._reader.result_seen:
            self._through_since = None
            return None
        now = self._clock.monotonic()
        if self._through_since is None:
            self._through_since = now
        if now - self._through_since < self._care.result_grace.total_seconds():
            return None
        return Ended(EndedBy.RESULT, "it gave its result and did not end")

    async def _measured(self) -> Ended | None:
        now = self._clock.monotonic()
        if self._root is None or now - self._measured_at < self._care.measure.total_seconds():
            return None
        self._measured_at = now
        load = await asyncio.to_thread(load_of, self._root)
        if self._care.memory_mb and load.rss_mb > self._care.memory_mb:
            occupied = f"its processes occupied {load.rss_mb:.0f} MB of {self._care.memory_mb}"
            return Ended(EndedBy.MEMORY, occupied)
        # Only a run that has been silent for a while is worth a walk through its files.
        silent = now - max(self._read_at, self._life.since)
        changed = None
        if silent >= self._care.stall.total_seconds() / 4:
            changed = await asyncio.to_thread(newest_change, self._task.workspace)
        self._life.note(now, load, changed, self._size)
        still = now - max(self._read_at, self._life.since)
        if still < self._care.stall.total_seconds():
            return None
        return Ended(EndedBy.STALL, f"nothing moved for {still:.0f} s: no output, no work, no changed file")


class _Life:
    """Remembers what was seen of a run, and since when all of it is the same."""

    def __init__(self, now: float) -> None:
        self.since = now
        self._cpu_at = now
        self._cpu_s = 0.0
        self._seen: tuple[object, ...] | None = None
        self._changed: float | None = None

    def note(self, now: float, load: Load, changed: float | None, size: int) -> None:
        """Take what was seen now; something that moved begins the time anew."""
        seen = (load.processes, size)
        busy = load.cpu_s - self._cpu_s > _BUSY * (now - self._cpu_at)
        moved = changed is not None and self._changed is not None and changed > self._changed
        if seen != self._seen or busy or moved:
            self.since = now
        self._seen = seen
        self._cpu_at, self._cpu_s = now, load.cpu_s
        if changed is not None:
            self._changed = changed


def note_ended(run_dir: Path, ended: Ended) -> None:
    """Write down why a run is about to be ended, so that whoever reads its record knows."""
    part = run_dir / f"{_NOTE}.part"
    part.write_text(json.dumps({"by": ended.by, "reason": ended.reason}), encoding="utf-8")
    part.replace(run_dir / _NOTE)


def read_ended(run_dir: Path) -> Ended | None:
    """Why the run was ended by us; ``None`` when it was not.

    Raises:
        Malformed: the note is damaged.
    """
    try:
        said = json.loads((run_dir / _NOTE).read_text(encoding="utf-8"))
        return Ended(EndedBy(said["by"]), str(said["reason"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise Malformed(f"{run_dir / _NOTE} is damaged: {error}") from error
