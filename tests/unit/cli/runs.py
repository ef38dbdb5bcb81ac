"""Runs of agents in the installation of a test, written to its store as the engine would write them."""

import asyncio
from pathlib import Path

from orchestrator.pipeline.ids import Commit, RunId, WorkItemId
from orchestrator.plumbing.clock import SystemClock
from orchestrator.ports.agent import Usage
from orchestrator.ports.queue import JobKind, NewJob
from orchestrator.ports.store import NewRun
from orchestrator.store.adapter import SqlStore
from orchestrator.store.owners import this_process
from orchestrator.store.queue_sqlite import SqlQueue
from orchestrator.testing.clock import SequentialIds


class Runs:
    """Starts and ends runs of the items below ``home``."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def start(self, item: str, role: str = "developer", model: str = "m-1") -> tuple[int, Path]:
        """A new run of the item: its id, and its log, which is empty."""
        log = self._home / f"{role}-{item}.log"

        async def begin(store: SqlStore) -> int:
            found = await store.transact(lambda tx: tx.items.by_id(WorkItemId(item)))
            assert found is not None
            job = NewJob(JobKind.PRODUCE, found.task_id, found.project, agent=role, stage=found.stage)
            await store.transact(lambda tx: tx.jobs.enqueue(job))
            claimed = await SqlQueue(store.database).claim([JobKind.PRODUCE])
            assert claimed is not None
            new = NewRun(role, model, "high", str(log), Commit("a" * 40))
            return int((await store.transact(lambda tx: tx.runs.start(claimed, new))).id)

        log.write_text("")
        return self._do(begin), log

    def end(self, run: int, *, exit_code: int = 0, outcome: str = "finished") -> None:
        """Settle the run."""
        usage = Usage(1000, 200, 0.25)
        self._do(
            lambda store: store.transact(
                lambda tx: tx.runs.end(RunId(run), exit_code=exit_code, outcome=outcome, usage=usage)
            )
        )

    def _do(self, act):
        async def opened():
            clock = SystemClock()
            store = SqlStore(
                f"sqlite:///{self._home}/orchestrator.db", clock, this_process(SequentialIds("run"))
            )
            try:
                return await act(store)
            finally:
                store.close()

        return asyncio.run(opened())
