"""What a fake model server was asked, and what it told its clients that they consumed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Protocol

from orchestrator.testing.models.scripts import ModelRequest, TokenUsage, Turn

CREDENTIALS = frozenset({"api-key", "authorization", "cookie", "proxy-authorization", "x-api-key"})
"""Names of the headers whose values are never kept."""

_MILLION = 1_000_000


class Rates(Protocol):
    """What a model costs, in US dollars for a million tokens."""

    @property
    def input(self) -> float:
        """Of tokens that were neither read from the cache nor written to it."""
        ...

    @property
    def output(self) -> float:
        """Of tokens that the model wrote."""
        ...

    @property
    def cache_read(self) -> float:
        """Of tokens that were read from the cache."""
        ...

    @property
    def cache_write(self) -> float:
        """Of tokens that were written to the cache."""
        ...


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as it came.

    ``credentials`` are the names of the headers that presented one; their values are not kept.
    ``turn`` is ``None`` for what asks no answer of a model, such as counting tokens.
    """

    method: str
    path: str
    model: str
    turn: int | None
    stream: bool
    headers: Mapping[str, str]
    credentials: tuple[str, ...]
    body: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Account:
    """All requests so far, and the usage that was sent to clients, for each model by its name."""

    requests: tuple[RecordedRequest, ...] = ()
    served: Mapping[str, TokenUsage] = field(default_factory=dict)

    @property
    def total(self) -> TokenUsage:
        """The usage that was sent, of all models together."""
        return reduce(add, self.served.values(), TokenUsage())

    def cost(self, prices: Mapping[str, Rates]) -> float:
        """What the usage that was sent costs, in US dollars.

        Raises:
            KeyError: ``prices`` does not have a model that was asked.
        """
        return sum(_cost(usage, prices[model]) for model, usage in self.served.items())


def _cost(usage: TokenUsage, rates: Rates) -> float:
    return (
        usage.input * rates.input
        + usage.output * rates.output
        + usage.cache_read * rates.cache_read
        + usage.cache_creation * rates.cache_write
    ) / _MILLION


class Ledger:
    """Takes down what happens on one server; belongs to its event loop.

    ``failure`` is the first error that a script or a request ran into.
    """

    def __init__(self) -> None:
        """Nothing has happened."""
        self.failure: Exception | None = None
        self._requests: list[RecordedRequest] = []
        self._served: dict[str, TokenUsage] = {}
        self._refusals: Counter[tuple[int, str]] = Counter()

    @property
    def account(self) -> Account:
        """What is written down by now; what comes later does not change it."""
        return Account(tuple(self._requests), dict(self._served))

    def record(self, request: RecordedRequest) -> None:
        """Write down a request."""
        self._requests.append(request)

    def add(self, model: str, usage: TokenUsage) -> None:
        """Write down usage that was sent to a client."""
        self._served[model] = self._served.get(model, TokenUsage()) + usage

    def refuses(self, request: ModelRequest, turn: Turn, *, matches: bool) -> bool:
        """Whether the request gets the error of its turn, which is thereby given once more.

        ``matches`` says whether the request's model is one that the error is meant for.
        """
        if turn.error is None or not matches:
            return False
        key = request.turn, repr(turn)
        self._refusals[key] += 1
        return turn.error.times is None or self._refusals[key] <= turn.error.times
