"""What a fake model says: turns, the request that they answer, and the script that chooses between them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final, TypeAlias

CWD: Final = "{{cwd}}"
"""Stands in texts and tool inputs for the working directory that the CLI names in its request."""
LAST: Final = "{{last}}"
"""Stands in texts and tool inputs for the text of the last tool result."""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one answer or more; ``input`` are those that were neither read from a cache nor put there."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_creation: int = 0

    @property
    def total(self) -> int:
        """All tokens, in whatever way they were read or written."""
        return self.input + self.output + self.cache_read + self.cache_creation

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        return TokenUsage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_creation + other.cache_creation,
        )


NOTHING: Final = TokenUsage()
"""No token."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model calls; ``input`` is its arguments, or the plain text of a free-form tool."""

    name: str
    input: Mapping[str, object] | str = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HttpError:
    """An answer that is an HTTP error.

    An empty ``type`` or ``message`` is that which the real API has for ``status``. ``details`` are more
    fields of the error object. Only the first ``times`` requests that come to the turn get the error, on the
    whole server; ``None``: all of them. Only requests whose model matches the regular expression ``model``
    do, and only these are counted.
    """

    status: int
    type: str = ""
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, object] = field(default_factory=dict)
    times: int | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class StreamError:
    """An error that is told in the middle of a stream which began as a success."""

    type: str = "overloaded_error"
    message: str = "Overloaded"


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the model, or the way in which there is none.

    ``stop`` is the reason to stop; empty: that which fits the tools. ``delay`` passes before the first byte.
    With ``hang`` nothing is ever answered. ``stall``, ``cut`` and ``stream_error`` spoil a stream after its
    first piece of content: it stops and stays open, its connection is dropped, it ends with an error. A
    request without streaming gets the whole answer all the same. ``headers`` are added to those of a success.
    """

    text: str = ""
    thinking: str = ""
    tools: Sequence[ToolCall] = ()
    usage: TokenUsage = TokenUsage(input=100, output=10)
    stop: str = ""
    delay: timedelta = timedelta()
    hang: bool = False
    stall: bool = False
    cut: bool = False
    stream_error: StreamError | None = None
    error: HttpError | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a CLI asks of its model, as far as a script may want to look at it.

    ``path`` is that of the URL, with whatever stands before the API in it, so that a test may tell its runs
    apart by their address. ``headers`` have names in lower case and no credentials. ``system`` is all that
    was said in the name of the system, ``task`` the text that opened the present task, ``texts`` every text
    of the conversation. ``cwd`` is the working directory; ``.`` when the CLI names none. ``turn`` counts the
    answers of the model since the task was opened: it depends on the request alone, so a repeated request
    gets the same turn, and a resumed session begins with turn 0 again. ``last`` is the last tool result.
    """

    path: str
    headers: Mapping[str, str]
    model: str
    stream: bool
    turn: int = 0
    system: str = ""
    task: str = ""
    texts: tuple[str, ...] = ()
    cwd: str = "."
    last: str = ""
    tools: tuple[str, ...] = ()

    @property
    def is_aside(self) -> bool:
        """Whether it is no step of a task: a title or a summary, which is asked for without tools."""
        return not self.tools


Script: TypeAlias = Callable[[ModelRequest], Sequence[Turn]]
"""The turns of the task that a request belongs to; the request's ``turn`` says which of them is due."""

DONE: Final = Turn(text="All done.")
"""What is answered after the last turn of a script."""
ASIDE: Final = Turn(text="ok", usage=TokenUsage(input=5, output=1))
"""What is answered to a request that is no step of a task."""


def fixed(turns: Iterable[Turn]) -> Script:
    """A script with the same turns for every task."""
    known = tuple(turns)
    return lambda _: known


def endless(turn: Turn) -> Script:
    """A script that answers the same for ever, as a model does that never comes to an end."""
    return lambda request: (turn,) * (request.turn + 1)


def choose(script: Script, request: ModelRequest, aside: Turn = ASIDE) -> Turn:
    """The turn that answers a request, as the script has it, placeholders and all.

    A request that is no step of a task gets ``aside``, unless the server would not answer the step either.
    """
    turns = script(request)
    turn = turns[request.turn] if request.turn < len(turns) else DONE
    return aside if request.is_aside and turn.error is None and not turn.hang else turn


def filled(turn: Turn, request: ModelRequest) -> Turn:
    """The turn with its placeholders replaced by what the request says."""
    words = {CWD: request.cwd, LAST: request.last.strip()}
    return replace(
        turn,
        text=_with(turn.text, words),
        thinking=_with(turn.thinking, words),
        tools=tuple(ToolCall(tool.name, _input(tool.input, words)) for tool in turn.tools),
    )


def _input(given: Mapping[str, object] | str, words: Mapping[str, str]) -> Mapping[str, object] | str:
    if isinstance(given, str):
        return _with(given, words)
    return {name: _value(value, words) for name, value in given.items()}


def _value(value: object, words: Mapping[str, str]) -> object:
    match value:
        case str():
            return _with(value, words)
        case list() | tuple():
            return [_value(one, words) for one in value]
        case Mapping():
            return {name: _value(one, words) for name, one in value.items()}
    return value


def _with(text: str, words: Mapping[str, str]) -> str:
    for placeholder, word in words.items():
        text = text.replace(placeholder, word)
    return text
