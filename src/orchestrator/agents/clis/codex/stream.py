"""Reads the events of a run of ``codex``."""

from dataclasses import replace

from orchestrator.agents.clis.lines import Document, count, document, part, reason, storable, text
from orchestrator.agents.prices import Price
from orchestrator.ports.agent import Session, Usage


def usage_of(figures: Document) -> Usage:
    """The tokens of an event: its input includes what was read from the cache and written to it."""
    read, written = count(figures, "cached_input_tokens"), count(figures, "cache_write_input_tokens")
    return Usage(
        input_tokens=max(0, count(figures, "input_tokens") - read - written),
        output_tokens=count(figures, "output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


class CodexReader:
    """Reads the lines of one run; what they cost is known where there is a ``price``."""

    def __init__(self, price: Price | None = None) -> None:
        self._price = price
        self._usage = Usage()
        self._turns = 0
        self._completed = False
        self._failure = ""
        self._stray = ""
        self._said = ""

    @property
    def usage(self) -> Usage:
        """What the run consumed; nothing before its end."""
        return self._usage

    @property
    def turns(self) -> int:
        """Messages of the model and commands that it gave, as far as they were read."""
        return self._turns

    @property
    def result_seen(self) -> bool:
        """Whether the CLI said that it is through, in one way or the other."""
        return self._completed or bool(self._failure)

    @property
    def completed(self) -> bool:
        """Whether the last word is that the work is done."""
        return self._completed

    @property
    def failure(self) -> str:
        """Why the CLI says that it failed; empty when it does not."""
        return self._failure

    @property
    def session(self) -> Session | None:
        """None: what a conversation consumes cannot be told apart when it goes on."""
        return None

    @property
    def last_words(self) -> str:
        """The failure, else the last line that is no event, else what the model said last."""
        return reason(self._failure or self._stray or self._said)

    def feed(self, line: str) -> None:
        """Read the next line."""
        event = document(line)
        if event is None or not text(event, "type"):
            self._stray = storable(line.strip()) or self._stray
            return
        match text(event, "type"):
            case "turn.completed":
                self._completed, self._failure = True, ""
                told = usage_of(part(event, "usage"))
                cost = self._price.cost(told) if self._price is not None else 0.0
                self._usage += replace(told, cost_usd=cost)
            case "turn.failed":
                self._completed = False
                self._failure = text(part(event, "error"), "message") or "the turn failed"
            case "item.completed":
                self._item(part(event, "item"))

    def _item(self, item: Document) -> None:
        if text(item, "type") in {"agent_message", "command_execution"}:
            self._turns += 1
        if text(item, "type") == "agent_message":
            self._said = text(item, "text") or self._said
