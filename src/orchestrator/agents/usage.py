"""Counting what a script agent says that it consumed, from lines that it printed among others."""

import json
import math
from typing import TypeGuard

from orchestrator.ports.agent import Usage


def usage_in(line: str) -> Usage | None:
    """What one line ``{"usage": {"input": n, "output": n, "cost_usd": x}}`` reports (product §6a).

    ``None`` when it is no usage line or its figures make no sense.
    """
    if '"usage"' not in line:
        return None
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    figures = said.get("usage") if isinstance(said, dict) else None
    if not isinstance(figures, dict):
        return None
    tokens = [figures.get(name, 0) for name in ("input", "output")]
    cost = figures.get("cost_usd", 0)
    if not all(is_count(value) for value in tokens) or not is_amount(cost):
        return None
    return Usage(tokens[0], tokens[1], float(cost))


def is_count(value: object) -> TypeGuard[int]:
    """Whether a figure that was read can be a number of tokens."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def is_amount(value: object) -> TypeGuard[float]:
    """Whether a figure that was read can be an amount of dollars."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and 0 <= value < 1e9
