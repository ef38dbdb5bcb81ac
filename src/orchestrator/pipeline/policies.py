"""Ladders and naming rules: which model and effort a run gets, and what its branch is called.

Nothing here logs: a ladder returns its value together with the warnings that the caller should show.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.stages import Role, Track

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Resolved(Generic[Value]):
    """The outcome of a ladder, and one line for each step that was dropped on the way."""

    value: Value
    warnings: tuple[str, ...] = ()


BUG_LABEL: Final = "bug"
VALID_EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
EFFORT_FLOOR: Final[Mapping[Role, str]] = {
    Role.ANALYST: "high",
    Role.ARCHITECT: "high",
    Role.DEVELOPER: "xhigh",
    Role.REVIEWER: "high",
    Role.TESTER: "medium",
    Role.DEPLOYER: "medium",
}
"""What a role gets when nobody said anything (ORCH-081)."""

_CLAUDE_MODEL: Final = re.compile(r"claude-[a-z0-9][a-z0-9.-]*(?:\[[a-z0-9]+\])?", re.ASCII)
_ANY_MODEL: Final = re.compile(r"[A-Za-z0-9][\w.:/@+\[\]-]*", re.ASCII)


def is_valid_model(name: str, cli: str = "claude") -> bool:
    """Whether ``name`` can be handed to that kind of CLI; the fallback model is held to the same rule."""
    return (_CLAUDE_MODEL if cli == "claude" else _ANY_MODEL).fullmatch(name) is not None


def resolve_model(
    *, project: str | None = None, setting: str | None = None, default: str | None = None, cli: str = "claude"
) -> Resolved[str | None]:
    """The model of one run: project, ``ORCH_AGENT_MODEL_<AGENT>``, default; ``None`` leaves it to the CLI."""
    steps = (("agent_models", project), ("agent_model", setting), ("agent_model_default", default))
    return _first_valid(steps, lambda name: is_valid_model(name, cli))


def resolve_effort(
    role: Role, *, project: str | None = None, setting: str | None = None, default: str | None = None
) -> Resolved[str | None]:
    """The effort of one run: project, ``ORCH_AGENT_EFFORT_<AGENT>``, default, and the role's floor last.

    The floor stands in only when every level is empty: a typo is dropped, never hidden by the floor, and a
    ladder of typos starts the run without the flag (ORCH-081).
    """
    steps = (("agent_efforts", project), ("agent_effort", setting), ("agent_effort_default", default))
    if not any(raw and raw.strip() for _, raw in steps):
        return Resolved(EFFORT_FLOOR[role])
    return _first_valid(steps, VALID_EFFORTS.__contains__, str.lower)


def _first_valid(
    steps: tuple[tuple[str, str | None], ...],
    valid: Callable[[str], bool],
    spelled: Callable[[str], str] = str,
) -> Resolved[str | None]:
    warnings: list[str] = []
    for name, raw in steps:
        value = spelled((raw or "").strip())
        if value and valid(value):
            return Resolved(value, tuple(warnings))
        if value:
            warnings.append(f"{name}: {value!r:.60} is not known; ignored")
    return Resolved(None, tuple(warnings))


LONGEST_TITLE: Final = 80
"""Characters of a title that QG-0 lets in (inventory §3.5)."""

SLUG_LENGTH: Final = 30
"""Characters of the title's part of a branch name (inventory §1.3)."""

_LETTERS: Final = str.maketrans(
    {
        "а": "a", "б": "b", "в": "v", "г": "g", "д": "d", "е": "e", "ё": "e", "ж": "zh", "з": "z", "и": "i",
        "й": "y", "к": "k", "л": "l", "м": "m", "н": "n", "о": "o", "п": "p", "р": "r", "с": "s", "т": "t",
        "у": "u", "ф": "f", "х": "h", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "sch", "ъ": "", "ы": "y",
        "ь": "", "э": "e", "ю": "yu", "я": "ya", "і": "i", "ї": "yi", "є": "ye", "ґ": "g",
    }
)  # fmt: skip


def title_problem(title: str) -> str | None:
    """Why QG-0 refuses ``title``; ``None`` when it does not."""
    length = len(title.strip())
    if length == 0:
        return "the title is empty: write in one line what is wanted"
    if length > LONGEST_TITLE:
        return f"the title has {length} characters: shorten it to {LONGEST_TITLE} and move the rest below"
    return None


def branch_name(work_item: WorkItemId, title: str, attempt: int = 1) -> str:
    """``feature/<work item>-<slug>``, safe as a git ref for any title.

    ``attempt`` above 1 names the branch of a round after the merge of the one before: suffix ``-r<attempt>``.
    """
    ident = re.sub(r"[^A-Za-z0-9_-]+", "-", work_item).strip("-") or "item"
    suffix = f"-r{attempt}" if attempt > 1 else ""
    return f"feature/{ident}-{_slug(title)}{suffix}"


def _slug(title: str) -> str:
    latin = unicodedata.normalize("NFC", title.casefold()).translate(_LETTERS)
    plain = unicodedata.normalize("NFKD", latin).casefold()
    letters = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return re.sub(r"[^a-z0-9]+", "-", letters).strip("-")[:SLUG_LENGTH].strip("-") or "change"


def track_of(labels: Sequence[str]) -> Track:
    """The road that an item with these labels takes (ORCH-019)."""
    return Track.BUG if BUG_LABEL in {label.lower() for label in labels} else Track.FULL
