"""A command of a contract: an argv list, never a shell unless the person asked for one."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

from orchestrator.config.placeholders import check_placeholders, expand

_OPERATORS: Final = frozenset("|&;<>()`")
_HINT: Final = "write it as {run: '…', shell: true}, or quote the character"
_VARIABLE: Final = re.compile(r"\$(?=[A-Za-z0-9_({?#@*!$-])(?!\{[^{}]*\})")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True, slots=True)
class Command:
    """What is executed. With ``shell``, ``words`` is the one text for the shell."""

    words: tuple[str, ...]
    shell: bool = False

    @classmethod
    def read(cls, value: object) -> Self:
        """Read a command as a contract spells it: a string, a list of strings, or ``{run: …, shell: true}``.

        Raises:
            ValueError: it is none, or needs a shell without saying so.
        """
        match value:
            case cls():
                return value
            case str():
                return cls(_checked(_split(value)))
            case list() if all(isinstance(word, str) for word in value):
                return cls(_checked(tuple(value)))
            case list():
                raise ValueError("a command is a list of texts; put numbers and switches into quotes")
            case {"run": str(text), "shell": True, **others} if not others:
                return cls(_checked((text,)), True)
            case {"run": str() | list() as run, **others} if others in ({}, {"shell": False}):
                return cls.read(run)
        raise ValueError("a command is a text, a list of texts, or {run: …, shell: true}; write one of these")

    @property
    def argv(self) -> tuple[str, ...]:
        """What is handed to the operating system, with placeholders as they were written."""
        return ("/bin/sh", "-c", *self.words) if self.shell else self.words

    def argv_in(self, env: Mapping[str, str]) -> tuple[str, ...]:
        """``argv`` with every ``${NAME}`` filled in from ``env``; a shell does that by itself.

        Raises:
            BadInput: a name is not in ``env``.
        """
        return self.argv if self.shell else tuple(expand(word, env) for word in self.words)

    def __str__(self) -> str:
        return self.words[0] if self.shell else shlex.join(self.words)


def _checked(words: tuple[str, ...]) -> tuple[str, ...]:
    if not words or not words[0].strip():
        raise ValueError("the command is empty; write what is to be executed")
    return words


def _split(text: str) -> tuple[str, ...]:
    """Split as a shell would, refusing what only a shell would act on."""
    for character, quote in _outside_single_quotes(text):
        if character == "`" or (character in _OPERATORS and not quote):
            raise ValueError(f"{character!r} in {text!r} needs a shell; {_HINT}")
    active = "".join(character for character, _ in _outside_single_quotes(text))
    if _VARIABLE.search(active):
        raise ValueError(f"'$' in {text!r} needs a shell; {_HINT}")
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"{text!r} cannot be split: {str(error).lower()}; close it") from None
    if words and _ASSIGNMENT.match(words[0]):
        raise ValueError(f"{words[0]!r} sets a variable, which needs a shell; put env before it, or {_HINT}")
    for word in words:
        check_placeholders(word)
    return words


def _outside_single_quotes(text: str) -> Iterator[tuple[str, str]]:
    """The characters a shell would act on, each with the quote it stands in; quotes are left out."""
    quote = ""
    characters = iter(text)
    for character in characters:
        if character == "\\" and quote != "'":
            next(characters, "")
        elif character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote = character
        elif quote != "'":
            yield character, quote
