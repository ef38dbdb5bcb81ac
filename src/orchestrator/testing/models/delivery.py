"""The way of an answer to the client: when it begins, in which pieces it goes, and how it breaks off."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from orchestrator.testing.models.scripts import NOTHING, TokenUsage

EVENT_STREAM: Final = "text/event-stream"
JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an answer: ``usage`` is what it tells the client over and above the parts before it."""

    data: Mapping[str, object]
    event: str = ""
    usage: TokenUsage = NOTHING

    @property
    def encoded(self) -> bytes:
        """The bytes on the wire: an event of a stream, or a whole document when it has no event's name."""
        text = json.dumps(self.data)
        return (f"event: {self.event}\ndata: {text}\n\n" if self.event else text).encode()


@dataclass(frozen=True, slots=True)
class Manner:
    """How an answer is delivered.

    ``delay`` passes first. When ``silent`` nothing is ever sent. When not ``whole`` the connection is dropped
    after the last piece, or, if it is ``held``, stays open until the client leaves.
    """

    delay: timedelta = timedelta()
    silent: bool = False
    held: bool = False
    whole: bool = True


class Delivery(Response):
    """An answer on its way; ``sent`` is told the usage of each piece when that was handed to the connection.

    It ends early when the client leaves or ``closing`` is set.
    """

    def __init__(
        self,
        pieces: Iterable[Piece],
        manner: Manner,
        sent: Callable[[TokenUsage], None],
        closing: asyncio.Event,
    ) -> None:
        self._pieces = list(pieces)
        streams = any(piece.event for piece in self._pieces)
        super().__init__(media_type=EVENT_STREAM if streams else JSON)
        del self.headers["content-length"]
        self._manner = manner
        self._sent = sent
        self._closing = closing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer, or as much of it as is to be sent."""
        manner = self._manner
        if manner.delay and await self._is_over(receive, within=manner.delay):
            return
        if manner.silent:
            await self._is_over(receive)
            return
        await self._send(send)
        if manner.held:
            await self._is_over(receive)
        if manner.whole:
            await send({"type": "http.response.body", "body": b""})

    async def _send(self, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers},
        )
        for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece.encoded, "more_body": True})
            if piece.usage.total:
                self._sent(piece.usage)

    async def _is_over(self, receive: Receive, *, within: timedelta | None = None) -> bool:
        """Wait until nobody wants the answer any more, at most ``within``; say whether that is so."""
        ends = [asyncio.create_task(_leaving(receive)), asyncio.create_task(_set(self._closing))]
        try:
            done, _ = await asyncio.wait(
                ends,
                timeout=None if within is None else within.total_seconds(),
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            for end in ends:
                end.cancel()
            await asyncio.gather(*ends, return_exceptions=True)
        return bool(done)


async def _leaving(receive: Receive) -> None:
    """Return when the client has closed its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _set(event: asyncio.Event) -> None:
    await event.wait()
