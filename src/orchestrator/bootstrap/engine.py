"""What works in the background of an installation: the worker and the sweeps."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from orchestrator.engine.sweeps import Sweeps
from orchestrator.jobs.worker import Worker


class Engine:
    """What works in the background: the worker and the sweeps, after everything interrupted was resumed."""

    def __init__(self, worker: Worker, sweeps: Sweeps, *, resume: Callable[[], Awaitable[None]]) -> None:
        self._worker = worker
        self._sweeps = sweeps
        self._resume = resume

    async def run(self) -> None:
        """Work on the queue and sweep, until cancelled; raises what breaks."""
        async with self.running() as ended:
            await ended

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Future[None]]:
        """Run for as long as the block lasts; the future ends when a part of the engine breaks."""
        await self._sweeps.begin()
        await self._resume()
        tasks = [asyncio.create_task(self._worker.run()), asyncio.create_task(self._sweeps.run())]
        ended = asyncio.ensure_future(_first_of(tasks))
        try:
            yield ended
        finally:
            self._worker.stop()
            for task in (*tasks, ended):
                task.cancel()
            await asyncio.gather(*tasks, ended, return_exceptions=True)


async def _first_of(tasks: list[asyncio.Task[None]]) -> None:
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()
