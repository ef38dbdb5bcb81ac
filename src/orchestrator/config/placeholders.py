"""`${NAME}` in addresses and commands of a contract, filled in when they are used."""

import re
from collections.abc import Mapping
from typing import Final

from orchestrator.errors import BadInput

_PLACEHOLDER: Final = re.compile(r"\$\{([^{}]*)(\}|\Z|(?=\{))")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def expand(text: str, env: Mapping[str, str]) -> str:
    """Replace every ``${NAME}`` in ``text`` with its value in ``env``; what is put in is not expanded again.

    Raises:
        BadInput: a name is not in ``env``, or a placeholder cannot be filled in.
    """

    def value_of(match: re.Match[str]) -> str:
        name = match[1]
        if name not in env:
            known = ", ".join(sorted(env)) or "none"
            raise BadInput(f"${{{name}}} in {text!r} has no value; known here: {known}")
        return env[name]

    try:
        check_placeholders(text)
    except ValueError as error:
        raise BadInput(str(error)) from None
    return _PLACEHOLDER.sub(value_of, text)


def check_placeholders(text: str) -> None:
    """Refuse a placeholder that can never be filled in.

    Raises:
        ValueError: it is not closed or its name is none.
    """
    for match in _PLACEHOLDER.finditer(text):
        if match[2] != "}":
            raise ValueError(f"${{ in {text!r} is not closed; write ${{NAME}}")
        if not _NAME.fullmatch(match[1]):
            raise ValueError(f"${{{match[1]}}} in {text!r} is no name; use letters, digits and underscores")
