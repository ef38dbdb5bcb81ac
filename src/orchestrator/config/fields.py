"""What can be said about one setting from its declaration: its variable, what it allows, how it is shown."""

import re
from pathlib import Path
from types import NoneType
from typing import Final, Literal, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from orchestrator.config.kinds import Tolerant
from orchestrator.config.settings import ENV_PREFIX, Settings

MASK: Final = "********"
_PASSWORD: Final = re.compile(r"^([\w+]+://)[^/@]*@([^?]*).*", re.DOTALL)

Shown = str | int | float | bool | None


def env_name(name: str) -> str:
    """The environment variable of a setting."""
    return f"{ENV_PREFIX}{name.upper()}"


def is_secret(name: str) -> bool:
    """Whether the value of a setting is never shown."""
    return Settings.model_fields[name].annotation is SecretStr


def tolerance(name: str) -> Tolerant | None:
    """How a setting deals with a bad value; ``None``: it is refused."""
    return next((mark for mark in Settings.model_fields[name].metadata if isinstance(mark, Tolerant)), None)


def shown(name: str, value: object) -> Shown:
    """A value as a person may see it: secrets masked, paths as text, whole numbers without a fraction."""
    if is_secret(name):
        text = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
        return _masked(name, text)
    match value:
        case float() if value.is_integer():
            return int(value)
        case None | bool() | int() | float() | str():
            return value
    return str(value)


def _masked(name: str, text: str) -> str:
    if name != "database_url" or not text:
        return MASK if text else ""
    if text.startswith("sqlite:"):
        return text
    return _PASSWORD.sub(rf"\1{MASK}@\2", text) if _PASSWORD.match(text) else MASK


def allowed(name: str) -> str:
    """What a setting accepts, as the end of a sentence that begins with "must be"."""
    field = Settings.model_fields[name]
    annotation = field.annotation
    if get_origin(annotation) is Literal:
        return f"one of {', '.join(str(option) for option in get_args(annotation))}"
    if annotation is bool:
        return "true or false"
    if annotation is int:
        return f"a whole number {_range(field)}"
    if annotation is float:
        return f"a number {_range(field)}"
    if annotation is Path or get_args(annotation) == (Path, NoneType):
        return "a path"
    return "text that is not empty" if any(hasattr(mark, "min_length") for mark in field.metadata) else "text"


def _range(field: FieldInfo) -> str:
    bounds = (("gt", "above"), ("ge", "from"), ("le", "up to"))
    return " ".join(
        f"{word} {getattr(mark, bound)}"
        for bound, word in bounds
        for mark in field.metadata
        if hasattr(mark, bound)
    )
