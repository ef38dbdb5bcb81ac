"""Measure the orchestrator's own speed: `make bench`, or `make bench ARGS=--json`.

Four measurements, each beside what the bare system charges for the same in the same run. Everything happens
on this machine in a temporary directory, which is removed; `--quick` measures a fifth of it.
"""

import argparse
import asyncio
import json
import logging
import os
import platform
import shutil
import sys
import tempfile
import textwrap
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import flow
import idle
import road
import start
import structlog
from figures import Part
from ground import fsync_ms

ROUNDS, EVENTS, ITEMS, SECONDS = 10, 200, 16, 20
LIMIT_S = 235.0
WIDTH = 118
BUSY = 0.7
"""Load at the start from which on it is said that the machine was not ours alone."""

Measurement = Callable[[Path], Awaitable[Part]]


def measurements(share: float) -> dict[str, Measurement]:
    """What is measured, by the name of its directory; ``share`` of the usual number of times."""
    return {
        "road": lambda root: road.measure(root, max(3, int(ROUNDS * share))),
        "start": lambda root: start.measure(root, max(20, int(EVENTS * share))),
        "flow": lambda root: flow.measure(root, max(8, int(ITEMS * share))),
        "idle": lambda root: idle.measure(root, max(5, SECONDS * share)),
    }


async def measure(names: Sequence[str], share: float) -> list[Part]:
    """Measure one after the other; the directory is removed whatever happens."""
    root = Path(tempfile.mkdtemp(prefix="orch-bench-")).resolve()
    try:
        parts = []
        for name, measurement in measurements(share).items():
            if name in names:
                print(f"measuring: {name} ...", file=sys.stderr, end="", flush=True)
                began = time.monotonic()
                (root / name).mkdir()
                parts.append(await measurement(root / name))
                print(f" {time.monotonic() - began:.0f} s", file=sys.stderr)
        return parts
    finally:
        shutil.rmtree(root, ignore_errors=True)


def machine() -> dict[str, object]:
    """What the figures depend on besides the program."""
    return {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "fsync_ms": round(fsync_ms(Path(tempfile.gettempdir())), 2),
    }


def tell(parts: Sequence[Part], conditions: dict[str, object], seconds: float) -> None:
    """Print the tables."""
    rows = [figure.row() for part in parts for figure in part.figures]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for part in parts:
        print(f"\n{part.title}")
        for note in part.notes:
            print(textwrap.fill(note, WIDTH, initial_indent="  · ", subsequent_indent="    "))
        for what, figure, aim, answer in (figure.row() for figure in part.figures):
            line = f"  {what:{widths[0]}}  {figure:>{widths[1]}}  {aim:{widths[2]}}  {answer}"
            print(line.rstrip())
    told = ", ".join(f"{name} {value}" for name, value in conditions.items())
    print(f"\n{told}; measured in {seconds:.0f} s")
    if float(str(conditions["load"])) > BUSY:
        print("others used this machine too: figures in ms and items a minute are better without them")
    missed = [figure for part in parts for figure in part.figures if figure.met is False]
    print(f"{len(missed)} aims missed" if missed else "every aim is met")


def main() -> int:
    """Measure and print; 1 when an aim is missed and ``--strict`` asks for it."""
    parser = argparse.ArgumentParser(description="Measure the orchestrator's own speed.")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    parser.add_argument("--quick", action="store_true", help="measure a fifth of it")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when an aim is missed")
    parser.add_argument("--only", choices=list(measurements(1)), action="append", help="measure only this")
    options = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    conditions = machine()
    began = time.monotonic()
    names = options.only or list(measurements(1))
    work = measure(names, 0.2 if options.quick else 1.0)
    parts = asyncio.run(asyncio.wait_for(work, LIMIT_S))
    seconds = time.monotonic() - began
    if options.json:
        said = {"machine": conditions, "seconds": round(seconds, 1), "parts": [p.as_json() for p in parts]}
        print(json.dumps(said, ensure_ascii=False))
    else:
        tell(parts, conditions, seconds)
    missed = any(figure.met is False for part in parts for figure in part.figures)
    return 1 if options.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main())
