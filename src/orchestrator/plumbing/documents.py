"""Numbered markdown artifacts with YAML frontmatter: read strictly, written in a fixed order.

Gates decide by what stands in a frontmatter, so nothing in it is guessed. Every scalar is the text that was
written: `no` stays `no`, a date stays a date's text. A block with anything ambiguous in it (a key given
twice, a tag, an anchor) yields no values at all, only the list of its problems. That is why the events of the
YAML parser are read here and not the objects that a loader would make of them: a loader drops exactly these
facts.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias

import yaml

Value: TypeAlias = str | list["Value"] | dict[str, "Value"]

# The largest document that is read. Artifacts are written by agents; a longer one is a mistake or an attack.
SIZE_LIMIT: Final = 256 * 1024
DEPTH_LIMIT: Final = 32
NO_FRONTMATTER: Final = "no frontmatter: the first line is not ---"

# libyaml is some twenty times faster than the Python parser; wheels of PyYAML carry it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OPENING = re.compile(r"\ufeff?---[ \t]*\r?(?:\n|\Z)")
_CLOSING = re.compile(r"^---[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}\Z")
# Outside of what YAML can carry as it is, or a line break that a reader would fold.
_ESCAPED = re.compile(
    r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[\\\"\u2028\u2029]"
)
_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was read; `meta` is empty whenever there are `problems`."""

    meta: Mapping[str, Value]
    body: str
    problems: tuple[str, ...] = ()


@dataclass(slots=True)
class _Open:
    """A mapping or list that is being read."""

    content: dict[str, Value] | list[Value]
    key: str | None = None


@dataclass(slots=True)
class _Reading:
    """The values of one YAML text as far as they are read."""

    first_line: int
    stack: list[_Open] = field(default_factory=list)
    root: Value | None = None

    def take(self, event: yaml.Event) -> None:
        """Takes in the next event.

        Raises: _Ambiguous for what has no single meaning.
        """
        self._refuse_indirection(event)
        match event:
            case yaml.ScalarEvent():
                self._put(event.value, event, scalar=True)
            case yaml.MappingStartEvent():
                self._begin({}, event)
            case yaml.SequenceStartEvent():
                self._begin([], event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self.stack.pop()
            case yaml.DocumentStartEvent() if self.root is not None:
                raise _Ambiguous("more than one document", self._line(event))

    def _refuse_indirection(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise _Ambiguous(f"an alias (*{event.anchor})", self._line(event))
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
            if event.anchor is not None:
                raise _Ambiguous(f"an anchor (&{event.anchor})", self._line(event))
            if event.tag is not None:
                raise _Ambiguous(f"a tag ({event.tag})", self._line(event))

    def _begin(self, content: dict[str, Value] | list[Value], event: yaml.Event) -> None:
        if len(self.stack) >= DEPTH_LIMIT:
            raise _Ambiguous(f"nested deeper than {DEPTH_LIMIT} levels", self._line(event))
        self._put(content, event, scalar=False)
        self.stack.append(_Open(content))

    def _put(self, value: Value, event: yaml.Event, *, scalar: bool) -> None:
        if not self.stack:
            self.root = value
            return
        owner = self.stack[-1]
        if isinstance(owner.content, list):
            owner.content.append(value)
        elif owner.key is not None:
            owner.content[owner.key] = value
            owner.key = None
        elif not scalar or not isinstance(value, str):
            raise _Ambiguous("a key that is a list or a mapping", self._line(event))
        elif value in owner.content:
            raise _Ambiguous(f"two values for one key ({value})", self._line(event))
        else:
            owner.key = value

    def _line(self, event: yaml.Event) -> int:
        return self.first_line + (event.start_mark.line if event.start_mark else 0)


class _Ambiguous(Exception):
    """What stands there has no single meaning."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(f"line {line}: {what}")


@dataclass(frozen=True, slots=True)
class _Parts:
    """A document cut at its fences."""

    block: str
    body: str


def parse_document(text: str) -> Document:
    """What a document says, for every text whatever: what cannot be read is in `problems`."""
    parts = _split(text)
    if isinstance(parts, str):
        return Document(MappingProxyType({}), text, (parts,))
    reading, problems = _read(parts.block, first_line=2)
    return Document(_meta(reading, problems), parts.body, problems)


def parse_yaml_mapping(text: str) -> Document:
    """What a YAML file says, with the same strictness and an empty body, for every text whatever."""
    problem = _unreadable(text)
    if problem:
        return Document(MappingProxyType({}), "", (problem,))
    reading, problems = _read(text.removeprefix("\ufeff"), first_line=1)
    return Document(_meta(reading, problems), "", problems)


def render_document(meta: Mapping[str, str | int], body: str) -> str:
    """The document with these values in this order; `parse_document` gives back the same values and body.

    A value is quoted only when it would not be read back as it is. Half of a surrogate pair becomes U+FFFD.

    Raises: ValueError for a name that is none, or when there are no values.
    """
    if not meta:
        raise ValueError("a frontmatter without values is none")
    lines = [_line(name, value) for name, value in meta.items()]
    return "".join(["---\n", *lines, "---\n", _SURROGATE.sub("\ufffd", body)])


def _unreadable(text: str) -> str:
    """Why a text is not looked at, or an empty string."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return "not Unicode text"
    return f"larger than {SIZE_LIMIT // 1024} KiB" if size > SIZE_LIMIT else ""


def _split(text: str) -> _Parts | str:
    problem = _unreadable(text)
    if problem:
        return problem
    opening = _OPENING.match(text)
    if opening is None:
        return NO_FRONTMATTER
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        return "the frontmatter is not closed by a line ---"
    block = text[opening.end() : closing.start()]
    return _Parts(block, text[closing.end() :])


def _read(block: str, *, first_line: int) -> tuple[_Reading, tuple[str, ...]]:
    reading = _Reading(first_line)
    try:
        for event in yaml.parse(block, Loader=_LOADER):
            reading.take(event)
    except _Ambiguous as problem:
        return reading, (str(problem),)
    except yaml.MarkedYAMLError as error:
        line = first_line + (error.problem_mark.line if error.problem_mark else 0)
        return reading, (f"line {line}: invalid YAML ({error.problem})",)
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # A character or number that the parser cannot represent is answered with what Python raises for it.
        return reading, (f"invalid YAML ({' '.join(str(error).split())})",)
    if reading.root is None or reading.root == {}:
        return reading, ("there are no values",)
    if not isinstance(reading.root, dict):
        return reading, ("not a mapping of names to values",)
    return reading, ()


def _meta(reading: _Reading, problems: tuple[str, ...]) -> Mapping[str, Value]:
    if problems or not isinstance(reading.root, dict):
        return MappingProxyType({})
    return MappingProxyType(reading.root)


def _line(name: str, value: str | int) -> str:
    if not _NAME.match(name):
        raise ValueError(f"{name!r} is no name of a frontmatter value")
    text = _SURROGATE.sub("\ufffd", str(value))
    plain = f"{name}: {text}\n"
    if "\n" not in text and _read(plain, first_line=1)[0].root == {name: text}:
        return plain
    return f'{name}: "{_ESCAPED.sub(_escape, text)}"\n'


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    named = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    code = ord(char)
    return named.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
