"""Watching runs over HTTP: events by index, and the stream of them as they happen."""

import asyncio
import json
from contextlib import aclosing
from dataclasses import replace

import pytest

from orchestrator.pipeline.ids import RunId
from orchestrator.pipeline.stages import Stage
from orchestrator.ports.agent import Usage
from orchestrator.web.runs import DETAIL, TEXT, find_run, stream_events
from orchestrator.web.stream import TICK, TICKS_PER_HEARTBEAT
from tests.unit.web.serving import served
from tests.unit.web.stories import Story
from tests.unit.web.transcripts import line

TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ"
SCRIPT = "<script>alert(1)</script>"
XSS = line(
    ("command", f"echo {SCRIPT}", f"</pre>{SCRIPT}"),
    ("text", '"><img src=x onerror=alert(1)>', ""),
    ("error", "</li></ol><b>bold</b>", ""),
)


class Run:
    """A run that is under way, and its log."""

    def __init__(self, house, story, number):
        self.house, self.story, self.id = house, story, number
        self.log = house.logs / f"{number}.log"
        self.page = f"/items/{story.id}/runs/{number}"
        self.events, self.stream = f"/api/v1/runs/{number}/events", f"/api/v1/runs/{number}/stream"

    def write(self, text):
        with self.log.open("a") as log:
            log.write(text)

    async def end(self, exit_code=0, outcome="finished"):
        usage = Usage(1000, 200, 0.25, cache_read_tokens=0)
        await self.story.tell(
            lambda tx: tx.runs.end(RunId(self.id), exit_code=exit_code, outcome=outcome, usage=usage)
        )


@pytest.fixture
async def run(house):
    story = await Story.begin(house, "Watch me")
    await story.advance(Stage.ANALYSIS)
    return Run(house, story, await story.start_run(await story.order()))


@pytest.fixture
async def site(house):
    async with served(house.services) as site:
        yield site


class Messages:
    """The messages of a stream, read as they come."""

    def __init__(self, answer):
        self.answer, self._lines = answer, answer.aiter_lines()

    async def next(self):
        """The next message as (id, event, data); ``None`` when the stream ends."""
        fields = {}
        async for part in self._lines:
            name, _, value = part.partition(": ")
            if part and name:
                fields[name] = value
            elif "event" in fields:
                return int(fields["id"]), fields["event"], json.loads(fields["data"])
            else:
                fields = {}
        return None

    async def texts(self, count):
        return [data["text"] for _, _, data in [await self.next() for _ in range(count)]]


async def test_events_are_asked_for_by_index(run, client):
    run.write("one\n" + line(("edit", "a.py", "+x"), ("cost", "7 tokens", "")) + "thr")
    answer = (await client.get(run.events)).json()
    assert [
        (event["index"], event["kind"], event["text"], event["detail"]) for event in answer["events"]
    ] == [
        (0, "text", "one", ""),
        (4, "edit", "a.py", "+x"),
        (5, "cost", "7 tokens", ""),
    ]
    assert (answer["run"], answer["over"]) == (run.id, False)
    follow = {"after": answer["next"]}
    assert (await client.get(run.events, params=follow)).json()["events"] == []
    run.write("ee\n")
    await run.end()
    answer = (await client.get(run.events, params=follow)).json()
    assert [event["text"] for event in answer["events"]] == ["three"]
    assert answer["over"] is True


async def test_an_event_in_the_middle_of_a_line_is_gone_on_after(run, client):
    run.write(line(("text", "a", ""), ("text", "b", ""), ("text", "c", "")))
    answer = (await client.get(run.events, params={"after": 0})).json()
    assert [event["text"] for event in answer["events"]] == ["b", "c"]


async def test_a_long_log_is_asked_for_page_by_page(run, client):
    run.write("".join(f"{number}\n" for number in range(1000)))
    await run.end()
    after, texts, pages, over = -1, [], 0, False
    while not over:
        answer = (await client.get(run.events, params={"after": after})).json()
        texts += [event["text"] for event in answer["events"]]
        after, over, pages = answer["next"], answer["over"], pages + 1
    assert texts == [str(number) for number in range(1000)]
    assert pages > 3


async def test_secrets_are_masked_and_long_events_cut_after_that(run, client):
    run.write(line(("output", "x" * (TEXT - 10) + TOKEN, "y" * (DETAIL - 10) + " " + TOKEN)))
    (event,) = (await client.get(run.events)).json()["events"]
    assert event["text"].endswith("***")
    assert "ghp_" not in event["detail"]
    run.write("z" * (TEXT + 5) + "\n")
    (event,) = (await client.get(run.events, params={"after": event["index"]})).json()["events"]
    assert (len(event["text"]), event["more"]) == (TEXT, 5)


@pytest.mark.parametrize("path", ["/api/v1/runs/999/events", "/api/v1/runs/999/stream"])
async def test_an_unknown_run_is_404(client, path):
    answer = await client.get(path)
    assert (answer.status_code, answer.json()) == (404, {"error": "there is no run 999"})


@pytest.mark.parametrize("after", ["-2", "x", "9007199254740992"])
async def test_an_index_that_cannot_be_is_400(run, client, after):
    assert (await client.get(run.events, params={"after": after})).status_code == 400


