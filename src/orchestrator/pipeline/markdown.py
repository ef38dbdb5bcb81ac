"""The little of Markdown that gates and tasks need: lines, headings outside code, sections, safe fences.

Everything here takes any text, never raises and takes time in proportion to its length.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_FENCE: Final = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})")
_TICKS: Final = re.compile(r"`{3,}")
_ASIDE: Final = re.compile(r"[(:/–—]| - ")
_DECORATION: Final = "*_`#:. \t"


@dataclass(frozen=True, slots=True)
class Fence:
    """The opening or closing line of a block of code: its character and length, and what follows them."""

    mark: str
    length: int
    rest: str

    @property
    def can_close(self) -> bool:
        """Whether the line may end a block: a closing fence carries nothing else."""
        return not self.rest

    @property
    def can_open(self) -> bool:
        """Whether the line may start a block: backticks after a backtick fence make it inline code."""
        return self.mark == "~" or "`" not in self.rest


@dataclass(frozen=True, slots=True)
class Line:
    """One line: ``level`` is 1 to 6 for a heading and 0 for anything else, ``code`` marks blocks of code."""

    text: str
    level: int = 0
    code: bool = False

    @property
    def title(self) -> str:
        """The text of a heading without its marks."""
        return self.text.strip().strip("#").strip()


def lines_of(body: str) -> tuple[Line, ...]:
    """The lines of ``body``, headings inside code not counted as headings.

    A block that is never closed is not taken for code: one forgotten line must not hide the rest of a report.
    """
    texts = body.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    fences = {number: fence for number, text in enumerate(texts) if (fence := _fence(text)) is not None}
    code = _code_lines(len(texts), fences)
    return tuple(
        Line(text, 0 if inside else _level(text), inside) for text, inside in zip(texts, code, strict=True)
    )


def _fence(text: str) -> Fence | None:
    match = _FENCE.match(text)
    if match is None:
        return None
    marks = match.group(1)
    return Fence(marks[0], len(marks), text[match.end() :].strip())


def _code_lines(count: int, fences: dict[int, Fence]) -> list[bool]:
    longest = _longest_closing_after(fences)
    inside = [False] * count
    opened: Fence | None = None
    for number in range(count):
        fence = fences.get(number)
        if opened is not None:
            inside[number] = True
            if fence is not None and _closes(fence, opened):
                opened = None
        elif fence is not None and fence.can_open and longest[number] >= fence.length:
            inside[number] = True
            opened = fence
    return inside


def _closes(fence: Fence, opened: Fence) -> bool:
    return fence.can_close and fence.mark == opened.mark and fence.length >= opened.length


def _longest_closing_after(fences: dict[int, Fence]) -> dict[int, int]:
    """For each fence line, the longest closing fence of its mark below it; one pass, so time stays linear."""
    longest: dict[int, int] = {}
    seen = {"`": 0, "~": 0}
    for number, fence in reversed(fences.items()):
        longest[number] = seen[fence.mark]
        if fence.can_close:
            seen[fence.mark] = max(seen[fence.mark], fence.length)
    return longest


def _level(text: str) -> int:
    match = _HEADING.match(text)
    return len(match.group(1)) if match else 0


def section(lines: tuple[Line, ...], names: frozenset[str]) -> tuple[Line, ...]:
    """The lines below the headings called one of ``names``, each up to the next heading that is no deeper.

    Headings of levels 1 to 3 count; ``names`` are compared without case, numbering and emphasis.
    """
    found: list[Line] = []
    level = 0
    for line in lines:
        if line.level and (level == 0 or line.level <= level):
            level = line.level if line.level <= 3 and plain_title(line) in names else 0
        elif level:
            found.append(line)
    return tuple(found)


def plain_title(line: Line) -> str:
    """The words of a heading, ready to compare: no number, no emphasis, nothing after a dash or colon."""
    words = line.title.casefold().lstrip("0123456789" + _DECORATION)
    return _ASIDE.split(words, maxsplit=1)[0].strip(_DECORATION)


def text_of(lines: tuple[Line, ...]) -> str:
    """The lines as they stood, without blank ones at the ends."""
    first, last = 0, len(lines)
    while first < last and not lines[first].text.strip():
        first += 1
    while last > first and not lines[last - 1].text.strip():
        last -= 1
    return "\n".join(line.text for line in lines[first:last]).rstrip()


def without_fences(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """The lines without those that only open or close a block of code."""
    return tuple(line for line, edge in _with_edges(lines) if not edge)


def _with_edges(lines: tuple[Line, ...]) -> Iterator[tuple[Line, bool]]:
    opened: Fence | None = None
    for line in lines:
        fence = _fence(line.text) if line.code else None
        if fence is None:
            yield line, False
        elif opened is None:
            opened = fence
            yield line, True
        else:
            closing = _closes(fence, opened)
            opened = None if closing else opened
            yield line, closing


def fenced(text: str) -> str:
    """``text`` as a block of code that nothing inside it can close."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"


def closes_its_fences(text: str) -> bool:
    """Whether what is written below ``text`` stays outside its blocks of code."""
    return not any(not line.code and _fence(line.text) is not None for line in lines_of(text))


def fits_in_list(text: str) -> bool:
    """Whether ``text`` can be an item of a list: it closes its fences and opens no section."""
    return closes_its_fences(text) and not any(line.level for line in lines_of(text))
