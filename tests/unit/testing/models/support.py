"""Asking a fake model server as the CLIs do: bodies of requests, and reading streams."""

import json
from contextlib import asynccontextmanager

import httpx

from orchestrator.testing.models import ModelServer, Turn, fixed

MODEL = "claude-opus-5-5"
TOOLS = [{"name": "Bash"}]


def user(text):
    """A message of a person."""
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def called(tool="Bash"):
    """A message of the model that calls a tool."""
    return {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": tool, "input": {}}]}


def result(text):
    """A message with the result of a tool."""
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": text}]}


def messages(*items, stream=True, **fields):
    """The body of a request to the Messages API."""
    return {"model": MODEL, "tools": TOOLS, "stream": stream, "messages": list(items), **fields}


def responses(*items, stream=True, **fields):
    """The body of a request to the Responses API."""
    tools = [{"type": "function", "name": "exec_command"}]
    return {"model": "gpt-5", "tools": tools, "stream": stream, "input": list(items), **fields}


def asked(text):
    """An item of a person for the Responses API."""
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


@asynccontextmanager
async def serving(*turns: Turn, script=None):
    """A server with a script, and a client that asks it."""
    async with (
        ModelServer(script or fixed(turns)) as server,
        httpx.AsyncClient(base_url=server.base_url, trust_env=False, timeout=20) as client,
    ):
        yield server, client


def events(text):
    """The data of each event of a stream."""
    lines = text.splitlines()
    found = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    names = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    assert names == [event["type"] for event in found]
    return found


def deltas(text, field):
    """What the deltas of a stream of the Messages API say in one field, put together."""
    said = [event["delta"] for event in events(text) if event["type"] == "content_block_delta"]
    return "".join(delta.get(field, "") for delta in said)


async def read(client, path, body):
    """The beginning of a stream, as much of it as arrives before the connection breaks."""
    got = b""
    async with client.stream("POST", path, json=body) as answer:
        try:
            async for part in answer.aiter_raw():
                got += part
        except httpx.RemoteProtocolError:
            return got.decode(), True
    return got.decode(), False
