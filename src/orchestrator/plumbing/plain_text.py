"""Text of a stranger as it may be shown: without what moves a terminal's cursor or turns a line around."""

import re
from typing import Final

_SEQUENCES: Final = re.compile(
    r"\x1b\[[0-?]*+[ -/]*+[@-~]?"  # colours and movements
    r"|\x1b[\]PX^_][^\x07\x1b]*+(?:\x07|\x1b\\)?"  # titles, links and other strings
    r"|\x1b[ -/]*+[0-~]?"
)
# Control characters but tab and line breaks, marks that turn the direction of writing, halves of characters.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# What a carriage return overwrites is not seen on a terminal either.
_OVERWRITTEN: Final = re.compile(r"(?m)^[^\n]*\r(?=[^\r\n])")


def plain_text(text: str) -> str:
    """The text without escape sequences and control characters; tabs and line breaks stay."""
    if text.isprintable():
        return text
    text = _CONTROL.sub("", _SEQUENCES.sub("", text))
    return _OVERWRITTEN.sub("", text).replace("\r", "")
