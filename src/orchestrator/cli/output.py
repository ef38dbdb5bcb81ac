"""What commands print: JSON for programs, lines and tables for people, remarks on standard error."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Final, TypeAlias

import typer

Json: TypeAlias = dict[str, object]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text.")]

COMMAND: Final = "orch"


def print_json(value: object) -> None:
    """Print one JSON value: on a single line for programs, indented on a terminal."""
    indent = 2 if sys.stdout.isatty() else None
    plain = (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8")
    typer.echo(json.dumps(value, ensure_ascii=plain, indent=indent))


def say(line: str = "") -> None:
    """Print a line for a person on standard output."""
    typer.echo(line)


def remark(line: str) -> None:
    """Print a line that is no part of the answer on standard error."""
    typer.echo(f"{COMMAND}: {line}", err=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str = "") -> None:
    """Print rows below their headings, as wide as the terminal allows; without rows say so."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    lines = [tuple(Text(shown(cell)) for cell in row) for row in rows]
    if not lines and empty:
        say(empty)
        return
    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for line in lines:
        table.add_row(*line)
    # What is piped into another program is not wrapped to a terminal that is not there.
    width = None if sys.stdout.isatty() else 200
    Console(width=width, file=sys.stdout).print(table)


def shown(value: object) -> str:
    """A cell as text: nothing for nothing, seconds without noise."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.1f}"
    return str(value)


def moment(value: object) -> str:
    """An instant of a JSON answer as people read it: to the second, in UTC."""
    text = str(value or "")
    return text[:19].replace("T", " ")
