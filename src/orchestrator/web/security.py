"""The guard in front of every route: who may address the server, from which pages, and with how much.

It stands against three attacks on a server that listens on loopback: a foreign name that resolves to this
machine (DNS rebinding), a foreign page that posts here (CSRF), and a page that embeds ours (clickjacking).
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_LIMIT: Final = 1024 * 1024
"""Bytes of a request's body that are read."""

STATIC: Final = "/static/"
"""Files below this path carry a digest in their address and may be cached for ever."""

SECURITY_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Sent with every answer; the policy allows our own files only, and no script or style inside a page."""

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class Guard:
    """ASGI middleware that refuses what no honest client sends, and adds the security headers."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        """Guard ``app``, which may be addressed as ``hosts`` and by the names of loopback."""
        self._app = app
        self._hosts = frozenset(name.lower() for name in hosts) | _LOOPBACK

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _with_headers(send, scope["path"])
        refusal = self._refusal(scope, Headers(scope=scope))
        if refusal is not None:
            await refusal(scope, receive, answer)
            return
        await self._app(scope, _limited(receive), answer)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        if not self._is_known(host_name(headers.get("host", ""))):
            return _refuse(421, "this server is not known by that name; add it to ORCH_HOST")
        if scope["method"] not in _READING and not _is_same_origin(scope, headers):
            return _refuse(403, "this request was made by a page of another site")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > BODY_LIMIT:
            return _refuse(413, f"the request is larger than {BODY_LIMIT // 1024} KiB")
        return None

    def _is_known(self, name: str) -> bool:
        return name in self._hosts or name.endswith(".localhost")


def host_name(host: str) -> str:
    """The name in a ``Host`` header, without its port and without the brackets of an IPv6 address."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()


def _is_same_origin(scope: Scope, headers: Headers) -> bool:
    """Whether a page of ours, or no browser at all, made the request: both headers are the browser's own."""
    if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return False
    origin = headers.get("origin")
    if origin is None:
        return True
    parts = urlsplit(origin)
    return parts.scheme in {"http", "https"} and parts.netloc.lower() == headers.get("host", "").lower()


def _refuse(status: int, reason: str) -> Response:
    return JSONResponse({"error": reason}, status)


def _limited(receive: Receive) -> Receive:
    """Count what arrives: a body that is sent in chunks announces no length."""
    received = 0

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > BODY_LIMIT:
            raise HTTPException(413, f"the request is larger than {BODY_LIMIT // 1024} KiB")
        return message

    return counted


def _with_headers(send: Send, path: str) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(SECURITY_HEADERS)
            kept = path.startswith(STATIC) and message["status"] in {200, 304}
            headers["Cache-Control"] = "public, max-age=31536000, immutable" if kept else "no-store"
        await send(message)

    return guarded
