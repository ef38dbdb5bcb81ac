"""The fake Messages API, over HTTP."""

import asyncio
import json
from datetime import timedelta

import httpx
import pytest

from orchestrator.testing.models import HttpError, StreamError, TokenUsage, ToolCall, Turn, endless
from tests.unit.testing.models.support import (
    MODEL,
    called,
    deltas,
    events,
    messages,
    read,
    result,
    serving,
    user,
)

PATH = "/v1/messages?beta=true"
USAGE = TokenUsage(input=70, output=30, cache_read=5, cache_creation=6)
TEXT = "A text that is longer than one piece of a stream, so that there are several."


async def said(client, *items):
    """The text of an answer that is not streamed."""
    answer = await client.post(PATH, json=messages(*items, stream=False))
    return answer.json()["content"][0]["text"]


async def test_a_streamed_answer_says_what_the_script_says():
    turn = Turn(text=TEXT, thinking="hm", tools=[ToolCall("Bash", {"command": "ls"})], usage=USAGE)
    async with serving(turn) as (server, client):
        answer = await client.post(PATH, json=messages(user("Do it.")))
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert deltas(answer.text, "text") == TEXT
    assert deltas(answer.text, "thinking") == "hm"
    assert json.loads(deltas(answer.text, "partial_json")) == {"command": "ls"}
    found = events(answer.text)
    started = [event["content_block"]["type"] for event in found if event["type"] == "content_block_start"]
    assert started == ["thinking", "text", "tool_use"]
    assert found[0]["message"]["usage"]["input_tokens"] == 70
    assert found[-2]["delta"]["stop_reason"] == "tool_use"
    assert found[-2]["usage"] == {"output_tokens": 30}
    assert found[-1] == {"type": "message_stop"}
    assert server.served == server.completed == {MODEL: USAGE}


async def test_an_answer_in_one_document_says_the_same():
    turn = Turn(text=TEXT, usage=USAGE, headers={"x-more": "1"})
    async with serving(turn) as (server, client):
        answer = await client.post(PATH, json=messages(user("Do it."), stream=False))
    assert answer.headers["x-more"] == "1"
    assert answer.json()["content"] == [{"type": "text", "text": TEXT}]
    assert answer.json()["stop_reason"] == "end_turn"
    assert answer.json()["usage"]["cache_creation_input_tokens"] == 6
    assert server.served == {MODEL: USAGE}
    assert server.requests[0].stream is False


async def test_the_turn_is_the_number_of_answers_since_the_task_was_opened():
    async with serving(Turn(text="first"), Turn(text="second {{last}}")) as (_, client):
        begun = [user("Do it.")]
        assert await said(client, *begun) == "first"
        assert await said(client, *begun) == "first", "a repeated request replays its turn"
        gone_on = [*begun, called(), result(" 42\n")]
        assert await said(client, *gone_on) == "second 42"
        assert await said(client, *gone_on, called(), result("")) == "All done."
        assert await said(client, *gone_on, called(), user("And now?")) == "first", "a new task"
        merged = {"role": "user", "content": [*result("x")["content"], *user("Go on.")["content"]]}
        assert await said(client, *begun, called(), merged) == "first", "a task beside a late result"


@pytest.mark.parametrize(
    "text",
    [
        "<system-reminder>\nMind the gap.\n</system-reminder>",
        "[Request interrupted by user for tool use]",
        "Output token limit hit. Resume directly.",
    ],
)
async def test_what_the_cli_says_in_the_name_of_the_user_opens_no_task(text):
    async with serving(Turn(text="first"), Turn(text="second")) as (_, client):
        assert await said(client, user("Do it."), called(), user(text)) == "second"


@pytest.mark.parametrize(
    "line", [" - Primary working directory: /some/a b", "CWD: /some/a b", "Working directory: /some/a b"]
)
async def test_the_working_directory_is_that_of_the_system_wherever_it_stands(line):
    turn = Turn(text="-", tools=[ToolCall("Write", {"file": "{{cwd}}/x", "lines": ["{{cwd}}", 1]})])
    own = user("cwd: /elsewhere")
    async with serving(turn) as (_, client):
        for body in (
            messages(own, {"role": "system", "content": f"# Environment\n{line}\nmore"}, stream=False),
            messages(own, system=[{"type": "text", "text": line}], stream=False),
        ):
            answer = (await client.post(PATH, json=body)).json()
            assert answer["content"][1]["input"] == {"file": "/some/a b/x", "lines": ["/some/a b", 1]}


