"""Starts `orch` in processes of its own, forked from one that has imported it: real processes, begun at once.

Reads one JSON order a line: `{"argv", "env", "cwd", "out", "err"}` is answered by the process id,
`{"poll": pid}` by the exit code, or null while the process lives.
"""

import gc
import importlib
import json
import os
import signal
import sys
from typing import Any

from orchestrator.cli.main import outcome

# What the commands import when they are called is imported before anything is forked: that is the point.
EARLY = ("bootstrap", "cli.tree", "cli.following", "cli.gates", "cli.item", "cli.project", "cli.serve")


def become(order: dict[str, Any]) -> None:
    """Be the ordered command until it ends; never returns."""
    os.setsid()
    for number, path in enumerate((os.devnull, order["out"], order["err"])):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND if number else os.O_RDONLY, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    code = 1
    try:
        code = outcome(order["argv"])
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def ended(pid: int) -> int | None:
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def main() -> None:
    for name in EARLY:
        importlib.import_module(f"orchestrator.{name}")
    gc.freeze()
    # Ctrl-C of whoever runs the tests is for the tests; what was forked dies with its own test.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    living: set[int] = set()
    while line := sys.stdin.readline():
        order = json.loads(line)
        if "poll" in order:
            answer = ended(order["poll"])
            living -= {order["poll"]} if answer is not None else set()
        else:
            answer = os.fork()
            living.add(answer)
            if answer == 0:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                become(order)
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()
    # The tests are gone, however they ended: nothing of theirs may stay.
    for pid in living:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
