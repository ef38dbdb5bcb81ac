"""Ports of this machine that nobody listens on."""

import socket

LOOPBACK = "127.0.0.1"


def free_ports(count: int) -> tuple[int, ...]:
    """Ports of the loopback address that nobody listens on now, all different."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(count)]
    try:
        for one in sockets:
            one.bind((LOOPBACK, 0))
        return tuple(int(one.getsockname()[1]) for one in sockets)
    finally:
        for one in sockets:
            one.close()
