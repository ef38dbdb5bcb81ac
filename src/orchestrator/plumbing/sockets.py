"""Ports of this machine: which are free, and whether somebody listens."""

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


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen on ``host``:``port`` now."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((host, port))
        except OSError:
            return False
    return True
