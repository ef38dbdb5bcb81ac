"""Reads logs that may still be growing: the end of one, or all of it as it comes."""

import codecs
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

_CHUNK = 64 * 1024
_CONTINUATION = range(0x80, 0xC0)


def tail_text(path: Path, limit_bytes: int) -> str:
    """The last bytes of a log as text; what is not UTF-8 is replaced, a log that does not exist is empty.

    A character that the limit cuts in two is left out.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return ""
    with file:
        start = max(0, file.seek(0, 2) - limit_bytes)
        file.seek(start)
        content = file.read(limit_bytes)
    if start:
        cut = 0
        while cut < min(3, len(content)) and content[cut] in _CONTINUATION:
            cut += 1
        content = content[cut:]
    return content.decode("utf-8", "replace")


async def follow(
    path: Path, done: Callable[[], bool], pause: Callable[[], Awaitable[None]]
) -> AsyncIterator[str]:
    """Each new piece of a log until `done()`, then the rest of it; `pause` is awaited between two looks.

    Characters are never cut in two, and the log need not exist yet.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    position = 0
    while True:
        # Asked before reading, so that what was written until then is read.
        last_look = done()
        while content := _piece(path, position):
            position += len(content)
            if text := decoder.decode(content):
                yield text
        if last_look:
            break
        await pause()
    if rest := decoder.decode(b"", final=True):
        yield rest


def _piece(path: Path, position: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(position)
            return file.read(_CHUNK)
    except FileNotFoundError:
        return b""
