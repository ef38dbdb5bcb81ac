"""How long a supervised command takes to its first instruction, beside a bare subprocess.

Run: python bench/spawn_latency.py [N]. The command writes the monotonic time as its first act; all clocks
are that one. Bare and supervised starts alternate, so that a noisy machine disturbs both alike.
"""

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from orchestrator.plumbing.processes import CommandSpec, Processes, clean_environment

STAMP = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);
  printf("%lld\\n", t.tv_sec * 1000000000LL + t.tv_nsec); return getenv("ORCH_ROLE") ? 75 : 0; }
"""
SCRIPT = """#!{python} -IS
import os, time
print(time.monotonic_ns(), flush=True)
os._exit(75 if "ORCH_ROLE" in os.environ else 0)
"""


def stamp_command(directory: Path) -> tuple[str, ...]:
    """A program that prints the monotonic time in nanoseconds: compiled if possible, else a bare Python.

    As an agent it asks to come back later (75), so that its work item rests.
    """
    program = directory / "stamp"
    compiler = shutil.which("cc")
    if compiler is None:
        program.write_text(SCRIPT.format(python=sys.executable))
        program.chmod(0o755)
        return (str(program),)
    source = directory / "stamp.c"
    source.write_text(STAMP)
    subprocess.run([compiler, "-O1", "-o", str(program), str(source)], check=True)
    return (str(program),)


def bare(argv: tuple[str, ...]) -> float:
    """Milliseconds from the call to the first instruction of a plain child."""
    begun = time.monotonic_ns()
    done = subprocess.run(argv, capture_output=True, check=True)
    return (int(done.stdout) - begun) / 1e6


async def supervised(processes: Processes, run_dir: Path, argv: tuple[str, ...]) -> tuple[float, float]:
    """Milliseconds from the call to the first instruction, and to the exit record in our hands."""
    spec = CommandSpec(
        argv, run_dir.parent, clean_environment({}), limit=timedelta(seconds=20), grace=timedelta(seconds=1)
    )
    begun = time.monotonic_ns()
    run = await processes.start(run_dir, spec)
    await run.wait()
    ended = time.monotonic_ns()
    return (int(run.log_path.read_text()) - begun) / 1e6, (ended - begun) / 1e6


def describe(name: str, figures: list[float]) -> float:
    """Print one line of figures and give the median."""
    ordered = sorted(figures)
    median = statistics.median(ordered)
    worst = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    print(f"{name:34} median {median:7.2f} ms   p99 {worst:7.2f} ms   min {ordered[0]:7.2f} ms")
    return median


async def main(count: int) -> None:
    """Measure and print."""
    processes = Processes()
    plain: list[float] = []
    first: list[float] = []
    whole: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        argv = stamp_command(directory)
        for number in range(count):
            plain.append(bare(argv))
            to_first, to_record = await supervised(processes, directory / f"run-{number}", argv)
            first.append(to_first)
            whole.append(to_record)
    print(f"{count} starts each, {os.cpu_count()} cores, Python {sys.version.split()[0]}")
    base = describe("bare subprocess, first instruction", plain)
    median = describe("supervised, first instruction", first)
    describe("supervised, exit record read", whole)
    print(f"supervised / bare: {median / base:.1f}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
