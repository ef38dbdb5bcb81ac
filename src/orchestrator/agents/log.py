"""The log of a run, read line by line while it grows."""

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TextIO

from orchestrator.plumbing.redaction import MASK, LineRedactor, is_secret_name, redact

LONGEST_LINE: Final = 4 * 1024 * 1024
"""Characters of a line that is still read; a CLI prints a whole file that was read in one of them."""

_CHUNK: Final = 256 * 1024


class GrowingLog:
    """Gives the whole lines that were added since the last look; what is not UTF-8 is replaced.

    A line that is too long is left out, with everything up to its end.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._too_long = False

    @property
    def position(self) -> int:
        """Bytes that were read so far."""
        return self._position

    def lines(self) -> Iterator[str]:
        """What is new, as whole lines without their ends; nothing while there is no log."""
        while piece := self._piece():
            self._position += len(piece)
            yield from self._split(self._decoder.decode(piece))

    def last_line(self) -> Iterator[str]:
        """The end of a log that will not grow any more, when it does not end with a line break."""
        rest, self._rest = self._rest + self._decoder.decode(b"", final=True), ""
        if rest and not self._too_long:
            yield rest

    def _piece(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                file.seek(self._position)
                return file.read(_CHUNK)
        except FileNotFoundError:
            return b""

    def _split(self, text: str) -> Iterator[str]:
        *whole, rest = (self._rest + text).split("\n")
        for number, line in enumerate(whole):
            cut = number == 0 and self._too_long
            if not cut and len(line) <= LONGEST_LINE:
                yield line.removesuffix("\r")
        self._too_long = (self._too_long and not whole) or len(rest) > LONGEST_LINE
        self._rest = "" if self._too_long else rest


def mask_log(path: Path) -> None:
    """Mask every secret in the log of a run that has ended; one that is gone is none. Blocking.

    A line of JSON stays JSON: its texts are masked one by one, so that it can still be read.
    """
    part = path.with_name(f"{path.name}.part")
    masked = LineRedactor()
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as log, _private(part) as file:
            for line in log:
                file.write(_masked_line(line, masked))
    except FileNotFoundError:
        return
    part.replace(path)


def _private(path: Path) -> TextIO:
    path.touch(mode=0o600)
    return path.open("w", encoding="utf-8", newline="")


def _masked_line(line: str, masked: LineRedactor) -> str:
    if not line.startswith("{"):
        return masked.redact(line)
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return masked.redact(line)
    clean = _masked(said)
    return line if clean == said else json.dumps(clean, ensure_ascii=False) + "\n"


def _masked(value: object) -> object:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_masked(part) for part in value]
    if isinstance(value, dict):
        return {
            name: MASK if isinstance(part, str) and part and is_secret_name(name) else _masked(part)
            for name, part in value.items()
        }
    return value
