"""The fake Responses API, over HTTP."""

import json

import pytest

from orchestrator.testing.models import HttpError, StreamError, TokenUsage, ToolCall, Turn
from tests.unit.testing.models.support import asked, events, read, responses, serving

PATH = "/v1/responses"
USAGE = TokenUsage(input=70, output=30, cache_read=5, cache_creation=6)
CONTEXT = asked("<environment_context>\n  <cwd>/some/a b</cwd>\n</environment_context>")
CALL = {"type": "function_call", "call_id": "1", "name": "exec_command", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "1", "output": "42\n"}
THOUGHT = {"type": "reasoning", "summary": []}
TEXT = "A text that is longer than one piece of a stream, so that there are several."


async def said(client, *items):
    """The text of an answer that is not streamed."""
    answer = await client.post(PATH, json=responses(*items, stream=False))
    return answer.json()["output"][0]["content"][0]["text"]


async def test_a_streamed_answer_says_what_the_script_says():
    tools = [ToolCall("exec_command", {"cmd": "ls {{cwd}}"}), ToolCall("apply_patch", "*** {{cwd}}")]
    async with serving(Turn(text=TEXT, thinking="hm", tools=tools, usage=USAGE)) as (server, client):
        answer = await client.post(PATH, json=responses(CONTEXT, asked("Do it.")))
    found = events(answer.text)
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    done = [event["item"] for event in found if event["type"] == "response.output_item.done"]
    assert [item["type"] for item in done] == ["reasoning", "message", "function_call", "custom_tool_call"]
    assert json.loads(done[2]["arguments"]) == {"cmd": "ls /some/a b"}
    assert done[3]["input"] == "*** /some/a b"
    said = [event["delta"] for event in found if event["type"] == "response.output_text.delta"]
    assert "".join(said) == TEXT
    assert found[-1]["type"] == "response.completed"
    assert found[-1]["response"]["output"] == done
    assert found[-1]["response"]["usage"]["input_tokens"] == 81
    details = found[-1]["response"]["usage"]["input_tokens_details"]
    assert details == {"cached_tokens": 5, "cache_write_tokens": 6}
    assert server.served == server.completed == {"gpt-5": USAGE}


async def test_the_turn_is_the_number_of_answers_since_the_task_was_opened():
    async with serving(Turn(text="first"), Turn(text="second {{last}}")) as (_, client):
        begun = [asked("# AGENTS.md instructions for /x\nBe good."), CONTEXT, asked("Do it."), CONTEXT]
        assert await said(client, *begun) == "first"
        gone_on = [*begun, THOUGHT, CALL, RESULT]
        assert await said(client, *gone_on) == "second 42"
        assert await said(client, *gone_on, CALL, RESULT) == "All done."
        assert await said(client, *gone_on, asked("And now?")) == "first"


async def test_a_script_sees_who_asks_and_for_what():
    seen = []

    def script(request):
        seen.append(request)
        return [Turn(text="-")]

    developer = {"role": "developer", "content": [{"type": "input_text", "text": "A reviewer."}]}
    async with serving(script=script) as (_, client):
        await client.post(
            PATH, json=responses(developer, CONTEXT, asked("Review it."), instructions="Be good.")
        )
    (request,) = seen
    assert (request.system, request.task, request.cwd) == ("Be good.\nA reviewer.", "Review it.", "/some/a b")
    assert request.tools == ("exec_command",)


async def test_errors_have_the_form_of_the_provider():
    error = HttpError(429, type="usage_limit_reached", details={"resets_in_seconds": 60}, times=1)
    async with serving(Turn(text="at last", error=error)) as (_, client):
        answer = await client.post(PATH, json=responses(asked("Do it.")))
        assert answer.status_code == 429
        assert answer.json()["error"]["type"] == "usage_limit_reached"
        assert answer.json()["error"]["resets_in_seconds"] == 60
        assert await said(client, asked("Do it.")) == "at last"


async def test_usage_is_told_at_the_end_only():
    async with serving(Turn(text=TEXT, usage=USAGE, cut=True)) as (server, client):
        text, broken = await read(client, PATH, responses(asked("Do it.")))
    assert broken
    assert events(text)[-1]["delta"] == TEXT[:40]
    assert server.served == {}


async def test_an_error_in_mid_stream_ends_it():
    async with serving(Turn(text=TEXT, stream_error=StreamError("server_is_overloaded"))) as (_, client):
        text, broken = await read(client, PATH, responses(asked("Do it.")))
    assert not broken
    assert events(text)[-1]["response"]["error"]["code"] == "server_is_overloaded"


@pytest.mark.parametrize(("stop", "status"), [("", "completed"), ("max_tokens", "incomplete")])
async def test_an_answer_that_became_too_long_is_incomplete(stop, status):
    async with serving(Turn(text=TEXT, stop=stop)) as (_, client):
        found = events((await client.post(PATH, json=responses(asked("Do it.")))).text)
    assert (found[-1]["type"], found[-1]["response"]["status"]) == (f"response.{status}", status)
