"""Arithmetic over recorded points: pure functions, so that they are tested without a server."""

from collections.abc import Sequence


def total(points: Sequence[float]) -> float:
    """Add the points up; nothing recorded adds up to 0.0."""
    return float(sum(points))


def highest(points: Sequence[float]) -> float:
    """Name the best result; 0.0 when nothing is recorded."""
    return float(max(points, default=0.0))
