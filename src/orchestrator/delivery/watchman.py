"""One tick of the watch over production: look, remember, judge, and react when it is degraded."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeAlias

from orchestrator.config.contract import Contract
from orchestrator.config.settings import Settings
from orchestrator.delivery.probe import Probe
from orchestrator.delivery.rollback import Rollback
from orchestrator.delivery.vigil import Vigil, look, vigil_of
from orchestrator.delivery.watch import Armed, WatchState, degradation, is_over
from orchestrator.errors import BadInput
from orchestrator.pipeline.ids import Commit
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.reports import Action, Watch
from orchestrator.ports.clock import Clock

SHOWN: Final = 20
"""Failed checks that a report quotes."""


@dataclass(frozen=True, slots=True)
class Unwatched:
    """There is nothing to watch."""

    reason: str


@dataclass(frozen=True, slots=True)
class Watching:
    """The window is not over; the next look is due after this pause."""

    pause: timedelta


@dataclass(frozen=True, slots=True)
class Concluded:
    """The watch is over; ``reason`` says why production is degraded, ``done`` what came of the reaction."""

    watch: Watch
    armed: Armed
    reason: str = ""
    done: str = ""


Watched: TypeAlias = Unwatched | Watching | Concluded


class Watchman:
    """Watches deployments; what it saw is kept in files, so that a restart goes on where it stopped."""

    def __init__(
        self, *, probe: Probe, rollback: Rollback, clock: Clock, settings: Settings, state_dir: Path
    ) -> None:
        self._probe = probe
        self._rollback = rollback
        self._clock = clock
        self._settings = settings
        self._state_dir = state_dir

    async def tick(
        self, item: WorkItem, merged: Commit, contract: Contract, *, may_roll_back: bool
    ) -> Watched:
        """One look at what ``merged`` made of production; the first tick only begins the window."""
        try:
            vigil = vigil_of(contract, self._settings, self._rollback.variables(item, merged))
        except BadInput as error:
            return Unwatched(str(error))
        if vigil is None:
            return Unwatched("the contract names no address to watch")
        state = WatchState(self._state_dir, item.project, item.id)
        wanted = Armed(merged, item.epoch, self._clock.now())
        armed = state.arm(wanted)
        if armed is wanted:
            return Watching(vigil.interval)
        reason = state.degraded() or await self._look(state, vigil)
        if reason is None and not is_over(armed, vigil.window, self._clock.now()):
            return Watching(vigil.interval)
        action, done = Action.NONE, ""
        if reason is not None:
            action, done = Action.ALERT_ONLY, "nobody but a person rolls back here"
            if may_roll_back:
                place = state.place / state.run_name(armed)
                action, done = await self._rollback.run(contract, item, merged, place=place)
        return _concluded(state, vigil, armed, reason=reason, reaction=(action, done))

    async def _look(self, state: WatchState, vigil: Vigil) -> str | None:
        state.append(await look(self._probe, vigil, self._clock.now()))
        reason = degradation(state.series(), vigil.thresholds)
        if reason is not None:
            state.note_degraded(reason)
        return reason


def _concluded(
    state: WatchState, vigil: Vigil, armed: Armed, *, reason: str | None, reaction: tuple[Action, str]
) -> Concluded:
    series = state.series()
    failed = [tick for tick in series if not tick.well]
    action, done = reaction
    observations = [f"{tick.at.isoformat(timespec='seconds')} {tick.note}" for tick in failed[-SHOWN:]]
    watch = Watch(
        healthy=reason is None,
        action=action,
        window=vigil.window,
        checks_total=len(series),
        checks_failed=len(failed),
        observations=tuple(line for line in (reason or "", done, *observations) if line),
    )
    return Concluded(watch, armed, reason or "", done)
