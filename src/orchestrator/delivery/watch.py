"""Watching production after a deployment: the series of probes, and what it adds up to (ORCH-021)."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from orchestrator.pipeline.ids import Commit, Epoch, WorkItemId

GLITCH: Final = 1
"""So many 5xx answers are no share yet: a single glitch stays healthy (inventory §8.7)."""


@dataclass(frozen=True, slots=True)
class Tick:
    """One probe: whether health was well, how many answers there were, how many of them 5xx."""

    at: datetime
    well: bool
    answers: int
    errors: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From when on production counts as degraded; ``error_rate`` is a share from 0 to 1."""

    failures: int
    error_rate: float


def degradation(series: Sequence[Tick], thresholds: Thresholds) -> str | None:
    """Why production counts as degraded; ``None`` while it is healthy."""
    longest = _longest_failure(series)
    if longest >= thresholds.failures:
        return f"{longest} failed health checks in a row"
    errors, answers = sum(tick.errors for tick in series), sum(tick.answers for tick in series)
    if errors > GLITCH and errors > thresholds.error_rate * answers:
        return f"{errors} of {answers} answers were 5xx, more than {thresholds.error_rate:g}"
    return None


def _longest_failure(series: Iterable[Tick]) -> int:
    longest = present = 0
    for tick in series:
        present = 0 if tick.well else present + 1
        longest = max(longest, present)
    return longest


@dataclass(frozen=True, slots=True)
class Armed:
    """Since when which deployment is watched."""

    commit: Commit
    epoch: Epoch
    at: datetime


class WatchState:
    """The sentinels of one item's watch: ``armed``, ``series``, ``degraded``; they survive us."""

    def __init__(self, state_dir: Path, project: str, work_item: WorkItemId) -> None:
        self.place = state_dir / f".post-deploy-state-{project}" / work_item

    def arm(self, armed: Armed) -> Armed:
        """When this deployment began to be watched; another deployment than before begins a new series."""
        known = self._known()
        if known is not None and (known.commit, known.epoch) == (armed.commit, armed.epoch):
            return known
        self.place.mkdir(parents=True, exist_ok=True)
        for name in ("series", "degraded"):
            (self.place / name).unlink(missing_ok=True)
        facts = {"commit": armed.commit, "epoch": armed.epoch, "at": armed.at.isoformat()}
        self._write("armed", json.dumps(facts))
        return armed

    def append(self, tick: Tick) -> None:
        """Add one probe to the series."""
        facts = {
            "at": tick.at.isoformat(),
            "well": tick.well,
            "answers": tick.answers,
            "errors": tick.errors,
            "note": tick.note,
        }
        with (self.place / "series").open("a", encoding="utf-8") as file:
            # A line that a crash cut short is ended first, so that it spoils no other.
            file.write(f"\n{json.dumps(facts)}\n")

    def series(self) -> tuple[Tick, ...]:
        """All probes so far, oldest first; a line that was cut short counts as none."""
        try:
            lines = (self.place / "series").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return ()
        return tuple(tick for line in lines if line.strip() and (tick := _tick(line)) is not None)

    def note_degraded(self, reason: str) -> None:
        """Remember that the watch is over and why, before anything is done about it."""
        self._write("degraded", reason)

    def degraded(self) -> str | None:
        """Why the watch is over; ``None`` while it is not."""
        try:
            return (self.place / "degraded").read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def run_name(self, armed: Armed) -> str:
        """The name of the rollback's run directory: one rollback for one deployment."""
        return f"rollback-{armed.commit}-e{armed.epoch}"

    def _known(self) -> Armed | None:
        try:
            said = json.loads((self.place / "armed").read_text(encoding="utf-8"))
            return Armed(Commit(said["commit"]), Epoch(said["epoch"]), datetime.fromisoformat(said["at"]))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def _write(self, name: str, text: str) -> None:
        part = self.place / f"{name}.part"
        part.write_text(text, encoding="utf-8")
        part.replace(self.place / name)


def is_over(armed: Armed, window: timedelta, now: datetime) -> bool:
    """Whether production was watched long enough."""
    return now - armed.at >= window


def _tick(line: str) -> Tick | None:
    try:
        said = json.loads(line)
        at = datetime.fromisoformat(said["at"])
        return Tick(at, bool(said["well"]), int(said["answers"]), int(said["errors"]), str(said["note"]))
    except (ValueError, KeyError, TypeError):
        return None
