"""A probe asks real services; what it cannot reach is a value, never an error."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from orchestrator.delivery.probe import LARGEST, Answer, HttpProbe, NoAnswer, joined, same_service


@asynccontextmanager
async def service(reply: bytes, *, hangs: bool = False):
    """A service that gives one answer to everything; its base address and what it was asked."""
    asked: list[bytes] = []
    done = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        if hangs:
            await done.wait()
        writer.write(reply)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}", asked
    finally:
        done.set()
        server.close()
        await server.wait_closed()


def http(status: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def test_an_answer_is_a_code_and_a_text():
    async with service(http("503 Down", b"not now")) as (base, asked):
        assert await HttpProbe().get(f"{base}/health") == Answer(503, "not now")
    assert asked[0].startswith(b"GET /health HTTP/1.1")


async def test_a_redirect_is_not_followed():
    async with service(http("302 Found", b"", "Location: /elsewhere")) as (base, asked):
        assert await HttpProbe().get(base) == Answer(302, "")
    assert len(asked) == 1


async def test_a_huge_answer_is_cut():
    async with service(http("200 OK", b"x" * (LARGEST + 5000))) as (base, _):
        seen = await HttpProbe().get(base)
    assert seen == Answer(200, "x" * LARGEST)


async def test_a_service_that_hangs_is_no_answer():
    async with service(b"", hangs=True) as (base, _):
        seen = await HttpProbe(limit=timedelta(milliseconds=100)).get(base)
    assert isinstance(seen, NoAnswer)
    assert "within 0.1 s" in seen.reason


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/", "gopher://127.0.0.1/", "http://[bad/", "http://127.0.0.1:99999/"]
)
async def test_what_cannot_be_reached_is_no_answer(url):
    seen = await HttpProbe().get(url)
    assert isinstance(seen, NoAnswer)
    assert seen.reason.startswith(url)


async def test_what_is_no_http_is_no_answer():
    async with service(b"SSH-2.0-hello\r\n") as (base, _):
        assert isinstance(await HttpProbe().get(base), NoAnswer)


def test_addresses_are_joined_and_compared():
    assert joined("http://h:1/", "/a") == joined("http://h:1", "a") == "http://h:1/a"
    assert same_service("http://h:1/a", "http://h:1/b?c")
    assert not same_service("http://h:1", "http://h:2")