async def test_a_run_is_streamed_while_it_goes_on_and_its_end_is_told(run, site):
    run.write("one\n")
    async with site.client.stream("GET", run.stream) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        messages = Messages(answer)
        assert (await messages.next())[2]["text"] == "one"
        run.write(f"the token is {TOKEN[:9]}")
        run.write(f"{TOKEN[9:]}\nunfinished")
        assert await messages.texts(1) == ["the token is ***"]
        await run.end(1, "failed")
        assert await messages.texts(1) == ["unfinished"]
        index, event, end = await messages.next()
        assert (event, end["run"], end["outcome"], end["exit_code"]) == ("end", run.id, "failed", 1)
        assert (end["tokens"], end["cost_usd"]) == (1200, 0.25)
        assert index == run.log.stat().st_size - 1
        assert await messages.next() is None


async def test_a_broken_stream_goes_on_after_the_last_event_that_was_seen(run, site):
    run.write("".join(f"{number}\n" for number in range(500)))
    seen: list[str] = []
    last = ""
    for count in (3, 250, 247):
        async with site.client.stream("GET", run.stream, headers={"Last-Event-ID": last}) as answer:
            messages = Messages(answer)
            for _ in range(count):
                index, _, event = await messages.next()
                seen, last = [*seen, event["text"]], str(index)
    assert seen == [str(number) for number in range(500)]


async def test_after_and_an_id_that_is_none_are_understood(run, site):
    run.write("one\ntwo\n")
    for headers, after in (({"Last-Event-ID": "x"}, 3), ({}, 3), ({"Last-Event-ID": "3"}, -1)):
        async with site.client.stream("GET", run.stream, params={"after": after}, headers=headers) as answer:
            assert await Messages(answer).texts(1) == ["two"]


async def test_the_stream_of_a_run_that_is_over_tells_all_and_ends(run, site):
    run.write("one\n")
    await run.end()
    answer = await site.client.get(run.stream)
    assert [part.partition("\n")[0] for part in answer.text.split("\n\n") if part] == [
        "retry: 1000",
        "id: 0",
        "id: 3",
    ]


async def test_streams_end_when_the_server_shuts_down(run, house):
    async with served(house.services) as site, site.client.stream("GET", run.stream) as answer:
        run.write("one\n")
        messages = Messages(answer)
        assert await messages.texts(1) == ["one"]
        site.server.should_exit = True
        assert await messages.next() is None


async def test_a_long_log_is_streamed_without_keeping_others_waiting(run, site):
    run.write((f"{'x' * 1000}\n" * 1000) * 8)
    loop, longest = asyncio.get_running_loop(), 0.0

    async def answer_others():
        nonlocal longest
        while True:
            asked = loop.time()
            assert (await site.client.get("/health")).status_code == 200
            longest = max(longest, loop.time() - asked)

    others = asyncio.create_task(answer_others())
    async with site.client.stream("GET", run.stream) as answer:
        messages = Messages(answer)
        assert len(set(await messages.texts(8000))) == 1
    others.cancel()
    assert 0 < longest < 2


async def test_a_quiet_run_sends_heartbeats(run, house):
    class StepClock:
        """Pauses end at once, so many of them."""

        left = 2 * TICKS_PER_HEARTBEAT

        async def sleep(self, pause):
            assert pause == TICK
            self.left -= 1

    clock = StepClock()
    services = replace(house.services, clock=clock, closing=lambda: clock.left == 0)
    async with aclosing(stream_events(services, await find_run(services, run.id), -1)) as stream:
        assert [message async for message in stream] == [
            "retry: 1000\n\n",
            ": still here\n\n",
            ": still here\n\n",
        ]


async def test_nothing_in_a_log_becomes_markup(run, browser):
    run.write(XSS)
    for path in (f"/items/{run.story.id}", run.page):
        page = (await browser.get(path)).text
        assert "&lt;script&gt;alert(1)" in page
        for bad in (SCRIPT, "<img", "<b>bold"):
            assert bad not in page


async def test_a_message_cannot_be_ended_by_what_it_holds(run, site):
    run.write(line(("output", "a\u2028b\x85c", "x\n\nevent: end\ndata: {}\n\n\r\n\r\nid: 7")))
    await run.end()
    answer = await site.client.get(run.stream)
    assert answer.text.count("\n\n") == 3
    assert answer.text.count("\nevent: end") == 1


async def test_the_page_of_a_run_leads_back_to_its_beginning(run, browser):
    run.write("".join(f"event {number} of many\n" for number in range(450)))
    await run.end()
    page = (await browser.get(run.page)).text
    seen: list[str] = []
    while True:
        shown = [part.partition(" of many")[0] for part in page.split('event-words">event ')[1:]]
        seen = [*shown, *seen]
        link = page.partition('<p class="events-earlier"><a href="')[2].partition('"')[0]
        if not link:
            break
        page = (await browser.get(link)).text
    assert seen == [str(number) for number in range(450)]


async def test_a_run_of_another_item_is_404(run, browser, house):
    other = await Story.begin(house, "Another")
    assert (await browser.get(f"/items/{other.id}/runs/{run.id}")).status_code == 404
    assert (await browser.get(f"{run.page}?before=-1")).status_code == 400


async def test_a_row_says_who_worked_with_what_and_what_it_cost(run, browser):
    await run.end(1, "failed")
    page = (await browser.get(f"/items/{run.story.id}")).text
    row = page.partition('<details class="run"')[2].partition("</summary>")[0]
    for said in ("analyst", "claude-opus-4 · high", "script", "1.2k tokens", "$0.25", "failed in"):
        assert said in row, said


async def test_shapes_are_in_the_schema(client):
    schema = (await client.get("/api/v1/openapi.json")).json()
    assert {"RunEvent", "RunEvents", "RunEnd"} <= set(schema["components"]["schemas"])
    stream = schema["paths"]["/api/v1/runs/{run_id}/stream"]["get"]["responses"]["200"]
    assert "text/event-stream" in stream["content"]
