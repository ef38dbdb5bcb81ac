"""Looking at a running service over HTTP: read-only, for seconds only, and only where a contract says."""

import json
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Final, Protocol, TypeAlias
from urllib.parse import urlsplit

import httpx

LIMIT: Final = timedelta(seconds=5)
"""How long one request may take from its start to its last byte read."""

LARGEST: Final = 256 * 1024
"""Bytes of an answer that are read."""

WELL: Final = frozenset({"ok", "healthy", "up", "pass"})
"""What ``status`` in a health answer may say; an answer without that key is judged by its code alone."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service said."""

    status: int
    text: str

    def json(self) -> object:
        """The body as JSON; ``None`` when it is none."""
        try:
            said: object = json.loads(self.text)
        except (ValueError, RecursionError):
            return None
        return said

    @property
    def is_server_error(self) -> bool:
        """Whether the code is a 5xx."""
        return self.status >= HTTPStatus.INTERNAL_SERVER_ERROR

    @property
    def is_healthy(self) -> bool:
        """200, and nothing but well in ``status`` (inventory §8.7)."""
        said = self.json()
        status = said.get("status", "ok") if isinstance(said, dict) else "ok"
        return self.status == HTTPStatus.OK and str(status).casefold() in WELL


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """The service could not be reached, or not in time."""

    reason: str


Seen: TypeAlias = Answer | NoAnswer


class Probe(Protocol):
    """One look at an address."""

    async def get(self, url: str) -> Seen:
        """What a GET of ``url`` gives; a redirect is an answer and not followed."""
        ...


class HttpProbe:
    """Probes with HTTP; proxies of the environment are not asked."""

    def __init__(self, *, limit: timedelta = LIMIT) -> None:
        self._limit = limit

    async def get(self, url: str) -> Seen:
        """What a GET of ``url`` gives."""
        if not _is_address(url):
            return NoAnswer(f"{url}: no address of a service")
        timeout = httpx.Timeout(self._limit.total_seconds())
        try:
            async with (
                httpx.AsyncClient(timeout=timeout, trust_env=False, follow_redirects=False) as client,
                client.stream("GET", url, headers={"User-Agent": "orchestrator-probe"}) as response,
            ):
                return Answer(response.status_code, await _head_of(response))
        except httpx.TimeoutException:
            return NoAnswer(f"{url}: no answer within {self._limit.total_seconds():g} s")
        except httpx.HTTPError as error:
            return NoAnswer(f"{url}: {str(error) or type(error).__name__}")


def _is_address(url: str) -> bool:
    """Whether there can be somebody at ``url``: the transport below has errors of its own for the rest."""
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


async def _head_of(response: httpx.Response) -> str:
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) >= LARGEST:
            break
    return bytes(body[:LARGEST]).decode("utf-8", errors="replace")


def same_service(one: str, other: str) -> bool:
    """Whether two addresses are answered by the same host and port."""
    left, right = one.split("/", 3), other.split("/", 3)
    return left[:3] == right[:3]


def joined(base_url: str, path: str) -> str:
    """The address of ``path`` below ``base_url``."""
    return f"{base_url.rstrip('/')}/{path.lstrip('/')}"
