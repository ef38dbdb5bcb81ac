"""Logs of runs as people may see them: masked, whole lines, followed by offset."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.web.services import WebServices

CHUNK: Final = 256 * 1024
"""Bytes of a log that one answer carries at most."""

_LOOKBACK: Final = 16 * 1024
"""Bytes before a chunk that are masked together with it: a private key has many lines."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a log; ``next`` is the offset at which the following one begins."""

    text: str = ""
    next: int = 0


def read_log(services: WebServices, path: Path, offset: int, *, whole: bool) -> Chunk:
    """Masked lines of the log from byte ``offset`` on; a log that is not written yet is empty.

    A last line without end is held back, because a secret may be cut in it, unless ``whole`` says that the
    run has ended.
    """
    try:
        with path.open("rb") as log:
            start = max(offset - _LOOKBACK, 0)
            log.seek(start)
            before = log.read(offset - start)
            data = log.read(CHUNK)
    except FileNotFoundError:
        return Chunk(next=offset)
    if not whole:
        end = data.rfind(b"\n") + 1
        data = data[:end] if end or len(data) < CHUNK else data
    following = offset + len(data)
    # An offset within a line tells that line from its beginning: a secret may be cut in it.
    begin = before.rfind(b"\n") + 1
    if data and (begin or start == 0):
        before, data = before[:begin], before[begin:] + data
    return Chunk(_masked(services, before, data), following)


def _masked(services: WebServices, before: bytes, data: bytes) -> str:
    """``data`` without its secrets; what stands before it decides whether it lies within a key."""
    known = services.redact(_text(before))
    shown = services.redact(_text(before + data))
    return shown[len(known) :] if shown.startswith(known) else services.redact(_text(data))


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")
