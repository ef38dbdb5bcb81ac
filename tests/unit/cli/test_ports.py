"""Whether a port is free, ours, or taken by somebody else."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from orchestrator.cli.ports import PortUse, address, is_loopback, port_use

HOST = "127.0.0.1"


@contextmanager
def server(body: bytes) -> Iterator[int]:
    """A server that answers every request with ``body``; its port."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            """Say nothing."""

    with HTTPServer((HOST, 0), Answering) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield listening.server_port
        finally:
            listening.shutdown()
            thread.join()


def free_port() -> int:
    with socket.create_server((HOST, 0)) as listening:
        return int(listening.getsockname()[1])


def test_a_port_without_a_listener_is_free():
    assert port_use(HOST, free_port()) is PortUse.FREE


def test_an_orchestrator_is_recognised_by_its_health():
    with server(b'{"status": "ok", "service": "orchestrator"}') as port:
        assert port_use(HOST, port) is PortUse.OURS


@pytest.mark.parametrize("body", [b'{"status": "ok", "service": "tally"}', b"<html>", b"[]"])
def test_any_other_program_has_taken_the_port(body):
    with server(body) as port:
        assert port_use(HOST, port) is PortUse.TAKEN


def test_an_address_of_another_machine_cannot_be_listened_on():
    assert port_use("192.0.2.1", free_port()) is PortUse.FORBIDDEN


@pytest.mark.parametrize(
    ("host", "inside"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.1", False),
        ("machine.example.org", False),
    ],
)
def test_loopback_is_told_from_the_rest(host, inside):
    assert is_loopback(host) is inside


def test_the_dashboard_is_reached_under_an_address_that_works():
    assert address("0.0.0.0", 8500) == "http://127.0.0.1:8500"
    assert address("::1", 8500) == "http://[::1]:8500"


def test_serving_on_a_taken_port_names_the_way_out(orch):
    with server(b"<html>") as port:
        ran = orch("serve", "--port", port)
    assert (ran.code, ran.err) == (
        2,
        f"orch: port {port} is taken by another program; use --port or ORCH_PORT\n",
    )


def test_a_second_orchestrator_is_refused(orch):
    with server(b'{"status": "ok", "service": "orchestrator"}') as port:
        ran = orch("serve", "--port", port)
    assert ran.code == 2
    assert f"an orchestrator runs on http://127.0.0.1:{port} already" in ran.err


@pytest.mark.parametrize("tokens", ["", "ci:admin:abc"])
def test_nobody_else_gets_in_while_nobody_is_asked_for_a_login(orch, monkeypatch, tokens):
    monkeypatch.setenv("ORCH_API_TOKENS", tokens)
    ran = orch("serve", "--host", "0.0.0.0", "--port", free_port())
    assert ran.code == 2
    assert "listen on 127.0.0.1" in ran.err
