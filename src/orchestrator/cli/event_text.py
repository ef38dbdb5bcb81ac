"""Events of runs as a person reads them on a terminal, or as objects for programs."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from orchestrator.cli.output import print_json
from orchestrator.engine.run_log import IndexedEvent
from orchestrator.ports.agent import LogEvent, LogKind, RunView

if TYPE_CHECKING:
    from rich.text import Text

SIGNS: Final[Mapping[LogKind, tuple[str, str]]] = {
    LogKind.TEXT: ("•", ""),
    LogKind.TOOL: ("→", "cyan"),
    LogKind.EDIT: ("±", "bold blue"),
    LogKind.COMMAND: ("$", "bold magenta"),
    LogKind.OUTPUT: ("›", "dim"),
    LogKind.COST: ("Σ", "green"),
    LogKind.NOTE: ("i", "yellow"),
    LogKind.ERROR: ("✗", "bold red"),
}
"""The sign of each kind of event, and its style on a terminal that has colours."""

TEXT: Final = 240
DETAIL_LINES: Final = 8
DETAIL_WIDTH: Final = 160
"""What is shown of an event unless all is asked for: characters and lines."""


class Shown(Protocol):
    """A way to print what runs do."""

    def began(self, run: RunView) -> None:
        """A run whose events follow."""
        ...

    def happened(self, run: RunView, told: IndexedEvent) -> None:
        """The next event of the run."""
        ...

    def ended(self, run: RunView) -> None:
        """The run is over."""
        ...


class AsObjects:
    """One JSON object for each event; a run begins with the kind ``started`` and ends with ``ended``."""

    def began(self, run: RunView) -> None:
        """Print the beginning."""
        print_json({"run": run.id, "kind": "started", "text": beginning(run), "detail": ""})

    def happened(self, run: RunView, told: IndexedEvent) -> None:
        """Print the event, with its index in the log."""
        event = told.event
        print_json(
            {
                "run": run.id,
                "kind": event.kind,
                "text": event.text,
                "detail": event.detail,
                "index": told.index,
            }
        )

    def ended(self, run: RunView) -> None:
        """Print the end."""
        print_json({"run": run.id, "kind": "ended", "text": ending(run), "detail": ""})


class AsText:
    """One line for each event, its detail indented below it; in colours on a terminal only."""

    def __init__(self, *, full: bool) -> None:
        """Print to standard output; ``full`` shortens nothing."""
        from rich.console import Console

        self._full = full
        self._console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)

    def began(self, run: RunView) -> None:
        """Print the beginning."""
        self._rule(f"run {run.id}: {beginning(run)}")

    def happened(self, run: RunView, told: IndexedEvent) -> None:
        """Print the event."""
        for line in event_lines(told.event, full=self._full):
            self._console.print(line, soft_wrap=True)

    def ended(self, run: RunView) -> None:
        """Print the end."""
        self._rule(f"run {run.id} ended: {ending(run)}")

    def _rule(self, words: str) -> None:
        from rich.text import Text

        self._console.print(Text(f"── {words} ──", "bold"), soft_wrap=True)


def beginning(run: RunView) -> str:
    """Who works with what, in one line."""
    model = " ".join(part for part in (run.model, run.effort) if part)
    cli = " ".join(part for part in (run.cli or "script", run.cli_version) if part)
    return ", ".join(part for part in (f"{run.role} in {run.stage}", model, cli) if part)


def ending(run: RunView) -> str:
    """How it came out, and what it consumed, in one line."""
    parts = [run.outcome or "ended"]
    if run.exit_code:
        parts.append(f"exit code {run.exit_code}")
    parts += [f"{run.usage.tokens:,} tokens", f"${run.usage.cost_usd:.4f}"]
    if run.finished_at is not None:
        parts.append(f"{(run.finished_at - run.started_at).total_seconds():.1f} s")
    return ", ".join(parts)


def event_lines(event: LogEvent, *, full: bool) -> Sequence["Text"]:
    """The lines of an event; without ``full`` they are cut short, and say so."""
    from rich.text import Text

    sign, style = SIGNS[event.kind]
    words = event.text if full else _cut(event.text, TEXT)
    lines = [Text(f"{sign} {words}", style)]
    detail = event.detail.split("\n") if event.detail else []
    shown = detail if full else [_cut(line, DETAIL_WIDTH) for line in detail[:DETAIL_LINES]]
    lines += [Text(f"    {line}", _detail_style(event.kind, line)) for line in shown]
    if len(shown) < len(detail):
        lines.append(Text(f"    … {len(detail) - len(shown)} more lines", "dim"))
    return lines


def _cut(line: str, limit: int) -> str:
    return line if len(line) <= limit else f"{line[:limit]}…"


def _detail_style(kind: LogKind, line: str) -> str:
    """The lines of a change are told apart; everything else stands back."""
    if kind is LogKind.EDIT and line.startswith("+"):
        return "green"
    if kind is LogKind.EDIT and line.startswith("-"):
        return "red"
    return "dim"
