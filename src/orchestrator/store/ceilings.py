"""What a run may consume, as the column ``agent_runs.ceiling`` keeps it."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from orchestrator.pipeline.budgets import Bound, Ceiling, Measure

_LIMIT: Final = "limit_s"


def stored_ceiling(ceiling: Ceiling, limit: timedelta | None) -> dict[str, object]:
    """A ceiling, and beside it the run's own time limit, as JSON; what is not limited is left out."""
    bounds: Mapping[str, Bound | None] = {
        "tokens": ceiling.tokens,
        "cost_usd": ceiling.cost_usd,
        "turns": ceiling.turns,
        "wall_s": ceiling.wall_s,
    }
    stored: dict[str, object] = {
        name: {"amount": bound.amount, "budget": bound.budget}
        for name, bound in bounds.items()
        if bound is not None
    }
    return stored if limit is None else {**stored, _LIMIT: limit.total_seconds()}


def read_ceiling(stored: Mapping[str, object]) -> Ceiling:
    """The ceiling of a row; a row of before there were any has none."""
    return Ceiling(
        tokens=_bound(stored, "tokens"),
        cost_usd=_bound(stored, "cost_usd"),
        turns=_bound(stored, "turns"),
        wall_s=_bound(stored, "wall_s"),
    )


def reserved_by(stored: Mapping[str, object]) -> Mapping[Measure, float]:
    """All that a run may consume from its start to its end, where it is limited."""
    ceiling = read_ceiling(stored)
    bounds = {Measure.TOKENS: ceiling.tokens, Measure.COST: ceiling.cost_usd}
    reserved = {measure: bound.amount for measure, bound in bounds.items() if bound is not None}
    limit = stored.get(_LIMIT)
    times = [ceiling.wall_s.amount] if ceiling.wall_s is not None else []
    if isinstance(limit, int | float):
        times.append(float(limit))
    return {**reserved, Measure.WALL: min(times)} if times else reserved


def _bound(stored: Mapping[str, object], name: str) -> Bound | None:
    match stored.get(name):
        case {"amount": int() | float() as amount, "budget": str() as budget}:
            return Bound(float(amount), budget)
    return None
