"""A server with the sample day on a free port, and the system's Chromium in front of it."""

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from playwright.async_api import Browser, async_playwright

from orchestrator.web.app import create_app
from tests.browser.sample import fill
from tests.unit.web.house import House, build
from tests.unit.web.stories import Story

CHROMIUM = os.environ.get("ORCH_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass
class Site:
    """The server's address, and the installation behind it."""

    address: str
    house: House
    day: dict[str, Story]


@asynccontextmanager
async def serve(directory: Path) -> AsyncIterator[Site]:
    """The sample day, served until the block ends."""
    house = await build(directory, "sample", "shop", "billing")
    day = await fill(house)
    server = uvicorn.Server(uvicorn.Config(create_app(house.services), log_level="warning", lifespan="off"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        # The socket listens already: who comes before the server has started waits in its queue.
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        port = listener.getsockname()[1]
        try:
            yield Site(f"http://127.0.0.1:{port}", house, day)
        finally:
            house.closed.append(True)
            server.should_exit = True
            await serving
            house.close()


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """The system's Chromium.

    Raises:
        FileNotFoundError: there is none; ORCH_CHROMIUM may name it.
    """
    if CHROMIUM is None:
        raise FileNotFoundError("no chromium on the PATH: install it, or name it in ORCH_CHROMIUM")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield browser
        finally:
            await browser.close()
