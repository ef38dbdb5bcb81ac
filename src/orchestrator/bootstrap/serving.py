"""Serving an installation: the engine and the web pages until somebody ends them.

This module, and it alone, brings in the web framework: commands that serve nothing start without it.
"""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import uvicorn
from fastapi import FastAPI

from orchestrator import __version__
from orchestrator.bootstrap.app import App
from orchestrator.plumbing.redaction import redact
from orchestrator.web.app import create_app
from orchestrator.web.services import WebServices

BEAT = timedelta(milliseconds=400)
"""How often it is looked whether to end, and the time of day in answers is brought up to date."""

ENDING = (signal.SIGTERM, signal.SIGINT)


async def serve(app: App, host: str, port: int, *, ready: Callable[[str], None]) -> None:
    """Serve pages, API and queue until cancelled, or until SIGTERM or SIGINT; the first to break ends all.

    ``ready`` is told the address once the server listens.
    """
    server = _Server(app, host, port, ready)
    async with app.engine.running() as engine_ended:
        served = asyncio.create_task(server.serve())
        try:
            await asyncio.wait({served, engine_ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            server.should_exit = True
            await served
        if engine_ended.done():
            engine_ended.result()


def web_app(app: App, closing: Callable[[], bool] = lambda: False) -> FastAPI:
    """The web pages and the API over this process; ``closing`` says when streams shall end."""
    return create_app(
        WebServices(
            desk=app.desk,
            store=app.store,
            overview=app.overview,
            costs=app.costs,
            workspace=app.workspace,
            projects=app.projects,
            policy=app.policy,
            clock=app.clock,
            ids=app.ids,
            version=__version__,
            secret=app.ids.new().encode(),
            log_of=app.log_of,
            transcripts=app.transcripts,
            redact=redact,
            changed=app.store.database.changes_elsewhere,
            hosts=frozenset({app.settings.host}),
            closing=closing,
        )
    )


class _Server(uvicorn.Server):
    """Tells when it listens, and where: with port 0 the system chooses one."""

    def __init__(self, app: App, host: str, port: int, ready: Callable[[str], None]) -> None:
        super().__init__(
            uvicorn.Config(
                web_app(app, lambda: self.should_exit),
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
        self._clock = app.clock

    async def main_loop(self) -> None:
        """Wait for the end as the framework does, at a longer beat: ten a second would be most of idling."""
        while not await self.on_tick(0):
            await self._clock.sleep(BEAT)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End in order on SIGTERM and SIGINT; the framework's own way would kill us before we have closed."""
        loop = asyncio.get_running_loop()
        for number in ENDING:
            loop.add_signal_handler(number, self._end)
        try:
            yield
        finally:
            for number in ENDING:
                loop.remove_signal_handler(number)

    def _end(self) -> None:
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, then say so."""
        await super().startup(sockets=sockets)
        listening = [one for server in self.servers for one in server.sockets]
        if listening:
            host, port = listening[0].getsockname()[:2]
            self._ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")
