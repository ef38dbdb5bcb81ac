"""Masking the log of a run that has ended: what is kept holds no secrets."""

import json
from pathlib import Path
from typing import Final, TextIO

from orchestrator.plumbing.redaction import MASK, LineRedactor, is_secret_name, redact

_COMPACT: Final = (",", ":")
_PIECES: Final = frozenset({"text", "partial_json", "thinking", "signature"})


def mask_log(path: Path) -> None:
    """Mask every secret in the log; one that is gone is none. Blocking.

    A line of JSON stays JSON: its texts are masked one by one, so that it can still be read. A line keeps its
    length, filled up with spaces: whoever follows the log by its bytes goes on where he was.
    """
    part = path.with_name(f"{path.name}.part")
    masked = LineRedactor()
    try:
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as log, _private(part) as file:
            for line in log:
                file.write(_as_long_as(line, _masked_line(line, masked)))
    except FileNotFoundError:
        return
    part.replace(path)


def _private(path: Path) -> TextIO:
    path.touch(mode=0o600)
    return path.open("w", encoding="utf-8", errors="surrogateescape", newline="")


def _as_long_as(line: str, masked: str) -> str:
    if masked == line:
        return line
    text = masked.rstrip("\r\n")
    missing = _size(line) - _size(masked)
    return f"{text}{' ' * missing}{masked[len(text) :]}"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _masked_line(line: str, masked: LineRedactor) -> str:
    if not line.startswith("{"):
        return masked.redact(line)
    try:
        said = json.loads(line)
        clean = _masked(_without_pieces(said))
        if clean == said:
            return line
        return _spelled(clean) + line[len(line.rstrip("\r\n")) :]
    except (ValueError, RecursionError):
        return masked.redact(line)


def _spelled(said: object) -> str:
    """JSON that can be written: half of a surrogate pair is no character, and stays an escape."""
    text = json.dumps(said, ensure_ascii=False, separators=_COMPACT)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(said, separators=_COMPACT)
    return text


def _without_pieces(said: object) -> object:
    """A piece of an answer without its text: cut in two, a secret is not recognised, and it is told again."""
    if not isinstance(said, dict) or said.get("type") != "stream_event":
        return said
    event = said.get("event")
    delta = event.get("delta") if isinstance(event, dict) else None
    if not isinstance(event, dict) or not isinstance(delta, dict):
        return said
    told = {name: "" if name in _PIECES else part for name, part in delta.items()}
    return {**said, "event": {**event, "delta": told}}


def _masked(value: object) -> object:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_masked(part) for part in value]
    if isinstance(value, dict):
        return {
            redact(name): MASK if isinstance(part, str) and part and is_secret_name(name) else _masked(part)
            for name, part in value.items()
        }
    return value
