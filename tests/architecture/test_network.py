"""Tests reach this machine only."""

import socket

import pytest

# An address of the documentation range of RFC 5737: nothing answers there, guard or no guard.
ELSEWHERE = "192.0.2.1"


def test_a_connection_to_another_machine_is_refused():
    with socket.socket() as outside, pytest.raises(RuntimeError, match="this machine only"):
        outside.connect((ELSEWHERE, 80))


def test_a_datagram_to_another_machine_is_refused():
    with (
        socket.socket(type=socket.SOCK_DGRAM) as outside,
        pytest.raises(RuntimeError, match="this machine only"),
    ):
        outside.sendto(b"", (ELSEWHERE, 9))


def test_the_name_of_another_machine_is_not_looked_up():
    with pytest.raises(RuntimeError, match="this machine only"):
        socket.getaddrinfo("forge.example", 443)


def test_a_connection_to_this_machine_is_made():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("localhost", port)) as client:
            assert client.getpeername() == ("127.0.0.1", port)
