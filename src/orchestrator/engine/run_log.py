"""The log of an agent's run as a person reads it: masked events, each with its place in the log.

The index of an event is the byte at which its line begins, and one more for each further event of that line.
So indexes grow along the log, and reading can go on after any of them without reading what comes before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.plumbing.plain_text import plain_text
from orchestrator.plumbing.processes.lines import (
    LONGEST_LINE,
    LineReader,
    PlacedLine,
    read_bytes,
    start_of_line,
)
from orchestrator.plumbing.redaction import LineRedactor, Redactor
from orchestrator.ports.agent import LogEvent, LogKind, Transcript

START: Final = -1
"""The index after which the whole log comes."""

PIECE: Final = 256 * 1024
"""Bytes after which a reading ends, at the end of their line."""

EVENTS: Final = 200
"""Events after which a reading ends, at the end of their line."""

KEY_SPAN: Final = 64 * 1024
"""Bytes of a log over which a private key may stretch; a beginning without an end hides no more than that."""

_KEY_MARK: Final = b"PRIVATE KEY"
_ENOUGH: Final = 20
_SPANS: Final = (128 * 1024, 1024 * 1024, 8 * 1024 * 1024)
"""How far a look back reaches: further when what is near tells too little."""


@dataclass(frozen=True, slots=True)
class IndexedEvent:
    """An event and its place in the log."""

    index: int
    event: LogEvent


class RunLog:
    """Reads a log forwards, piece by piece, from the events after index ``after`` on; it may still grow.

    Nothing is read before the first `read`. Reading blocks: a coroutine does it in a thread.
    """

    def __init__(self, path: Path, transcript: Transcript, *, after: int = START) -> None:
        self._path = path
        self._transcript = transcript
        self._after = max(after, START)
        self._lines: LineReader | None = None
        self._mask = _Mask()
        self._at_end = False

    @property
    def next(self) -> int:
        """The index after which the next reading goes on."""
        return self._after

    @property
    def at_end(self) -> bool:
        """Whether the last reading came to the end of what is written."""
        return self._at_end

    def read(self, *, whole: bool) -> Sequence[IndexedEvent]:
        """The next events; none does not mean that there is no more, `at_end` says that.

        A last line without line break is held back, because a secret may be cut in it, unless ``whole`` says
        that the run has ended.
        """
        if self._lines is None:
            self._lines = LineReader(self._path, _place_to_begin(self._path, self._after + 1))
        events: list[IndexedEvent] = []
        taken, self._at_end = 0, False
        while taken < PIECE and len(events) < EVENTS:
            line = self._lines.next(whole=whole)
            if line is None:
                self._at_end = True
                break
            events += [told for told in self._told(line) if told.index > self._after]
            self._after = max(self._after, line.end - 1)
            taken += line.end - line.start
        return events

    def _told(self, line: PlacedLine) -> Iterator[IndexedEvent]:
        if line.text is None:
            longest = LONGEST_LINE // 1024 // 1024
            note = LogEvent(LogKind.NOTE, f"a line of more than {longest} MB is not shown")
            # Its last byte: a reader that begins within the line tells of it once as well.
            yield IndexedEvent(line.end - 1, note)
            return
        # A line has as many places as bytes.
        events = self._transcript(line.text)[: line.end - line.start]
        for number, event in enumerate(events):
            yield IndexedEvent(line.start + number, self._mask.masked(event, line.start))


def _place_to_begin(path: Path, position: int) -> int:
    """Where reading begins to tell what is at ``position``: earlier when a private key may reach as far."""
    reach = max(position - KEY_SPAN, 0)
    start = start_of_line(path, reach)
    before = read_bytes(path, reach if start is None else start, position)
    return reach if _KEY_MARK in before else position


class _Mask:
    """Masks one event after the other; a private key may stretch over several of them."""

    def __init__(self) -> None:
        self._lines = LineRedactor(Redactor())
        self._key_began: int | None = None

    def masked(self, event: LogEvent, place: int) -> LogEvent:
        """The event, whose line begins at ``place``, without its secrets and without control characters."""
        if self._key_began is not None and place - self._key_began > KEY_SPAN:
            self._lines, self._key_began = LineRedactor(Redactor()), None
        text = self._line(" ".join(plain_text(event.text).splitlines()), place)
        detail = plain_text(event.detail).rstrip()
        lines = [self._line(line, place) for line in detail.split("\n")] if detail else []
        return LogEvent(event.kind, text.rstrip(), "\n".join(lines))

    def _line(self, line: str, place: int) -> str:
        masked = self._lines.redact(line)
        if not self._lines.in_key:
            self._key_began = None
        elif self._key_began is None:
            self._key_began = place
        return masked


@dataclass(frozen=True, slots=True)
class LogPage:
    """Events that stand together; ``next`` is the index to go on after.

    ``earlier`` is the index before which there may be more, ``None`` at the beginning of the log.
    """

    events: Sequence[IndexedEvent] = ()
    next: int = START
    earlier: int | None = None


def read_back(path: Path, transcript: Transcript, *, before: int | None = None, whole: bool) -> LogPage:
    """The last events of the log, or the last ones that have an index smaller than ``before``."""
    size = path.stat().st_size if path.is_file() else 0
    end = size if before is None else min(max(before, 0), size)
    page = LogPage()
    for span in _SPANS:
        start = max(end - span, 0)
        page = _between(RunLog(path, transcript, after=start - 1), start, end, whole=whole)
        if start == 0 or len(page.events) >= _ENOUGH:
            break
    return page


def _between(log: RunLog, start: int, end: int, *, whole: bool) -> LogPage:
    events: list[IndexedEvent] = []
    while log.next < end - 1 and not log.at_end:
        events += [told for told in log.read(whole=whole) if told.index < end]
    shown = events[-EVENTS:]
    earlier = shown[0].index if shown and (start > 0 or len(events) > len(shown)) else None
    return LogPage(shown, log.next, earlier)
