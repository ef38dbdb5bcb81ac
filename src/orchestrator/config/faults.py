"""What is wrong with a contract, in one sentence at one place."""

import difflib
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from orchestrator.config.positions import Document, Path, Place

# What a value must be, and what to do about it, by the kind of pydantic's complaint.
_SENTENCES: Final = {
    "bool_type": ("must be true or false", "write one of them without quotes"),
    "finite_number": ("must be a number", "write digits"),
    "float_type": ("must be a number", "write it without quotes"),
    "greater_than": ("must be above {gt:g}", "raise it"),
    "greater_than_equal": ("must be at least {ge:g}", "raise it"),
    "int_type": ("must be a whole number", "write it without quotes or fraction"),
    "less_than_equal": ("must be at most {le:g}", "lower it"),
    "literal_error": ("must be {expected}", "use one of them"),
    "model_type": ("must be a mapping", "write its keys below it"),
    "string_type": ("must be text", "put it into quotes"),
    "tuple_type": ("must be a list", "begin each entry with a dash"),
}


def first_fault(error: ValidationError, document: Document, root: type[BaseModel]) -> tuple[Place, str]:
    """The fault that stands first in the text: its place, and ``<what is wrong>; <what to do>``."""
    faults = (_fault(details, document, root) for details in error.errors(include_url=False))
    return min(faults, key=lambda fault: fault[0])


def _fault(details: ErrorDetails, document: Document, root: type[BaseModel]) -> tuple[Place, str]:
    path: Path = details["loc"]
    match details["type"]:
        case "extra_forbidden":
            place = document.place_of(path, key=True)
            return place, f"unknown key {path[-1]!r}{_within(path[:-1])}; {_hint(path, root)}"
        case "missing":
            place = document.place_of(path[:-1], key=True)
            return place, f"{_dotted(path[:-1])} lacks the key {path[-1]!r}; add it"
        case "value_error":
            return document.place_of(path), f"{_dotted(path)}: {details['ctx']['error']}"
        case kind if kind in _SENTENCES:
            wrong, mend = _SENTENCES[kind]
            what = wrong.format_map(details.get("ctx", {}))
            return document.place_of(path), f"{_dotted(path)} {what}, not {_seen(details['input'])}; {mend}"
    return document.place_of(path), f"{_dotted(path)}: {details['msg'].lower()}; correct it"


def _seen(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case bool():
            return str(value).lower()
    return repr(value)


def _dotted(path: Path) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".") or "the contract"


def _within(path: Path) -> str:
    return f" in {_dotted(path)}" if path else ""


def _hint(path: Path, root: type[BaseModel]) -> str:
    known = tuple(_model_at(path[:-1], root).model_fields)
    near = difflib.get_close_matches(str(path[-1]), known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(known)}"


def _model_at(path: Path, root: type[BaseModel]) -> type[BaseModel]:
    model = root
    for part in path:
        if isinstance(part, str):
            model = _model_in(model.model_fields[part].annotation) or model
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The section inside ``Section | None`` or ``tuple[Section, ...]``."""
    options = (annotation, *get_args(annotation))
    return next((one for one in options if isinstance(one, type) and issubclass(one, BaseModel)), None)
