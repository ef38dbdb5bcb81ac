"""The board as it is shown: columns of cards, and above them the items that need a person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.pipeline.stages import Stage
from orchestrator.web.shapes import ItemSummary

COLUMNS: Final = tuple(stage for stage in Stage if stage is not Stage.CANCELLED)
ENDED_SHOWN: Final = 12
"""Cards of done and of cancelled items that the board shows; the API lists all."""


@dataclass(frozen=True, slots=True)
class Column:
    """One stage; ``total`` counts also the cards that are not shown."""

    stage: Stage
    cards: Sequence[ItemSummary]
    total: int


@dataclass(frozen=True, slots=True)
class Board:
    """Everything on the page of the board."""

    columns: Sequence[Column]
    cancelled: Column
    needing_person: Sequence[ItemSummary]
    at_work: int
    waiting: int
    total: int
    project: str | None
    projects: Sequence[str]


def lay_out(
    items: Sequence[ItemSummary],
    totals: Mapping[Stage, int],
    *,
    project: str | None,
    projects: Sequence[str],
) -> Board:
    """Lay ``items`` out; those that wait longest for a person come first."""
    needing = [item for item in items if item.explanation.waits_for == "person"]
    working = sum(item.explanation.waits_for == "work" for item in items)
    still_open = sum(item.stage not in (Stage.DONE, Stage.CANCELLED) for item in items)

    def column(stage: Stage) -> Column:
        return Column(stage, [item for item in items if item.stage is stage], totals[stage])

    return Board(
        columns=[column(stage) for stage in COLUMNS],
        cancelled=column(Stage.CANCELLED),
        needing_person=sorted(needing, key=lambda item: item.explanation.since),
        at_work=working,
        waiting=still_open - working - len(needing),
        total=sum(totals.values()),
        project=project,
        projects=projects,
    )
