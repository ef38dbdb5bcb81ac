"""Budgets: limits on tokens, money, runs and wall time, and what a run may consume under all of them.

A run reserves what it may consume before it starts, so that two runs cannot spend the same money; it is ended
at its ceiling, and what it really consumed counts afterwards (product §4, budgets).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import Final, TypeAlias


class Scope(StrEnum):
    """What a budget is for: one run, the runs of a role for an item, an item, a project, a day of a project.

    A day begins at midnight in the project's time zone; a run counts for the day on which it began.
    """

    RUN = "run"
    ROLE = "role"
    ITEM = "item"
    PROJECT = "project"
    DAY = "day"


class Measure(StrEnum):
    """What is counted: tokens of all kinds, US dollars, runs that got to work, seconds of wall time."""

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
    """What one run may consume; ``None`` is not limited. ``turns`` are answers of the model.

    ``wall_s`` is a budget of seconds that comes before the run's own time limit.
    """

    tokens: Bound | None = None
    cost_usd: Bound | None = None
    turns: Bound | None = None
    wall_s: Bound | None = None

    def reached(self, *, tokens: int, cost_usd: float, turns: int = 0) -> str | None:
        """Which ceiling a run with this consumption has reached, in one line; ``None`` when none.

        The last of the turns may be taken: only one more than those is too many.
        """
        if self.tokens is not None and tokens >= self.tokens.amount:
            return f"{self.tokens.budget} is used up: {tokens} tokens"
        if self.cost_usd is not None and cost_usd >= self.cost_usd.amount:
            return f"{self.cost_usd.budget} is used up: ${cost_usd:.4f}"
        if self.turns is not None and turns > self.turns.amount:
            return f"{self.turns.budget} is reached"
        return None


@dataclass(frozen=True, slots=True)
class Account:
    """What was consumed in one scope, by runs under way too, and what these have reserved beyond that."""

    spent: Mapping[Measure, float]
    reserved: Mapping[Measure, float]


Limits: TypeAlias = Mapping[Scope, Mapping[Measure, float]]
"""The budgets of an installation or a project; what is not in it is not limited."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One budget and how much of it is used."""

    scope: Scope
    measure: Measure
    limit: float
    spent: float
    reserved: float

    @property
    def left(self) -> float:
        """What a run that starts now could have of it, never less than nothing."""
        return max(self.limit - self.spent - self.reserved, 0.0)

    @property
    def is_used_up(self) -> bool:
        """Whether not even the least that a run needs would be left when all runs under way had ended."""
        return self.limit - self.spent < LEAST[self.measure]

    def __str__(self) -> str:
        return f"the {self.scope} budget of {shown(self.measure, self.limit)}"


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

LEAST: Final[Mapping[Measure, float]] = {
    Measure.TOKENS: 1.0,
    Measure.COST: 0.0001,
    Measure.RUNS: 1.0,
    Measure.WALL: 1.0,
}
"""The least for which a run is started: what adding up fractions of dollars leaves over is nothing."""


def limits_of(*layers: Mapping[str, Mapping[str, float]]) -> Limits:
    """The budgets in force: those of the first layer, with each limit that a later layer names in its place.

    Raises:
        ValueError: a scope or a measure is unknown.
    """
    merged: dict[Scope, dict[Measure, float]] = {}
    for layer in layers:
        for scope, limits in layer.items():
            named = {Measure(measure): float(limit) for measure, limit in limits.items()}
            merged.setdefault(Scope(scope), {}).update(named)
    return merged


def standings(limits: Limits, accounts: Mapping[Scope, Account]) -> tuple[Standing, ...]:
    """Each budget with how much of it is used, from the narrowest scope to the widest.

    A scope without an account (a run that is about to start has none) has consumed nothing.
    """
    nothing = Account({}, {})
    return tuple(
        Standing(scope, measure, limit, account.spent.get(measure, 0.0), account.reserved.get(measure, 0.0))
        for scope in Scope
        for account in (accounts.get(scope, nothing),)
        for measure, limit in limits.get(scope, {}).items()
    )


def grant(limits: Limits, accounts: Mapping[Scope, Account], *, wall: timedelta) -> Grant:
    """What a run that is about to start may consume under all budgets; ``wall`` is its own time limit.

    ``accounts`` hold every scope but the run itself. Without a budget for runs, a run reserves all that the
    others leave: then only one run at a time goes on under them. A budget that is used up comes before one
    that is only occupied: waiting would not help.
    """
    rows = standings(limits, accounts)
    for row in rows:
        if row.is_used_up:
            return Exhausted(f"{row} is used up: {shown(row.measure, row.spent)}")
    for row in rows:
        if row.left < LEAST[row.measure]:
            return Occupied(f"what is left of {row} is reserved by runs under way")
    return Granted(_ceiling(rows, wall))


def day_start(now: datetime, zone: tzinfo) -> datetime:
    """The instant, in UTC, at which the day of ``now`` began in ``zone``.

    Where the clocks jump over midnight it is the first instant of that day, where they go back over it the
    first of the two midnights.
    """
    midnight = datetime.combine(now.astimezone(zone).date(), time(), zone)
    return midnight.astimezone(UTC)


def shown(measure: Measure, amount: float) -> str:
    """An amount for people, with its unit."""
    match measure:
        case Measure.TOKENS:
            return f"{amount:.0f} tokens"
        case Measure.COST:
            return f"${amount:.2f}" if amount == 0 or amount >= 0.01 else f"${amount:.4f}"
        case Measure.RUNS:
            return f"{amount:.0f} {'run' if amount == 1 else 'runs'}"
        case Measure.WALL:
            return f"{amount:.0f} s of wall time"


def _ceiling(rows: Iterable[Standing], wall: timedelta) -> Ceiling:
    bounds: dict[Measure, Bound] = {}
    for row in rows:
        if row.measure not in bounds or row.left < bounds[row.measure].amount:
            bounds[row.measure] = Bound(row.left, str(row))
    time_left = bounds.get(Measure.WALL)
    return Ceiling(
        tokens=bounds.get(Measure.TOKENS),
        cost_usd=bounds.get(Measure.COST),
        # A time limit of the run itself that comes first is no budget: reaching it is a failure of the run.
        wall_s=time_left if time_left is not None and time_left.amount < wall.total_seconds() else None,
    )
