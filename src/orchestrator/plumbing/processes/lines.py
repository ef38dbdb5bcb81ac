"""Lines of a log with their places in it, read in pieces from any place on while the log grows."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

LONGEST_LINE: Final = 4 * 1024 * 1024
"""Bytes of a line that is still read; a longer one is skipped."""

_CHUNK: Final = 256 * 1024
_BACK: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class PlacedLine:
    """A line without its end, ``None`` when it was too long; ``end`` is the byte after its line break."""

    text: str | None
    start: int
    end: int


class LineReader:
    """Gives one line after the other, beginning with the one that holds byte ``position``.

    What is not UTF-8 is replaced. A reader that begins within a line of more than ``longest`` bytes skips the
    rest of it.
    """

    def __init__(self, path: Path, position: int = 0, *, longest: int = LONGEST_LINE) -> None:
        self._path = path
        self._longest = longest
        start = start_of_line(path, position, longest=longest)
        self._skipping = start is None
        self._start = position if start is None else start
        self._read = self._start
        self._held = b""
        self._at = 0
        self._searched = 0

    def next(self, *, whole: bool) -> PlacedLine | None:
        """The next line, or ``None`` while there is none; ``whole`` says that the log will not grow any more.

        Only then is a last line without line break given.
        """
        while (found := self._held.find(b"\n", self._searched)) < 0:
            self._keep_rest()
            piece = read_bytes(self._path, self._read, self._read + _CHUNK)
            if not piece:
                return self._line(len(self._held)) if whole and self._read > self._start else None
            self._held += piece
            self._read += len(piece)
        return self._line(found + 1)

    def _keep_rest(self) -> None:
        """Hold no more than the unfinished line, and of one that is too long nothing."""
        self._held, self._at = self._held[self._at :], 0
        if self._skipping or len(self._held) > self._longest:
            self._skipping, self._held = True, b""
        self._searched = len(self._held)

    def _line(self, until: int) -> PlacedLine:
        """The next line, of which what is held ends before ``until``."""
        end = self._read - len(self._held) + until
        text = None
        if not self._skipping and end - self._start <= self._longest:
            text = self._held[self._at : until].rstrip(b"\r\n").decode("utf-8", "replace")
        line = PlacedLine(text, self._start, end)
        self._start, self._skipping = end, False
        self._at = self._searched = until
        return line


def start_of_line(path: Path, position: int, *, longest: int = LONGEST_LINE) -> int | None:
    """Where the line begins that holds byte ``position``; ``None`` when that is more than ``longest`` away.

    A position behind the end of the log is that of its end.
    """
    position = min(position, path.stat().st_size if path.is_file() else 0)
    end = position
    while end > 0 and position - end <= longest:
        begin = max(end - _BACK, 0)
        found = read_bytes(path, begin, end).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0 if end == 0 else None


def read_bytes(path: Path, begin: int, end: int) -> bytes:
    """What the file holds from byte ``begin`` to before ``end``; nothing when there is no file."""
    try:
        with path.open("rb") as file:
            file.seek(begin)
            return file.read(max(end - begin, 0))
    except FileNotFoundError:
        return b""
