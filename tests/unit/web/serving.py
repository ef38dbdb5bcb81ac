"""The application behind a real server on a free port of loopback."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import httpx
import uvicorn

from orchestrator.web.app import create_app
from orchestrator.web.services import WebServices


@dataclass
class Served:
    """The server and a client of it."""

    server: uvicorn.Server
    client: httpx.AsyncClient


@asynccontextmanager
async def served(services: WebServices) -> AsyncIterator[Served]:
    """The application of ``services``, served until the block ends or the server is told to end."""
    ending: list[uvicorn.Server] = []
    app = create_app(replace(services, closing=lambda: any(server.should_exit for server in ending)))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
    ending.append(server)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        base = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with httpx.AsyncClient(base_url=base, timeout=20, trust_env=False) as client:
            try:
                yield Served(server, client)
            finally:
                server.should_exit = True
                await serving
