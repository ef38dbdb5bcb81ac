"""Reads the stream of a run of ``claude``: what it consumes, and what it says about itself."""

import re
from dataclasses import dataclass, replace

from orchestrator.agents.clis.claude.results import (
    FIRST_CUMULATIVE,
    LAST_PER_RUN,
    SYNTHETIC,
    Result,
    Version,
    result_in,
    tokens_of,
)
from orchestrator.agents.clis.lines import Document, count, document, part, parts, reason, storable, text
from orchestrator.agents.prices import price_of
from orchestrator.ports.agent import Session, Usage

_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Retry:
    """The API did not answer as it should, and is asked again; ``status`` 0: it did not answer at all."""

    status: int
    error: str


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one answer of a model consumed, as far as it was told."""

    model: str
    usage: Usage

    @property
    def priced(self) -> Usage:
        """The same with an estimate of its cost."""
        return replace(self.usage, cost_usd=price_of(self.model).cost(self.usage))


class ClaudeReader:
    """Reads the lines of one run; ``resumed`` is the conversation that it goes on with.

    While a run goes on its tokens are exact, and their cost is an estimate; a result settles both.
    """

    def __init__(self, resumed: Session | None = None) -> None:
        self._resumed = resumed
        self._former = resumed.cost_usd if resumed is not None else 0.0
        self._session = resumed.id if resumed is not None else ""
        self._begun = False
        self._version: Version | None = None
        self._settled = Usage()
        self._open: dict[str, _Answer] = {}
        # Asked for at every look, and added up only after something was counted.
        self._total: Usage | None = None
        self._seen: set[str] = set()
        self._streaming: dict[str, str] = {}
        self._result: Result | None = None
        self._retry: Retry | None = None
        self._limit_ends: object = None
        self._stray = ""
        self._said = ""

    @property
    def usage(self) -> Usage:
        """What the run consumed: settled by its results, with what came since then."""
        if self._total is None:
            self._total = sum((answer.priced for answer in self._open.values()), self._settled)
        return self._total

    @property
    def turns(self) -> int:
        """Answers of models, as far as they were read."""
        return len(self._seen)

    @property
    def result_seen(self) -> bool:
        """Whether the CLI said that it is through."""
        return self._result is not None

    @property
    def session(self) -> Session | None:
        """The conversation with what it cost so far; ``None`` before it began."""
        if not self._begun or not self._session:
            return None
        return Session(self._session, self._former + self.usage.cost_usd)

    @property
    def last_words(self) -> str:
        """What the last result says of its error, else what is no event, else what the model said last."""
        if self._result is not None and self._result.is_error and self._result.said:
            return reason(self._result.said)
        return reason(self._stray or self._said)

    @property
    def result(self) -> Result | None:
        """The last result."""
        return self._result

    @property
    def version(self) -> str:
        """The version that the CLI names at the beginning; empty before."""
        return ".".join(map(str, self._version)) if self._version is not None else ""

    @property
    def stray(self) -> str:
        """The last line that is no event, such as what the CLI complains of before it begins; as it came."""
        return self._stray

    @property
    def retry(self) -> Retry | None:
        """The last time that the API was asked again."""
        return self._retry

    @property
    def limit_ends(self) -> object:
        """The time at which a limit that refused us ends, in epoch seconds, as it was told."""
        return self._limit_ends

    def feed(self, line: str) -> None:
        """Read the next line."""
        event = document(line)
        if event is None or not text(event, "type"):
            self._stray = storable(line.strip()) or self._stray
            return
        match text(event, "type"):
            case "system":
                self._system(event)
            case "stream_event":
                self._streamed(event)
            case "assistant":
                self._answered(event)
            case "rate_limit_event":
                self._limited(part(event, "rate_limit_info"))
            case "result":
                self._over(event)

    def _system(self, event: Document) -> None:
        match text(event, "subtype"):
            case "init":
                self._begun = True
                self._session = text(event, "session_id") or self._session
                found = _VERSION.match(text(event, "claude_code_version"))
                if found is not None:
                    self._version = int(found[1]), int(found[2]), int(found[3])
            case "api_retry":
                self._retry = Retry(count(event, "error_status"), text(event, "error"))

    def _limited(self, info: Document) -> None:
        rejected = text(info, "status") == "rejected"
        self._limit_ends = info.get("resetsAt") if rejected else None

    def _streamed(self, event: Document) -> None:
        """A piece of an answer: its beginning tells what was read, its end what was written."""
        inner, whose = part(event, "event"), text(event, "parent_tool_use_id")
        match text(inner, "type"):
            case "message_start":
                message = part(inner, "message")
                self._streaming[whose] = text(message, "id")
                self._count(text(message, "id"), text(message, "model"), part(message, "usage"))
            case "message_delta":
                answer = text(event, "api_message_id") or self._streaming.get(whose, "")
                self._count(answer, "", part(inner, "usage"))

    def _answered(self, event: Document) -> None:
        """A block of an answer. The figures are those of its beginning, unless it was not streamed."""
        message = part(event, "message")
        for block in parts(message, "content"):
            self._said = text(block, "text").strip() or self._said
        if text(message, "model") != SYNTHETIC:
            self._count(text(message, "id"), text(message, "model"), part(message, "usage"))

    def _count(self, answer: str, model: str, figures: Document) -> None:
        """Count an answer once, however often it is told; one that a result has settled is not counted."""
        if not answer or (answer in self._seen and answer not in self._open):
            return
        self._seen.add(answer)
        self._total = None
        told, known = tokens_of(figures), self._open.get(answer, _Answer(model, Usage()))
        self._open[answer] = _Answer(known.model or model, _most(known.usage, told))

    def _over(self, event: Document) -> None:
        self._result = result_in(event)
        self._session = text(event, "session_id") or self._session
        added = self._result.added
        self._settled = self._settled + added if added is not None else self._settlement(self._result)
        self._open.clear()
        self._total = None
        self._streaming.clear()

    def _settlement(self, result: Result) -> Usage:
        """What the whole run consumed, where the CLI does not tell it apart from the conversation."""
        if self._resumed is None:
            return replace(result.whole, cost_usd=result.total_usd)
        tokens = result.own if result.own.tokens else self.usage
        return replace(tokens, cost_usd=self._own_cost(result.total_usd))

    def _own_cost(self, total: float) -> float:
        """The cost of this run, out of a total that may be that of the whole conversation.

        Of a version that was not measured, the figure counts that is nearer to the estimate.
        """
        own = total - self._former
        if own < 0 or (self._version is not None and self._version <= LAST_PER_RUN):
            return total
        if self._version is not None and self._version >= FIRST_CUMULATIVE:
            return own
        estimate = self.usage.cost_usd
        return own if abs(own - estimate) <= abs(total - estimate) else total


def _most(one: Usage, other: Usage) -> Usage:
    """The larger of each figure: what is told again is never less."""
    return Usage(
        input_tokens=max(one.input_tokens, other.input_tokens),
        output_tokens=max(one.output_tokens, other.output_tokens),
        cache_read_tokens=max(one.cache_read_tokens, other.cache_read_tokens),
        cache_write_tokens=max(one.cache_write_tokens, other.cache_write_tokens),
    )
