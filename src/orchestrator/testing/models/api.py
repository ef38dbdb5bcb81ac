"""What the fake model APIs have in common: a script decides which turn answers a request."""

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from orchestrator.testing.models.delivery import Delivery, Manner, Piece
from orchestrator.testing.models.documents import document, text
from orchestrator.testing.models.ledger import CREDENTIALS, Ledger, RecordedRequest
from orchestrator.testing.models.scripts import (
    HttpError,
    ModelRequest,
    Script,
    StreamError,
    Turn,
    choose,
    filled,
)


@dataclass(frozen=True, slots=True)
class Service:
    """What an API works with; ``closing`` is set when the server ends."""

    script: Script
    aside: Turn
    ledger: Ledger
    closing: asyncio.Event


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request as it came over HTTP, without credentials; ``body`` is empty when it is no JSON object."""

    method: str
    path: str
    headers: Mapping[str, str]
    credentials: tuple[str, ...]
    body: Mapping[str, object]

    @property
    def model(self) -> str:
        """The model that is asked."""
        return text(self.body, "model")

    @property
    def streams(self) -> bool:
        """Whether the answer is wanted as a stream."""
        return self.body.get("stream") is True


class ModelApi(ABC):
    """A fake API of a provider.

    ``content`` are the events that carry what the model says, ``closing`` those that end a part of it: a
    stream that breaks off does so after the first of the former, and before the first of the latter.
    """

    content: ClassVar[frozenset[str]]
    closing: ClassVar[frozenset[str]]

    def __init__(self, service: Service) -> None:
        self._service = service

    @abstractmethod
    def routes(self) -> list[Route]:
        """The addresses that the API has."""

    @abstractmethod
    def parsed(self, arrival: Arrival) -> ModelRequest:
        """What the CLI asks; a body of any shape can be parsed."""

    @abstractmethod
    def events(self, request: ModelRequest, turn: Turn) -> Iterable[Piece]:
        """The answer as a stream."""

    @abstractmethod
    def whole(self, request: ModelRequest, turn: Turn) -> Piece:
        """The answer in one document."""

    @abstractmethod
    def failure(self, error: StreamError) -> Piece:
        """The event that tells an error in mid-stream."""

    @abstractmethod
    def refusal(self, error: HttpError) -> dict[str, object]:
        """The body of an HTTP error."""

    async def answer(self, http: Request) -> Response:
        """Answer a request for a step of the model, in the way that the script wants it."""
        arrival = await arrived(http)
        request = self.parsed(arrival)
        self.record(arrival, request.turn)
        turn = choose(self._service.script, request, self._service.aside)
        error = turn.error
        matches = error is not None and re.search(error.model, request.model) is not None
        if error is not None and self._service.ledger.refuses(request, turn, matches=matches):
            return self.refuse(error)
        return self._deliver(request, filled(turn, request))

    def refuse(self, error: HttpError) -> Response:
        """An HTTP error in the form of this API."""
        headers = {"request-id": new_id("req"), **error.headers}
        return JSONResponse(self.refusal(error), error.status, headers)

    def record(self, arrival: Arrival, turn: int | None = None) -> None:
        """Write the request down."""
        self._service.ledger.record(
            RecordedRequest(
                method=arrival.method,
                path=arrival.path,
                model=arrival.model,
                turn=turn,
                stream=arrival.streams,
                headers=arrival.headers,
                credentials=arrival.credentials,
                body=arrival.body,
            )
        )

    def _deliver(self, request: ModelRequest, turn: Turn) -> Response:
        ledger, model = self._service.ledger, request.model
        pieces = self._stream(request, turn) if request.stream else [self.whole(request, turn)]
        breaks = request.stream and (turn.stall or turn.cut)
        manner = Manner(turn.delay, silent=turn.hang, held=request.stream and turn.stall, whole=not breaks)
        answer = Delivery(pieces, manner, lambda usage: ledger.add(model, usage), self._service.closing)
        answer.headers.update({"request-id": new_id("req"), **turn.headers})
        return answer

    def _stream(self, request: ModelRequest, turn: Turn) -> Iterable[Piece]:
        events = self.events(request, turn)
        if turn.stream_error is not None:
            return [*self._beginning(events), self.failure(turn.stream_error)]
        return self._beginning(events) if turn.stall or turn.cut else events

    def _beginning(self, events: Iterable[Piece]) -> Iterator[Piece]:
        for piece in events:
            if piece.event in self.closing:
                return
            yield piece
            if piece.event in self.content:
                return


async def arrived(http: Request) -> Arrival:
    """Read a request; the values of credentials are left out."""
    return Arrival(
        method=http.method,
        path=http.url.path,
        headers={name: value for name, value in http.headers.items() if name not in CREDENTIALS},
        credentials=tuple(sorted(CREDENTIALS & set(http.headers.keys()))),
        body=document(await http.body()),
    )


def new_id(prefix: str) -> str:
    """An identity such as the real APIs give: no two are the same, on whatever server."""
    return f"{prefix}_{uuid4().hex[:24]}"


def chunks(said: str, size: int = 40) -> list[str]:
    """A text in the pieces in which it is streamed; an empty text is one empty piece."""
    return [said[start : start + size] for start in range(0, len(said), size)] or [""]
