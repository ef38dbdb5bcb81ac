"""Ladders and naming rules: which limit, model and effort a run gets, and what its branch is called.

Nothing here logs: a ladder returns its value together with the warnings that the caller should show.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Final, Generic, TypeVar

from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.stages import Role

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Resolved(Generic[Value]):
    """The outcome of a ladder, and one line for each step that was dropped on the way."""

    value: Value
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Budget:
    """Ceilings of one scope (run, role, item, project or day); ``None`` means no ceiling."""

    tokens: int | None = None
    usd: Decimal | None = None
    runs: int | None = None
    wall: timedelta | None = None


DEFAULT_TIMEOUT: Final = timedelta(seconds=1800)
ROLE_TIMEOUTS: Final[Mapping[Role, timedelta]] = {
    Role.DEVELOPER: timedelta(seconds=3600),
    Role.REVIEWER: timedelta(seconds=3000),
}
"""The dedicated budgets (ORCH-109); every other role gets the general one."""

LONGEST_TIMEOUT: Final = timedelta(days=1)
"""A limit above this is a slip of the pen: nothing would ever end such a run."""

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


def resolve_timeout(
    role: Role,
    overrides: str | Mapping[str, object] = "",
    dedicated: Mapping[str, object] | None = None,
    default: object = None,
) -> Resolved[timedelta]:
    """The wall-clock limit of one run: override of the role, its dedicated key, the general one (ORCH-109).

    ``overrides`` is the JSON of ``agent_timeout_overrides_json`` or what was parsed from it, ``dedicated``
    the role keys that are set, ``default`` is ``agent_timeout_seconds``; all figures are seconds. What is
    malformed or out of range is dropped with a warning.
    """
    table, warnings = _overrides(overrides)
    steps = [
        ("agent_timeout_overrides_json", table.get(role.value)),
        (f"agent_timeout_{role.value}_s", (dedicated or {}).get(role.value)),
    ]
    if role not in ROLE_TIMEOUTS:
        steps.append(("agent_timeout_seconds", default))
    for name, raw in steps:
        if raw is None or raw == "":
            continue
        limit = _seconds(raw)
        if limit is not None:
            return Resolved(limit, tuple(warnings))
        warnings.append(f"{name}: {raw!r:.60} is not a number of seconds from 1 to a day; ignored")
    return Resolved(ROLE_TIMEOUTS.get(role, DEFAULT_TIMEOUT), tuple(warnings))


def _overrides(raw: str | Mapping[str, object]) -> tuple[Mapping[str, object], list[str]]:
    if not isinstance(raw, str):
        return raw, []
    if not raw.strip():
        return {}, []
    try:
        parsed = json.loads(raw)
    except (ValueError, RecursionError):
        return {}, ["agent_timeout_overrides_json is not JSON; ignored"]
    if not isinstance(parsed, dict):
        return {}, ["agent_timeout_overrides_json is not an object of role and seconds; ignored"]
    return parsed, []


def _seconds(raw: object) -> timedelta | None:
    if isinstance(raw, str) and re.fullmatch(r"\s*\d{1,9}\s*", raw, re.ASCII):
        raw = int(raw)
    if isinstance(raw, bool) or not isinstance(raw, (int, float)):
        return None
    return timedelta(seconds=raw) if 1 <= raw <= LONGEST_TIMEOUT.total_seconds() else None


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
