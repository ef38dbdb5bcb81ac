"""The fake model server: what it keeps, how it ends, and that nothing that is sent to it upsets it."""

import asyncio
import threading
from dataclasses import dataclass

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.testing.models import TokenUsage, Turn, fixed, model_server
from orchestrator.testing.models.anthropic import MessagesApi
from orchestrator.testing.models.api import Arrival, Service
from orchestrator.testing.models.ledger import Ledger
from orchestrator.testing.models.openai import ResponsesApi
from orchestrator.testing.models.scripts import ASIDE
from tests.unit.plumbing.processes.support import eventually
from tests.unit.testing.models.support import MODEL, messages, serving, user

BODY = messages(user("Do it."), stream=False)
PATH = "/v1/messages"

FIELDS = st.sampled_from(
    ["messages", "input", "system", "tools", "role", "content", "text", "type", "name", "output", "model"]
)
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.sampled_from(["user", "system", "<cwd>", "tool_result"])
)
VALUES = st.recursive(
    SCALARS,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(FIELDS, values, max_size=3),
    max_leaves=12,
)
BODIES = st.dictionaries(FIELDS, VALUES, max_size=4)


@dataclass(frozen=True)
class Rates:
    """Prices of a model."""

    input: float
    output: float
    cache_read: float
    cache_write: float


def post(url, **options):
    """Ask the server without an event loop."""
    return httpx.post(url, json=BODY, trust_env=False, timeout=20, **options)


def test_a_test_without_an_event_loop_has_a_server_too():
    usage = TokenUsage(1_000, 200, 30, 4)
    with model_server(fixed([Turn(text="hello", usage=usage)])) as server:
        answers = [post(server.base_url + PATH).json() for _ in range(2)]
        assert server.total == usage + usage
    assert [answer["content"][0]["text"] for answer in answers] == ["hello", "hello"]
    assert answers[0]["id"] != answers[1]["id"]
    assert server.completed == server.served == {MODEL: usage + usage}
    assert len(server.requests) == 2
    assert server.cost({MODEL: Rates(4, 20, 0.2, 5)}) == pytest.approx(2 * 0.008026)
    with pytest.raises(KeyError):
        server.cost({})


def test_a_credential_is_noticed_but_not_kept():
    with model_server(fixed([])) as server:
        post(server.base_url + PATH, headers={"x-api-key": "sk-secret", "Authorization": "Bearer sk-secret"})
        post(server.base_url + PATH)
    first, second = server.requests
    assert first.credentials == ("authorization", "x-api-key")
    assert second.credentials == ()
    assert "sk-secret" not in repr(server.requests)
    assert first.body == BODY


def test_an_error_of_a_script_reaches_the_test_and_the_client_does_not_try_again():
    def script(request):
        raise LookupError("no such role")

    def ask():
        with model_server(script) as server:
            answers.append(post(server.base_url + PATH).status_code)

    answers: list[int] = []
    with pytest.raises(LookupError, match="no such role"):
        ask()
    assert answers == [400]


def test_an_error_of_the_test_comes_before_that_of_a_script():
    def fail():
        with model_server(lambda _: 1 / 0) as server:  # type: ignore[arg-type, return-value]
            post(server.base_url + PATH)
            raise ValueError("of the test")

    with pytest.raises(ValueError, match="of the test"):
        fail()


@pytest.mark.parametrize("turn", [Turn(hang=True), Turn(text="x", stall=True)])
async def test_the_server_ends_promptly_while_a_client_waits(turn):
    loop = asyncio.get_running_loop()
    async with serving(turn) as (server, client):
        waiting = asyncio.create_task(client.post(PATH, json={**BODY, "stream": True}))
        await eventually(lambda: server.requests)
        began = loop.time()
        await server.close()
        assert loop.time() - began < 1.5
        await asyncio.wait([waiting])
        assert waiting.exception() is not None or waiting.result().status_code == 500
    with pytest.raises(httpx.ConnectError):
        await httpx.AsyncClient(trust_env=False).get(server.base_url)


def test_a_server_leaves_no_thread_behind():
    before = threading.active_count()
    with model_server(fixed([])) as server:
        post(server.base_url + PATH)
    assert threading.active_count() == before


async def test_a_body_that_is_no_document_is_answered_as_an_empty_one():
    async with serving(Turn(text="hello")) as (_, client):
        for content in (b"", b"{", b"[]", b"\xff", b"[" * 100_000):
            answer = await client.post(PATH, content=content)
            assert answer.json()["content"][0]["text"] == "ok"


@given(BODIES)
def test_a_body_of_any_shape_can_be_parsed(body):
    service = Service(fixed([]), ASIDE, Ledger(), asyncio.Event())
    for api in (MessagesApi(service), ResponsesApi(service)):
        request = api.parsed(Arrival("POST", PATH, {}, (), body))
        assert request.turn >= 0
