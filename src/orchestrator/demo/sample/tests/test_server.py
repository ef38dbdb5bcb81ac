"""The service over a real socket."""

import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest
from tally.app import Tally
from tally.server import Server
from tally.settings import for_environment


class Client:
    """Asks one running service and decodes what it says."""

    def __init__(self, port: int) -> None:
        self._port = port

    def ask(self, method: str, path: str, body: str | None = None) -> tuple[int, dict[str, object]]:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=5)
        connection.request(method, path, body)
        response = connection.getresponse()
        answer = response.status, json.loads(response.read())
        connection.close()
        return answer


@pytest.fixture
def client() -> Iterator[Client]:
    with Server(0, Tally(for_environment("local"), "abc123")) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.005})
        thread.start()
        yield Client(server.server_port)
        server.shutdown()
        thread.join()


def test_health_names_the_running_revision(client: Client) -> None:
    assert client.ask("GET", "/health") == (200, {"status": "ok", "service": "tally", "revision": "abc123"})


def test_recorded_points_are_added_up(client: Client) -> None:
    client.ask("POST", "/points", '{"points": 4}')
    assert client.ask("POST", "/points", '{"points": 8}') == (201, {"recorded": 2})
    assert client.ask("GET", "/total") == (200, {"total": 12.0})
    assert client.ask("GET", "/highest") == (200, {"highest": 8.0})


def test_status_counts_requests_and_errors(client: Client) -> None:
    client.ask("POST", "/points", '{"points": 1}')
    status, body = client.ask("GET", "/status")
    assert (status, body["recorded"], body["requests"], body["errors"]) == (200, 1, 2, 0)


@pytest.mark.parametrize("body", ["", "[]", "{", '{"points": "4"}', '{"points": true}', '{"points": NaN}'])
def test_a_body_without_a_number_is_refused(client: Client, body: str) -> None:
    assert client.ask("POST", "/points", body)[0] == 400


def test_unknown_paths_and_methods_are_told_apart(client: Client) -> None:
    assert client.ask("GET", "/nowhere")[0] == 404
    assert client.ask("POST", "/total", "{}")[0] == 405
