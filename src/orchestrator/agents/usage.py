"""Counting what a run consumed, from lines that a CLI printed among others."""

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from orchestrator.ports.agent import Usage

LONGEST_LINE: Final = 64 * 1024
"""Bytes of a log line that is still looked at; a usage line has a hundred."""


def count_usage(lines: Iterable[str]) -> Usage:
    """The sum of all lines ``{"usage": {"input": n, "output": n, "cost_usd": x}}``; others count nothing."""
    total = Usage()
    for line in lines:
        counted = usage_in(line)
        if counted is not None:
            total = Usage(
                total.input_tokens + counted.input_tokens,
                total.output_tokens + counted.output_tokens,
                total.cost_usd + counted.cost_usd,
            )
    return total


def usage_in(line: str) -> Usage | None:
    """What one line reports; ``None`` when it is no usage line or its figures make no sense."""
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
    if not all(_is_count(value) for value in tokens) or not _is_amount(cost):
        return None
    return Usage(tokens[0], tokens[1], float(cost))


def lines_of_log(path: Path) -> Iterator[str]:
    """The lines of a log, without those that are too long; a log that does not exist has none."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        whole = True
        while piece := file.readline(LONGEST_LINE):
            ends = piece.endswith(b"\n") or len(piece) < LONGEST_LINE
            if whole and ends:
                yield piece.decode("utf-8", errors="replace").strip()
            whole = ends


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _is_amount(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and 0 <= value < 1e9
