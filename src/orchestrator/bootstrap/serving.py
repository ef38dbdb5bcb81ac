"""Serving an installation: worker, sweeps and web pages until somebody ends them."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

import uvicorn
from fastapi import FastAPI

from orchestrator.engine.sweeps import Sweeps
from orchestrator.jobs.worker import Worker

Pages: TypeAlias = Callable[[Callable[[], bool]], FastAPI]
"""Makes the web application; it is told how to ask whether the server is closing."""


class Engine:
    """What works in the background: the worker and the sweeps, after everything interrupted was resumed."""

    def __init__(self, worker: Worker, sweeps: Sweeps, *, resume: Callable[[], Awaitable[None]]) -> None:
        self._worker = worker
        self._sweeps = sweeps
        self._resume = resume

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


async def run_engine(engine: Engine) -> None:
    """Work on the queue and sweep, until cancelled; raises what breaks."""
    async with engine.running() as ended:
        await ended


async def serve(engine: Engine, pages: Pages, *, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve pages, API and queue until cancelled, or until SIGTERM or SIGINT; the first to break ends all."""
    server = _Server(pages, host, port, ready)
    async with engine.running() as engine_ended:
        served = asyncio.create_task(server.serve())
        try:
            await asyncio.wait({served, engine_ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            server.should_exit = True
            await served
        if engine_ended.done():
            engine_ended.result()


class _Server(uvicorn.Server):
    """Tells when it listens, and where: with port 0 the system chooses one."""

    def __init__(self, pages: Pages, host: str, port: int, ready: Callable[[str], None]) -> None:
        super().__init__(
            uvicorn.Config(
                pages(lambda: self.should_exit),
                host=host,
                port=port,
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                timeout_graceful_shutdown=3,
            )
        )
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, then say so."""
        await super().startup(sockets=sockets)
        listening = [one for server in self.servers for one in server.sockets]
        if listening:
            host, port = listening[0].getsockname()[:2]
            self._ready(f"http://{host}:{port}")


async def _first_of(tasks: list[asyncio.Task[None]]) -> None:
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()
