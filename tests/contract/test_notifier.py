"""What every notifier promises; a new adapter is one more row in ROWS."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from structlog.testing import capture_logs

from orchestrator.errors import BadInput, Rejected, Unavailable
from orchestrator.notify.apprise import AppriseNotifier
from orchestrator.notify.log import LogNotifier
from orchestrator.ports.notifier import Notifier
from orchestrator.testing import MemoryNotifier

# Apprise looks at all its services at first, of which one imports this.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

TEXT = "ORCH-7: held, *no* progress <since> 2 rounds & more\nnext: orch item retry ORCH-7 — ждёт"


@dataclass
class Bench:
    """A notifier, what arrived where people look, and a switch that takes that place away."""

    notifier: Notifier
    arrived: Callable[[], list[str]]
    reachable: Callable[[bool], None]


@asynccontextmanager
async def log() -> AsyncIterator[Bench]:
    with capture_logs() as entries:
        yield Bench(
            LogNotifier(),
            lambda: [entry["text"] for entry in entries if entry["log_level"] == "warning"],
            lambda there: None,
        )


@asynccontextmanager
async def memory() -> AsyncIterator[Bench]:
    notifier = MemoryNotifier()

    def reachable(there: bool) -> None:
        notifier.outage = None if there else Unavailable("down")

    yield Bench(notifier, lambda: notifier.sent, reachable)


class Receiver(ThreadingHTTPServer):
    """A service on this machine that takes alerts as JSON while it is well."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Post)
        self.well = True
        self.told: list[str] = []


class Post(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.well:
            self.server.told.append(said["message"])
        self.send_response(200 if self.server.well else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


@contextmanager
def received() -> Iterator[Receiver]:
    with Receiver() as receiver:
        serving = Thread(target=receiver.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        try:
            yield receiver
        finally:
            receiver.shutdown()
            serving.join()


@asynccontextmanager
async def apprise() -> AsyncIterator[Bench]:
    with received() as receiver:

        def reachable(there: bool) -> None:
            receiver.well = there

        yield Bench(AppriseNotifier([address(receiver)]), lambda: receiver.told, reachable)


def address(receiver: Receiver) -> str:
    return f"json://127.0.0.1:{receiver.server_port}/alerts"


Row = Callable[[], AbstractAsyncContextManager[Bench]]
ROWS: list[Row] = [log, memory, apprise]
# The log is always there.
FALLIBLE: list[Row] = [memory, apprise]


@pytest.fixture
async def bench(request):
    async with request.param() as made:
        yield made


every = pytest.mark.parametrize("bench", ROWS, ids=lambda row: row.__name__, indirect=True)
fallible = pytest.mark.parametrize("bench", FALLIBLE, ids=lambda row: row.__name__, indirect=True)


@every
async def test_a_text_arrives_once_and_word_for_word(bench):
    await bench.notifier.notify(TEXT)
    assert bench.arrived() == [TEXT]


@every
async def test_alerts_arrive_in_the_order_in_which_they_were_sent(bench):
    for text in ("first", "second", "first"):
        await bench.notifier.notify(text)
    assert bench.arrived() == ["first", "second", "first"]


@fallible
async def test_an_alert_that_nobody_took_is_an_error_and_may_be_sent_again(bench):
    bench.reachable(False)
    with pytest.raises((Unavailable, Rejected)):
        await bench.notifier.notify("lost")
    assert bench.arrived() == []
    bench.reachable(True)
    await bench.notifier.notify("found")
    assert bench.arrived() == ["found"]


async def test_a_target_that_is_away_is_an_error_although_the_others_took_the_alert():
    with Receiver() as away:
        gone = address(away)
    with received() as receiver:
        with pytest.raises(Unavailable):
            await AppriseNotifier([gone, address(receiver)]).notify("half")
        assert receiver.told == ["half"]


def test_an_address_of_no_known_kind_is_refused_without_being_repeated():
    with pytest.raises(BadInput, match="entry 2") as refusal:
        AppriseNotifier(["json://127.0.0.1:9/alerts", "pigeon://ada:hunter22@loft"])
    assert "hunter22" not in str(refusal.value)
