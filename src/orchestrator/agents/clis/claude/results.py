"""The event ``result``, by which ``claude`` says how a run went and what it cost."""

from dataclasses import dataclass
from typing import Final, TypeAlias

from orchestrator.agents.clis.lines import Document, amount, count, part, parts, text, texts
from orchestrator.ports.agent import Usage

Version: TypeAlias = tuple[int, int, int]

SYNTHETIC: Final = "<synthetic>"
"""The model of an answer that the CLI wrote itself."""

LAST_PER_RUN: Final[Version] = (2, 1, 197)
"""Up to this version the cost of a run that goes on with a conversation is its own."""
FIRST_CUMULATIVE: Final[Version] = (2, 1, 332)
"""From this version on it is that of the whole conversation; between the two it was not measured."""


@dataclass(frozen=True, slots=True)
class Denial:
    """A use of a tool that was refused."""

    tool: str
    given: Document


@dataclass(frozen=True, slots=True)
class Result:
    """A result; ``subtype`` alone says nothing: an error of the API is a ``success`` with ``is_error``.

    ``status`` is the HTTP status of the API, ``cause`` the CLI's own word for what went wrong, ``ended`` its
    word for why the run ended, ``stopped`` the model's for why it stopped.
    """

    subtype: str
    is_error: bool
    said: str
    status: int | None
    cause: str
    ended: str
    stopped: str
    total_usd: float
    denials: tuple[Denial, ...]
    event: Document

    @property
    def added(self) -> Usage | None:
        """What was consumed since the result before, by all models; ``None`` where the CLI does not say."""
        if "model_usage_since_last_result" not in self.event:
            return None
        return _by_model(part(self.event, "model_usage_since_last_result"))

    @property
    def whole(self) -> Usage:
        """What all models consumed, of the conversation or of the run, as it comes."""
        by_model = _by_model(part(self.event, "modelUsage"))
        return by_model if by_model.tokens else self.own

    @property
    def own(self) -> Usage:
        """What the conversation itself consumed in this run, without requests beside it; no cost."""
        usage = part(self.event, "usage")
        return tokens_of(usage)


def result_in(event: Document) -> Result:
    """The result that an event is; what is missing in it is empty, and no word on errors is an error."""
    status = count(event, "api_error_status")
    said = text(event, "result") or "; ".join(texts(event, "errors"))
    return Result(
        subtype=text(event, "subtype"),
        is_error=event.get("is_error") is not False,
        said=said,
        status=status or None,
        cause=text(event, "api_error"),
        ended=text(event, "terminal_reason"),
        stopped=text(event, "stop_reason"),
        total_usd=amount(event, "total_cost_usd") or 0.0,
        denials=tuple(
            Denial(text(one, "tool_name"), part(one, "tool_input"))
            for one in parts(event, "permission_denials")
        ),
        event=event,
    )


def tokens_of(usage: Document) -> Usage:
    """The tokens that the API reports of an answer."""
    return Usage(
        input_tokens=count(usage, "input_tokens"),
        output_tokens=count(usage, "output_tokens"),
        cache_read_tokens=count(usage, "cache_read_input_tokens"),
        cache_write_tokens=count(usage, "cache_creation_input_tokens"),
    )


def _by_model(models: Document) -> Usage:
    total = Usage()
    for name in models:
        used = part(models, name)
        total += Usage(
            input_tokens=count(used, "inputTokens"),
            output_tokens=count(used, "outputTokens"),
            cost_usd=amount(used, "costUSD") or 0.0,
            cache_read_tokens=count(used, "cacheReadInputTokens"),
            cache_write_tokens=count(used, "cacheCreationInputTokens"),
        )
    return total
