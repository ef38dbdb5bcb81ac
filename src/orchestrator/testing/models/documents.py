"""Reading a JSON document that may have any shape: what is not as expected is empty, nothing is raised."""

import json
from collections.abc import Iterator, Mapping


def document(raw: bytes) -> dict[str, object]:
    """The JSON object that ``raw`` is; an empty one when it is none."""
    try:
        return mapping(json.loads(raw))
    except (ValueError, RecursionError):
        return {}


def mapping(value: object) -> dict[str, object]:
    """The value when it is an object, or an empty one."""
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> list[dict[str, object]]:
    """The objects of a list; whatever else stands in it is left out."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(holder: Mapping[str, object], name: str) -> str:
    """The field when it is a text, or an empty one."""
    value = holder.get(name)
    return value if isinstance(value, str) else ""


def texts(content: object) -> Iterator[str]:
    """Every text of a message's content, which is a text itself or a list of parts with a field ``text``."""
    if isinstance(content, str):
        yield content
    for part in mappings(content):
        if isinstance(part.get("text"), str):
            yield text(part, "text")
