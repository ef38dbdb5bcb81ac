"""A process that counts a stored number up: `python -m tests.unit.store.writer URL TIMES`."""

import asyncio
import sys

from orchestrator.plumbing.clock import RandomIds, SystemClock
from orchestrator.store import SqlStore, this_process


def count_up(tx) -> None:
    tx.projects.remember("count", str(int(tx.projects.recall("count") or "0") + 1))


async def main(url: str, times: int) -> None:
    sys.stdout.write("up\n")
    sys.stdout.flush()
    sys.stdin.readline()
    store = SqlStore(url, SystemClock(), this_process(RandomIds()))
    for _ in range(times):
        await store.transact(count_up)
    store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
