"""Budgets as people write them down: limits by scope and measure, for an installation or a project."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, Field, TypeAdapter, ValidationError

from orchestrator.config.kinds import Seconds

Scope = Literal["run", "role", "item", "project", "day"]
"""What a limit applies to: a run, a role's runs for an item, an item, a project, a day of a project."""


class Limit(BaseModel, frozen=True, extra="forbid"):
    """How much may be spent; what is not given is not limited. Cost is in US dollars, time in seconds."""

    tokens: Annotated[int, Field(gt=0)] | None = None
    cost_usd: Annotated[float, Field(ge=0.0001, allow_inf_nan=False)] | None = None
    runs: Annotated[int, Field(gt=0)] | None = None
    wall_s: Seconds | None = None


def _run_is_one(budgets: Mapping[Scope, Limit]) -> Mapping[Scope, Limit]:
    if "run" in budgets and budgets["run"].runs is not None:
        raise ValueError("a run is one run: limit runs for role, item, project or day")
    return budgets


Budgets: TypeAlias = Annotated[Mapping[Scope, Limit], AfterValidator(_run_is_one)]
"""Limits by scope."""

Amounts: TypeAlias = Mapping[str, Mapping[str, float]]
"""The same as plain numbers: scope, measure, how much."""

_BUDGETS: Final[TypeAdapter[Mapping[Scope, Limit]]] = TypeAdapter(Budgets)


def amounts(budgets: Mapping[Scope, Limit]) -> Amounts:
    """The limits that are given, as plain numbers."""
    return {scope: limit.model_dump(exclude_none=True) for scope, limit in budgets.items()}


def parse_budgets(text: str) -> Amounts:
    """Read budgets from JSON such as ``{"item": {"cost_usd": 20}}``; an empty text has none.

    Raises:
        ValueError: it cannot be read; the message says what is allowed, and where it goes wrong.
    """
    if not text.strip():
        return {}
    try:
        return amounts(_BUDGETS.validate_json(text))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"] if part != "[key]")
        raise ValueError(
            f"must be limits (tokens, cost_usd, runs, wall_s) by scope (run, role, item, project, day); "
            f"at {place or 'the top'}: {first['msg'].removeprefix('Value error, ')}"
        ) from None
