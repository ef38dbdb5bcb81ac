"""The socket in front of the answers."""

import json
import socketserver
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from tally.app import Reply, Tally

MOST_BYTES = 64 * 1024


class Server(ThreadingHTTPServer):
    """An HTTP server on the loopback interface; port 0 takes any free port."""

    daemon_threads = True

    def __init__(self, port: int, tally: Tally) -> None:
        self.tally = tally
        super().__init__(("127.0.0.1", port), Handler)

    def server_bind(self) -> None:
        """Bind without the reverse name lookup of the standard class, which can take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]


class Handler(BaseHTTPRequestHandler):
    """Turns one HTTP request into a question to the tally, and its reply into JSON."""

    server: Server

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit() or int(length) > MOST_BYTES:
            self._send(Reply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": f"at most {MOST_BYTES} bytes"}))
            return
        self._answer(self.rfile.read(int(length)))

    def log_message(self, format: str, *args: object) -> None:
        """Keep the log for what matters: the start line and tracebacks."""

    def _answer(self, body: bytes) -> None:
        tally = self.server.tally
        tally.requests += 1
        # A mistake in a handler is answered with a 500 and goes on to the server, which logs its traceback.
        reply = Reply(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "internal error"})
        try:
            reply = tally.answer(self.command, urlsplit(self.path).path, body)
        finally:
            tally.errors += reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR
            self._send(reply)

    def _send(self, reply: Reply) -> None:
        content = json.dumps(reply.body).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
