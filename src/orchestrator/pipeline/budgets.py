"""Budgets: ceilings on tokens, money, runs and wall time, and what a run may consume under all of them.

A run reserves what it may consume before it starts, so that two runs cannot spend the same money; it is ended
at its ceiling, and what it really consumed counts afterwards (product §4, budgets).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final, TypeAlias


class Scope(StrEnum):
    """What a budget is for; ``day`` is a day of the project in its own time zone."""

    RUN = "run"
    ROLE = "role"
    ITEM = "item"
    PROJECT = "project"
    DAY = "day"


class Measure(StrEnum):
    """What is counted: tokens of all kinds, US dollars, runs, seconds of wall time."""

    TOKENS = "tokens"
    COST = "cost_usd"
    RUNS = "runs"
    WALL = "wall_s"


@dataclass(frozen=True, slots=True)
class Bound:
    """How much of something a run may consume, and which budget says so, in words."""

    amount: float
    budget: str


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What one run may consume; ``None`` is not limited. ``turns`` are answers of the model."""

    tokens: Bound | None = None
    cost_usd: Bound | None = None
    turns: Bound | None = None
    wall_s: Bound | None = None

    def reached(self, *, tokens: int, cost_usd: float) -> str | None:
        """Which ceiling a run with this consumption has reached, in one line; ``None`` when none."""
        if self.tokens is not None and tokens >= self.tokens.amount:
            return f"{self.tokens.budget} is used up: {tokens} tokens"
        if self.cost_usd is not None and cost_usd >= self.cost_usd.amount:
            return f"{self.cost_usd.budget} is used up: ${cost_usd:.4f}"
        return None


@dataclass(frozen=True, slots=True)
class Account:
    """What was consumed in one scope, and what the runs under way have reserved of it (theirs included)."""

    spent: Mapping[Measure, float]
    reserved: Mapping[Measure, float]


Limits: TypeAlias = Mapping[Scope, Mapping[Measure, float]]
"""The budgets of an installation or a project."""


@dataclass(frozen=True, slots=True)
class Granted:
    """The run may start and consume this much."""

    ceiling: Ceiling


@dataclass(frozen=True, slots=True)
class Occupied:
    """What is left is reserved by runs under way: wait for one of them to end."""

    reason: str


@dataclass(frozen=True, slots=True)
class Exhausted:
    """A budget is used up: a person has to raise it."""

    reason: str


Grant: TypeAlias = Granted | Occupied | Exhausted

_UNITS: Final[Mapping[Measure, str]] = {
    Measure.TOKENS: "{:.0f} tokens",
    Measure.COST: "${:.2f}",
    Measure.RUNS: "{:.0f} runs",
    Measure.WALL: "{:.0f} s of wall time",
}


def grant(limits: Limits, accounts: Mapping[Scope, Account], *, wall: timedelta) -> Grant:
    """What a run that is about to start may consume under all budgets; ``wall`` is its own time limit.

    ``accounts`` hold every scope but the run itself. Without a budget for runs, a run reserves all that the
    others leave: then only one run at a time goes on under them.
    """
    bounds: dict[Measure, Bound] = {}
    for scope, measure, limit in _rows(limits):
        account = accounts.get(scope)
        spent = account.spent.get(measure, 0.0) if account is not None else 0.0
        reserved = account.reserved.get(measure, 0.0) if account is not None else 0.0
        budget = f"the {scope} budget of {_UNITS[measure].format(limit)}"
        wanted = 1.0 if measure is Measure.RUNS else 0.0
        if spent + wanted > limit or (not wanted and spent >= limit):
            return Exhausted(f"{budget} is used up: {_UNITS[measure].format(spent)}")
        left = limit - spent - reserved
        if left < wanted or (not wanted and left <= 0):
            return Occupied(f"what is left of {budget} is reserved by runs under way")
        if measure not in bounds or left < bounds[measure].amount:
            bounds[measure] = Bound(left, budget)
    return Granted(_ceiling(bounds, wall))


def _ceiling(bounds: Mapping[Measure, Bound], wall: timedelta) -> Ceiling:
    time = bounds.get(Measure.WALL)
    return Ceiling(
        tokens=bounds.get(Measure.TOKENS),
        cost_usd=bounds.get(Measure.COST),
        # A time limit of the run itself that comes first is no budget: reaching it is a failure of the run.
        wall_s=time if time is not None and time.amount < wall.total_seconds() else None,
    )


def _rows(limits: Limits) -> Iterable[tuple[Scope, Measure, float]]:
    for scope in Scope:
        for measure, limit in limits.get(scope, {}).items():
            yield scope, measure, limit
