"""Reading the JSON that a CLI prints, one document a line: whatever it holds, nothing here raises."""

import json
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from orchestrator.agents.usage import is_amount, is_count
from orchestrator.plumbing.redaction import redact

Document: TypeAlias = Mapping[str, object]

NOTHING: Final[Document] = {}
REASON: Final = 300
"""Characters of a reason that is stored."""


def document(line: str) -> Document | None:
    """The object that a line is; ``None`` when it is anything else."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def part(said: Document, *names: str) -> Document:
    """The object that is reached by these names, empty where there is none."""
    for name in names:
        value = said.get(name)
        if not isinstance(value, dict):
            return NOTHING
        said = value
    return said


def parts(said: Document, name: str) -> Sequence[Document]:
    """The objects in the list of this name."""
    value = said.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(said: Document, name: str) -> str:
    """The text of this name, fit to be stored: what is no Unicode is replaced; empty where there is none."""
    value = said.get(name)
    return storable(value) if isinstance(value, str) else ""


def texts(said: Document, name: str) -> Sequence[str]:
    """The texts in the list of this name."""
    value = said.get(name)
    return [storable(one) for one in value if isinstance(one, str)] if isinstance(value, list) else []


def count(said: Document, name: str) -> int:
    """The number of this name; 0 where there is none that makes sense."""
    value = said.get(name)
    return value if is_count(value) else 0


def amount(said: Document, name: str) -> float | None:
    """The amount of this name, in US dollars; ``None`` where there is none that makes sense."""
    value = said.get(name)
    return float(value) if is_amount(value) else None


def storable(said: str) -> str:
    """A text without halves of surrogate pairs, which JSON may spell and UTF-8 cannot."""
    return said.encode("utf-8", "replace").decode("utf-8")


def reason(said: str) -> str:
    """A text as a reason: masked, in one line, and short."""
    return " ".join(redact(said).split())[:REASON]
