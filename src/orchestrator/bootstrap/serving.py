"""Serving an installation: worker, sweeps and web pages until somebody ends them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import uvicorn

if TYPE_CHECKING:
    from orchestrator.bootstrap.app import App


_LISTENING_PAUSE: Final = timedelta(milliseconds=10)


async def run_engine(app: "App") -> None:
    """Recover, then work on the queue and sweep, until cancelled."""
    async with _engine(app) as ended:
        await ended


async def serve(app: "App", host: str, port: int, *, ready: Callable[[str], None]) -> None:
    """Serve pages, API and queue until cancelled, or until SIGTERM or SIGINT; the first to break ends all."""
    server = uvicorn.Server(
        uvicorn.Config(
            app.web_app(closing=lambda: server.should_exit),
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=3,
        )
    )
    async with _engine(app) as engine_ended:
        pages = asyncio.create_task(server.serve())
        try:
            await _until_listening(app, server, pages)
            if server.started:
                ready(f"http://{host}:{_port_of(server, port)}")
            await asyncio.wait({pages, engine_ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            server.should_exit = True
            await pages
        if engine_ended.done():
            engine_ended.result()


@asynccontextmanager
async def _engine(app: "App") -> AsyncIterator[asyncio.Future[None]]:
    """The worker and the sweeps as one future, which ends when one of them breaks."""
    await app.sweeps.begin()
    await app.forge.resume()
    tasks = [asyncio.create_task(app.worker.run()), asyncio.create_task(app.sweeps.run())]
    ended = asyncio.ensure_future(_first_of(tasks))
    try:
        yield ended
    finally:
        app.worker.stop()
        for task in (*tasks, ended):
            task.cancel()
        await asyncio.gather(*tasks, ended, return_exceptions=True)


async def _first_of(tasks: list[asyncio.Task[None]]) -> None:
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


async def _until_listening(app: "App", server: uvicorn.Server, pages: asyncio.Task[None]) -> None:
    while not server.started and not pages.done():
        await app.clock.sleep(_LISTENING_PAUSE)


def _port_of(server: uvicorn.Server, port: int) -> int:
    """The port that is really listened on: with port 0 the system chose one."""
    for listening in server.servers:
        for socket in listening.sockets:
            return int(socket.getsockname()[1])
    return port
