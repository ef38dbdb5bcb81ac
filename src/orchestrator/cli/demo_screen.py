"""What a person sees of a demonstration: a line for each thing that happens, and the table at the end."""

from collections.abc import Sequence
from typing import TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from orchestrator.demo.results import Result, Step

_GOOD = frozenset({"PASSED", "PASS", "APPROVED", "SUCCESS", "HEALTHY", "DELIVERED"})

EXCERPT_LINES = 12
"""So much of a finding is shown: its head says which, its end what went wrong; the item's page has it all."""


class Screen:
    """The witness that prints to a terminal or a file."""

    def __init__(self, stream: TextIO) -> None:
        """Print to ``stream``; colours only on a terminal."""
        width = None if stream.isatty() else 120
        self._console = Console(file=stream, width=width, highlight=False)

    def opened(self, dashboard: str, home: str) -> None:
        """The dashboard answers."""
        self._line(f"dashboard  {dashboard}", "bold")
        self._line(f"directory  {home}")

    def filed(self, item: str, title: str) -> None:
        """The work item is on the board."""
        self._line(f"{item}     {title}", "bold")
        self._line("")

    def entered(self, stage: str, seconds: float) -> None:
        """The item is in another stage."""
        self._line(f"{seconds:5.1f} s  {stage}", "bold cyan")

    def worked(self, step: Step) -> None:
        """A piece of work is finished."""
        took = f"{step.seconds:.1f} s" if step.seconds is not None else ""
        style = "green" if step.verdict in _GOOD else "yellow"
        self._line(f"         {step.producer}: {step.verdict.lower()} {took} {step.summary}".rstrip(), style)

    def sent_back(self, gate: str, findings: Sequence[str]) -> None:
        """A gate opened another round."""
        self._line(f"         sent back by {gate}:", "yellow")
        for finding in findings:
            for line in excerpt(finding):
                self._line(f"           {line}")

    def decided(self, what: str) -> None:
        """The demo took a decision that belongs to a person."""
        self._line(f"         {what}", "magenta")

    def held(self, reason: str, who: str) -> None:
        """The item cannot go on by itself."""
        self._line(f"         on hold: {reason}", "bold yellow")
        self._line(f"         who can unblock it: {who}", "yellow")

    def summed_up(self, result: Result) -> None:
        """The table at the end, and what it comes to."""
        table = Table("Stage", "Producer", "Verdict", box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("Seconds", justify="right")
        for step in result.steps:
            seconds = f"{step.seconds:.1f}" if step.seconds is not None else ""
            table.add_row(step.stage, step.producer, step.verdict, seconds)
        self._console.print()
        self._console.print(table)
        rounds = "1 round" if result.rounds == 1 else f"{result.rounds} rounds"
        self._line(f"{result.work_item} took {result.seconds} s and {rounds} back to development")
        if result.cost_usd:
            self._line(f"agents cost          ${result.cost_usd:.4f}")
        self._line(f"merged commit        {result.merged_commit or 'none'}")
        self._line(f"production runs      {result.production_revision or 'nothing'}")
        self._line(f"dashboard            {result.dashboard}")
        self._line(f"ended with: {result.problem}" if result.problem else "done", "bold")

    def said(self, line: str) -> None:
        """A remark."""
        self._line(line)

    def _line(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style=style), soft_wrap=True)


def excerpt(text: str) -> list[str]:
    """The lines of a finding, without its middle when it is long."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if len(lines) <= EXCERPT_LINES:
        return lines
    head, tail = lines[:2], lines[-(EXCERPT_LINES - 3) :]
    return [*head, f"… {len(lines) - len(head) - len(tail)} more lines …", *tail]
