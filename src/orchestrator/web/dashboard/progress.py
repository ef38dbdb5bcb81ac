"""An item's way through the stages, and its timeline without repetitions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from orchestrator.pipeline.stages import TERMINAL, Stage, Track
from orchestrator.web.dashboard.board import COLUMNS
from orchestrator.web.shapes import ItemDetails, Moment


class StepState(StrEnum):
    """Where a stage lies on the way of an item."""

    PASSED = "passed"
    SKIPPED = "skipped"
    CURRENT = "current"
    AHEAD = "ahead"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of the way: its state, how often it was entered, and the time spent in it."""

    stage: Stage
    state: StepState
    visits: int
    spent: timedelta


@dataclass(frozen=True, slots=True)
class Entry:
    """A moment of the timeline; ``times`` says how often it was repeated, the first time at ``first``."""

    moment: Moment
    times: int
    first: datetime


def way(item: ItemDetails, now: datetime) -> list[Step]:
    """All stages in order, as this item has passed them so far."""
    visits: dict[Stage, int] = {Stage.CREATED: 1}
    spent: dict[Stage, timedelta] = {}
    here, since = Stage.CREATED, item.created_at
    last_open = here
    for move in item.timeline:
        if move.to_stage is None or move.to_stage is here:
            continue
        spent[here] = spent.get(here, timedelta()) + (move.at - since)
        last_open, here, since = here, move.to_stage, move.at
        visits[here] = visits.get(here, 0) + 1
    if here not in TERMINAL:
        spent[here] = spent.get(here, timedelta()) + max(now - since, timedelta())
    at = last_open if here is Stage.CANCELLED else here
    return [
        Step(stage, _state(item, stage, at), visits.get(stage, 0), spent.get(stage, timedelta()))
        for stage in COLUMNS
    ]


def _state(item: ItemDetails, stage: Stage, at: Stage) -> StepState:
    if stage is at:
        if item.stage is Stage.CANCELLED:
            return StepState.STOPPED
        return StepState.PASSED if stage is Stage.DONE else StepState.CURRENT
    if stage is Stage.ARCHITECTURE and item.track is Track.BUG:
        return StepState.SKIPPED
    return StepState.PASSED if COLUMNS.index(stage) < COLUMNS.index(at) else StepState.AHEAD


def told(timeline: Sequence[Moment]) -> list[Entry]:
    """The timeline, newest first; a gate that gives the same answer again is told once."""
    entries: list[Entry] = []
    for moment in timeline:
        if entries and _repeats(entries[-1].moment, moment):
            entries[-1] = replace(entries[-1], moment=moment, times=entries[-1].times + 1)
        else:
            entries.append(Entry(moment, 1, moment.at))
    return entries[::-1]


def _repeats(before: Moment, moment: Moment) -> bool:
    same = (before.kind, before.gate, before.answer, before.text, before.commit)
    return moment.kind == "verdict" and same == (
        moment.kind,
        moment.gate,
        moment.answer,
        moment.text,
        moment.commit,
    )
