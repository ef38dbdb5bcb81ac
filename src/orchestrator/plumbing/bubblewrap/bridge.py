"""The outside end of the bridge: one address, for a command that has no network (see `start.py`).

Started as `python -I -S bridge.py <descriptor> <pid> <kind> <host> <port>`. Through the descriptor it gets a
socket that listens inside; it accepts there and connects here, until the process with that pid has ended. The
kind `raw` passes each connection to the address; `connect` is a proxy that grants CONNECT to exactly that
address and refuses everything else.

SIGTERM is ignored, as the launcher left it: while the command has its grace it may still need its model.
Standard library only.
"""

import contextlib
import os
import select
import socket
import sys
import threading

MOST_CONNECTIONS = 128
LONGEST_HEAD = 8192
PATIENCE_S = 30.0
PIECE = 65536

GRANTED = b"HTTP/1.1 200 Connection established\r\n\r\n"
REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
OUT_OF_REACH = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Bridge:
    """Serves connections from inside, each in a thread of its own."""

    def __init__(self, kind: str, host: str, port: int) -> None:
        self._is_proxy = kind == "connect"
        self._address = (host, port)
        named = f"[{host}]" if ":" in host else host
        self._wanted = f"{named}:{port}".lower()
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)

    def accept(self, listener: socket.socket) -> None:
        """Serve the next connection; one too many is closed."""
        with contextlib.suppress(OSError):
            inner, _ = listener.accept()
            if self._places.acquire(blocking=False):
                threading.Thread(target=self._serve, args=(inner,), daemon=True).start()
            else:
                inner.close()

    def _serve(self, inner: socket.socket) -> None:
        try:
            with inner, contextlib.suppress(OSError):
                inner.settimeout(PATIENCE_S)
                if self._is_proxy:
                    self._grant(inner)
                else:
                    with socket.create_connection(self._address, PATIENCE_S) as outer:
                        relay(inner, outer)
        finally:
            self._places.release()

    def _grant(self, inner: socket.socket) -> None:
        head, rest = head_of(inner)
        if target_of(head) != self._wanted:
            inner.sendall(REFUSED)
            return
        try:
            outer = socket.create_connection(self._address, PATIENCE_S)
        except OSError:
            inner.sendall(OUT_OF_REACH)
            return
        with outer:
            inner.sendall(GRANTED)
            outer.sendall(rest)
            relay(inner, outer)


def head_of(connection: socket.socket) -> tuple[bytes, bytes]:
    """The head of a request, and what has been read beyond it; an endless head is cut off.

    Raises:
        OSError: nothing comes.
    """
    read = b""
    while b"\r\n\r\n" not in read and len(read) < LONGEST_HEAD:
        piece = connection.recv(PIECE)
        if not piece:
            break
        read += piece
    head, _, rest = read.partition(b"\r\n\r\n")
    return head, rest


def target_of(head: bytes) -> str:
    """The address that a request for CONNECT names, in small letters; empty for any other request."""
    words = head.partition(b"\r\n")[0].split(b" ")
    if len(words) != 3 or words[0] != b"CONNECT" or not words[2].startswith(b"HTTP/1."):
        return ""
    return words[1].decode("ascii", "replace").lower()


def relay(one: socket.socket, other: socket.socket) -> None:
    """Pass on what either side says until both are through."""
    one.settimeout(None)
    other.settimeout(None)
    back = threading.Thread(target=pump, args=(other, one), daemon=True)
    back.start()
    pump(one, other)
    back.join()


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Pass on what one side says until it is through or the other one does not listen any more."""
    with contextlib.suppress(OSError):
        while piece := source.recv(PIECE):
            sink.sendall(piece)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def received(descriptor: int) -> socket.socket | None:
    """The listening socket from inside; None when the inside ended before it had one."""
    with socket.socket(fileno=descriptor) as channel:
        _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    return socket.socket(fileno=descriptors[0]) if descriptors else None


def main() -> None:
    """Serve until the sandbox has ended."""
    descriptor, pid, port = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[5])
    try:
        sandbox = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    listener = received(descriptor)
    if listener is None:
        return
    # A connection that is withdrawn between the two calls must not keep us waiting.
    listener.setblocking(False)
    bridge = Bridge(sys.argv[3], sys.argv[4], port)
    while sandbox not in select.select([listener.fileno(), sandbox], [], [])[0]:
        bridge.accept(listener)
    # Threads may still wait for a neighbour; nothing inside is left to hear it.
    os._exit(0)


if __name__ == "__main__":
    main()
