"""A server on the loopback address that answers for the models of a provider."""

import asyncio
import contextlib
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping
from types import TracebackType
from typing import Final, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from orchestrator.plumbing.sockets import LOOPBACK
from orchestrator.testing.models.anthropic import MessagesApi
from orchestrator.testing.models.api import Service, arrived
from orchestrator.testing.models.ledger import Account, Ledger, Rates, RecordedRequest
from orchestrator.testing.models.openai import ResponsesApi
from orchestrator.testing.models.scripts import ASIDE, HttpError, Script, TokenUsage, Turn

_GRACE_S: Final = 2
"""How long a client that does not read its answer can keep the server from ending."""

_Result = TypeVar("_Result")


class ModelEndpoint(ABC):
    """A fake model server as a test sees it; what it says of the past can be read after its end as well."""

    @property
    @abstractmethod
    def base_url(self) -> str:
        """Its address, for ``ANTHROPIC_BASE_URL``; that of the Responses API has ``/v1`` after it.

        A path may be added to tell runs apart: a script sees it in the request's ``path``.
        """

    @property
    @abstractmethod
    def account(self) -> Account:
        """The requests that came, and the usage that was sent, at this moment."""

    @property
    def requests(self) -> tuple[RecordedRequest, ...]:
        """Every request that came, in order."""
        return self.account.requests

    @property
    def served(self) -> Mapping[str, TokenUsage]:
        """The exact sum of the usage that clients were told, for each model that was asked.

        An answer that broke off counts as far as it was sent.
        """
        return self.account.served

    @property
    def completed(self) -> Mapping[str, TokenUsage]:
        """The part of it that belongs to answers which went out whole: what every CLI counts itself."""
        return self.account.completed

    @property
    def total(self) -> TokenUsage:
        """``served`` of all models together."""
        return self.account.total

    def cost(self, prices: Mapping[str, Rates]) -> float:
        """What ``served`` costs, in US dollars; ``prices`` are for a million tokens.

        Raises:
            KeyError: ``prices`` does not have a model that was asked.
        """
        return self.account.cost(prices)


class ModelServer(ModelEndpoint):
    """Serves the Messages and the Responses API in the running event loop, while its block lasts.

    ``script`` says what the model answers, ``aside`` what it answers to a request that is no step of a task.
    The end of the block raises what a script raised, if the block itself raises nothing.
    """

    def __init__(self, script: Script, *, aside: Turn = ASIDE) -> None:
        self._ledger = Ledger()
        self._closing = asyncio.Event()
        self._service = Service(script, aside, self._ledger, self._closing)
        self._address = ""
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "ModelServer":
        listener = socket.create_server((LOOPBACK, 0))
        self._address = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
        self._server = _Server(_config(_app(self._service)))
        # The socket listens already: who comes before the server has started waits in its queue.
        self._serving = asyncio.create_task(self._serve(self._server, listener))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
        if error is None and self._ledger.failure is not None:
            raise self._ledger.failure

    async def close(self) -> None:
        """Stop to serve; requests that wait for an answer get none. Closed already is no change."""
        self._closing.set()
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            await self._serving

    @property
    def base_url(self) -> str:
        """Its address; empty before it serves."""
        return self._address

    @property
    def account(self) -> Account:
        """The requests that came, and the usage that was sent, at this moment."""
        return self._ledger.account

    @staticmethod
    async def _serve(server: uvicorn.Server, listener: socket.socket) -> None:
        with listener:
            await server.serve(sockets=[listener])


class ThreadedModelServer(ModelEndpoint):
    """The same for a test without an event loop: a server that runs in a thread of its own."""

    def __init__(self, script: Script, *, aside: Turn = ASIDE) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="model-server", daemon=True)
        self._server = ModelServer(script, aside=aside)

    def __enter__(self) -> "ThreadedModelServer":
        self._thread.start()
        self._call(self._server.__aenter__)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._call(lambda: self._server.__aexit__(kind, error, trace))
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    @property
    def base_url(self) -> str:
        """Its address; empty before it serves."""
        return self._server.base_url

    @property
    def account(self) -> Account:
        """The requests that came, and the usage that was sent, at this moment."""
        if not self._thread.is_alive():
            return self._server.account
        # Asked in the loop: a piece that a client has got is written down before the loop's next turn.
        return self._call(self._read)

    async def _read(self) -> Account:
        return self._server.account

    def _call(self, ask: Callable[[], Awaitable[_Result]]) -> _Result:
        async def answer() -> _Result:
            return await ask()

        return asyncio.run_coroutine_threadsafe(answer(), self._loop).result()


@contextlib.contextmanager
def model_server(script: Script, *, aside: Turn = ASIDE) -> Iterator[ThreadedModelServer]:
    """A fake model server for a synchronous test, until the block ends."""
    with ThreadedModelServer(script, aside=aside) as server:
        yield server


class _Server(uvicorn.Server):
    """Leaves the signals of the process to those to whom they belong."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def _config(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_GRACE_S,
    )


def _app(service: Service) -> Starlette:
    messages, responses = MessagesApi(service), ResponsesApi(service)

    async def other(http: Request) -> Response:
        """Answer a sign of life to HEAD, and that there is nothing here to all else."""
        arrival = await arrived(http)
        messages.record(arrival)
        return Response() if arrival.method == "HEAD" else messages.refuse(HttpError(404))

    async def failed(_: Request, error: Exception) -> Response:
        """Keep the first error, and refuse in a way that no CLI tries again."""
        service.ledger.failure = service.ledger.failure or error
        told = HttpError(400, message=f"the script of the model failed: {error!r}")
        return JSONResponse(messages.refusal(told), told.status)

    methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    return Starlette(
        routes=[*messages.routes(), *responses.routes(), Route("/{rest:path}", other, methods=methods)],
        exception_handlers={Exception: failed},
    )
