"""A run without network reaches its model and nothing else."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.agents.sandbox import confine
from orchestrator.agents.sandbox.endpoints import Endpoint, named_inside
from orchestrator.errors import Rejected
from orchestrator.plumbing.bubblewrap.bridge import target_of
from tests.sandbox.runs import PYTHON, bridges_of, environment_of
from tests.unit.plumbing.processes.support import eventually

ASK = """
import os, sys, urllib.request
for address in sys.argv[1:] or [os.environ["BASE_URL"]]:
    try:
        print(urllib.request.urlopen(address, b"question", timeout=5).read().decode())
    except OSError as error:
        print("out of reach")
"""
CONNECT = """
import os, socket
proxy = os.environ["HTTPS_PROXY"].removeprefix("http://").split(":")
for line in {lines!r}:
    with socket.create_connection((proxy[0], int(proxy[1])), 5) as there:
        there.sendall(line.encode() + b" HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        print(there.recv(100).split(b"\\r\\n")[0].decode())
        if line == {lines!r}[0]:
            there.sendall(b"hello")
            print(there.recv(100).decode())
"""


class Answering(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_POST(self):
        question = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"answer to {question} at {self.path}".encode())

    def log_message(self, *_):
        pass


@contextmanager
def http() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def echo() -> Iterator[int]:
    """A server that gives back what it gets, on the loopback that `localhost` names first."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.sendall(connection.recv(100))

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


async def test_the_model_is_reached_and_no_other_port_of_this_machine(locked):
    with http() as model, http() as other:
        address = f"http://127.0.0.1:{model}"
        done = await locked.python(
            ASK,
            locked.task(network=False),
            endpoint=address,
            env={"BASE_URL": f"{address}/s/edit", "HTTP_PROXY": "http://127.0.0.1:1"},
        )
        assert done.said == "answer to question at /s/edit\n"
        others = [f"http://127.0.0.1:{port}/x" for port in (other, model)]
        launch = locked.launch("python3", "-c", ASK, *others, endpoint=address)
        inside = confine(launch, locked.task(network=False))
        assert f"127.0.0.1:{model}/x" not in inside.files["sandbox"]
        code = ASK.replace("sys.argv[1:]", f"['http://127.0.0.1:%d/x' % port for port in ({other}, {model})]")
        done = await locked.python(code, locked.task(network=False), endpoint=address)
        assert done.said == "out of reach\nout of reach\n"


async def test_with_network_the_loopback_of_this_machine_is_in_reach(locked):
    with http() as other:
        code = ASK.replace("sys.argv[1:]", f"['http://127.0.0.1:{other}/x']")
        assert (await locked.python(code, locked.task())).said == "answer to question at /x\n"


async def test_without_an_endpoint_nothing_is_reached(locked):
    with http() as other:
        code = ASK.replace("sys.argv[1:]", f"['http://127.0.0.1:{other}/x']")
        assert (await locked.python(code, locked.task(network=False))).said == "out of reach\n"


async def test_an_encrypted_endpoint_is_reached_through_a_proxy_that_grants_nothing_else(locked):
    with echo() as model, http() as other:
        lines = [
            f"CONNECT localhost:{model}",
            f"CONNECT localhost:{other}",
            f"CONNECT 127.0.0.1:{model}",
            f"GET http://127.0.0.1:{other}/",
        ]
        done = await locked.python(
            CONNECT.format(lines=lines),
            locked.task(network=False),
            endpoint=f"https://localhost:{model}",
            env={"NO_PROXY": "*"},
        )
    assert done.said.splitlines() == [
        "HTTP/1.1 200 Connection established",
        "hello",
        *["HTTP/1.1 403 Forbidden"] * 3,
    ]


async def test_a_model_that_is_down_is_told_apart_from_a_refusal(locked):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    code = CONNECT.format(lines=["", f"CONNECT 127.0.0.1:{port}"]).replace(
        "if line ==", "if False and line =="
    )
    done = await locked.python(code, locked.task(network=False), endpoint=f"https://127.0.0.1:{port}")
    assert done.said.splitlines() == ["HTTP/1.1 403 Forbidden", "HTTP/1.1 502 Bad Gateway"]


async def test_the_bridge_has_nothing_of_the_commands_environment(locked):
    task = locked.task(network=False)
    code = "import time, pathlib; pathlib.Path('ready').touch(); time.sleep(60)"
    launch = locked.launch(*PYTHON, code, endpoint="http://127.0.0.1:9", env={"KEY": "canary"})
    run = await locked.start(launch, task)
    await eventually((locked.workspace / "ready").exists)
    (bridge,) = bridges_of(task.run_dir)
    assert "canary" not in environment_of(bridge)
    await run.stop()


@pytest.mark.parametrize(
    ("address", "host", "port", "encrypted"),
    [
        ("https://api.example.com", "api.example.com", 443, True),
        ("http://127.0.0.1:8080/s/edit", "127.0.0.1", 8080, False),
        ("https://[::1]:8443/", "::1", 8443, True),
    ],
)
def test_the_parts_of_an_endpoint(address, host, port, encrypted):
    found = Endpoint.of(address)
    assert found is not None
    assert (found.host, found.port, found.encrypted) == (host, port, encrypted)


@given(st.text() | st.text().map(lambda text: f"https://{text}"))
def test_no_text_makes_the_reader_of_addresses_fail(text):
    try:
        found = Endpoint.of(text)
    except Rejected:
        return
    assert found is None or (found.host and 0 < found.port < 65536)


@given(st.binary() | st.binary().map(lambda data: b"CONNECT " + data))
def test_no_bytes_make_the_reader_of_requests_fail(data):
    assert isinstance(target_of(data), str)


def test_an_address_is_replaced_where_it_is_named_and_only_there():
    outer, inner = "http://h:80", "http://i:1"
    assert named_inside('base_url="http://h:80/v1"', outer, inner) == 'base_url="http://i:1/v1"'
    for other in ("http://h:8080", "http://h:80.example", "https://h:80"):
        assert named_inside(other, outer, inner) == other
