"""`orch costs`: what agents consumed, and how much of each budget is used."""

from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.output import AsJson, Json, print_json, print_table, say
from orchestrator.cli.session import perform
from orchestrator.errors import BadInput

if TYPE_CHECKING:
    from orchestrator.bootstrap import App


class Key(StrEnum):
    """By what costs are added up."""

    ITEM = "item"
    ROLE = "role"
    MODEL = "model"
    DAY = "day"
    PROJECT = "project"


def costs(
    *,
    by: Annotated[Key, typer.Option("--by", help="What the costs are added up by.")] = Key.ITEM,
    project: Annotated[
        str | None, typer.Option("--project", "-p", metavar="NAME", help="Of this project only.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DATE", help="The first day, such as 2026-03-01.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Show what agents consumed, and how much of each budget is used.

    A day is one of the project's time zone, of all projects together one of the installation's.
    """
    from orchestrator.ports.store import CostKey

    first = _day(since)

    async def read(app: "App") -> Json:
        return await app.costs.spent(CostKey(by), project=project, since=first)

    answer = perform(read)
    if json:
        print_json(answer)
        return
    _print_costs(by, _rows(answer["rows"]), answer["total"])
    _print_budgets(_rows(answer["budgets"]))


def _day(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise BadInput(f"{text} is no day; give one such as 2026-03-01 with --since") from None


def _print_costs(by: Key, rows: list[Json], total: object) -> None:
    if not rows:
        say("no runs of agents yet")
        return
    print_table(
        (by.capitalize(), "Runs", "Input", "Output", "From cache", "To cache", "US dollars", "Seconds"),
        [_cells(row) for row in rows] + [_cells({**row, "key": "total"}) for row in _rows([total])],
    )


def _cells(row: Json) -> tuple[object, ...]:
    counts = ("runs", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    return (row["key"] or "(none)", *(row[name] for name in counts), f"{row['cost_usd']:.4f}", row["seconds"])


def _print_budgets(rows: list[Json]) -> None:
    if not rows:
        return
    say()
    print_table(
        ("Budget", "Project", "Of", "Counts", "Limit", "Spent", "Reserved", "Left"),
        [
            (
                *(row[name] for name in ("scope", "project", "of", "measure")),
                *(_amount(row[name]) for name in ("limit", "spent", "reserved", "left")),
            )
            for row in rows
        ],
    )


def _amount(value: object) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _rows(value: object) -> list[Json]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
