import asyncio
from contextlib import aclosing
from dataclasses import replace

from orchestrator.web.app import create_app
from orchestrator.web.stream import TICK, TICKS_PER_HEARTBEAT, changes
from tests.unit.web.stories import Story


class StepClock:
    """A pause ends when the test says so."""

    def __init__(self, ticks: int) -> None:
        self.left = ticks

    async def sleep(self, pause) -> None:
        assert pause == TICK
        if not self.left:
            await asyncio.Event().wait()
        self.left -= 1


async def heard(services, ticks, act=None) -> list[str]:
    """What the stream says within so many ticks, after ``hello`` was said and ``act`` was done."""
    spoken: list[str] = []
    ended = False

    def closing() -> bool:
        return ended or clock.left == 0

    clock = StepClock(ticks)
    async with aclosing(changes(replace(services, clock=clock, closing=closing))) as stream:
        async for message in stream:
            spoken.append(message)
            if act is not None and len(spoken) == 1:
                await act()
    return spoken


async def test_hello_comes_at_once_and_then_nothing_while_nothing_changes(house):
    spoken = await heard(house.services, 30)
    assert len(spoken) == 1
    assert spoken[0].startswith("retry: 1000\nevent: hello\ndata: ")


async def test_a_change_is_told_within_one_tick(house):
    async def act():
        await Story.begin(house, "Something new")

    spoken = await heard(house.services, 1, act)
    assert spoken[1] == f"event: changed\ndata: {house.store.version()}\n\n"


async def test_a_page_that_is_read_changes_nothing(house, client):
    await Story.begin(house, "Read me")

    async def act():
        for address in ("/", "/items/ORCH-1", "/queue", "/metrics", "/dashboard/queue"):
            assert (await client.get(address)).status_code == 200

    assert len(await heard(house.services, 30, act)) == 1


async def test_a_change_by_another_process_is_told_within_a_second(house):
    seen = iter([1, 1, 2, 2, 2, 2])
    services = replace(house.services, changed=lambda: next(seen))
    spoken = await heard(services, 11)
    assert [message.partition("\n")[0] for message in spoken[1:]] == ["event: changed"]


async def test_a_quiet_stream_sends_heartbeats(house):
    spoken = await heard(house.services, 2 * TICKS_PER_HEARTBEAT)
    assert spoken[1:] == [": still here\n\n"] * 2


async def test_the_stream_ends_when_the_client_goes(house):
    app = create_app(house.services)
    sent: list[dict] = []
    gone = asyncio.Event()

    async def receive():
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)
        if message.get("body"):
            gone.set()

    scope = {
        "type": "http",
        "asgi": {"spec_version": "2.3"},
        "method": "GET",
        "path": "/api/v1/stream",
        "raw_path": b"/api/v1/stream",
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "headers": [(b"host", b"localhost")],
        "server": ("localhost", 80),
    }
    await asyncio.wait_for(app(scope, receive, send), 5)
    headers = dict(sent[0]["headers"])
    assert headers[b"content-type"].startswith(b"text/event-stream")
    assert sent[1]["body"].startswith(b"retry: 1000\nevent: hello")