async def test_a_script_sees_who_asks_and_for_what():
    seen = []

    def script(request):
        seen.append(request)
        return [Turn(text=request.path)]

    async with serving(script=script) as (_, client):
        body = messages(
            user("<system-reminder>x</system-reminder>"), user("Review it."), system="A reviewer."
        )
        await client.post("/review/v1/messages", json=body, headers={"X-Run": "7", "x-api-key": "secret"})
    (request,) = seen
    assert (request.path, request.model, request.headers["x-run"]) == ("/review/v1/messages", MODEL, "7")
    assert (request.system, request.task, request.turn) == ("A reviewer.", "Review it.", 0)
    assert request.texts[-1] == "Review it."
    assert "x-api-key" not in request.headers


async def test_a_request_without_tools_stands_aside_of_the_script():
    async with serving(Turn(text="first")) as (server, client):
        answer = await client.post(PATH, json=messages(user("A title?"), stream=False, tools=[]))
    assert answer.json()["content"][0]["text"] == "ok"
    assert server.total == TokenUsage(input=5, output=1)


async def test_an_endless_script_never_comes_to_an_end():
    async with serving(script=endless(Turn(text="again"))) as (_, client):
        assert await said(client, user("Do it."), *[called(), result("")] * 9) == "again"


async def test_an_error_is_given_the_first_times_only():
    error = HttpError(429, headers={"retry-after": "7"}, times=2)
    async with serving(Turn(text="at last", error=error)) as (server, client):
        for _ in range(2):
            answer = await client.post(PATH, json=messages(user("Do it.")))
            assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")
            assert answer.json()["error"] == {"type": "rate_limit_error", "message": "Rate limit error"}
        assert server.total.total == 0
        assert await said(client, user("Do it.")) == "at last"


async def test_an_error_can_be_meant_for_some_models():
    error = HttpError(529, message="Busy", model="opus", details={"more": 1})
    async with serving(Turn(text="instead", error=error)) as (_, client):
        answer = await client.post(PATH, json=messages(user("Do it.")))
        assert answer.json()["error"] == {"type": "overloaded_error", "message": "Busy", "more": 1}
        answer = await client.post(
            PATH, json=messages(user("Do it."), model="claude-haiku-4-5", stream=False)
        )
        assert answer.json()["content"][0]["text"] == "instead"


async def test_a_cut_stream_counts_as_far_as_it_went_and_its_repetition_is_whole():
    async with serving(Turn(text=TEXT, usage=USAGE, cut=True)) as (server, client):
        text, broken = await read(client, PATH, messages(user("Do it.")))
        assert broken
        assert deltas(text, "text") == TEXT[:40]
        assert server.served == {MODEL: TokenUsage(70, 1, 5, 6)}
        assert server.completed == {}
        assert await said(client, user("Do it.")) == TEXT
    assert server.served == {MODEL: TokenUsage(140, 31, 10, 12)}
    assert server.completed == {MODEL: USAGE}


async def test_an_error_in_mid_stream_ends_it():
    turn = Turn(text=TEXT, usage=USAGE, stream_error=StreamError(message="Busy"))
    async with serving(turn) as (server, client):
        text, broken = await read(client, PATH, messages(user("Do it.")))
    assert not broken
    assert events(text)[-1]["error"] == {"type": "overloaded_error", "message": "Busy"}
    assert (server.served, server.completed) == ({MODEL: TokenUsage(70, 1, 5, 6)}, {})


@pytest.mark.parametrize("turn", [Turn(text=TEXT, stall=True), Turn(hang=True)])
async def test_a_client_that_waits_in_vain_may_leave(turn):
    async with serving(turn) as (server, client):
        with pytest.raises(httpx.ReadTimeout):
            await client.post(PATH, json=messages(user("Do it.")), timeout=0.2)
        assert len(server.requests) == 1
        assert server.completed == {}
        assert (server.total == TokenUsage(100, 1)) is turn.stall


async def test_an_answer_can_be_late():
    loop = asyncio.get_running_loop()
    async with serving(Turn(text="late", delay=timedelta(milliseconds=150))) as (_, client):
        began = loop.time()
        assert await said(client, user("Do it.")) == "late"
        assert loop.time() - began >= 0.15


async def test_a_turn_can_say_why_it_stopped_and_nothing_else():
    async with serving(Turn(stop="refusal")) as (_, client):
        found = events((await client.post(PATH, json=messages(user("Do it.")))).text)
    assert [event["type"] for event in found] == ["message_start", "ping", "message_delta", "message_stop"]
    assert found[2]["delta"]["stop_reason"] == "refusal"


async def test_the_other_addresses_answer():
    async with serving() as (server, client):
        assert (await client.post("/x/v1/messages/count_tokens", json={"a": 1})).json()["input_tokens"] > 0
        assert (await client.get("/v1/models")).json()["data"][0]["id"] == MODEL
        assert (await client.head("/api/hello")).status_code == 200
        assert (await client.get("/api/hello")).json()["error"]["type"] == "not_found_error"
    assert [request.turn for request in server.requests] == [None] * 4
