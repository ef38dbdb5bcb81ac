"""A small kind of log with every kind of event: lines of JSON between lines of plain text."""

import json
from collections.abc import Sequence

from orchestrator.ports.agent import LogEvent, LogKind


def told(line: str) -> Sequence[LogEvent]:
    """The transcript: ``[[kind, text, detail], …]`` gives these events, anything else is a text."""
    if not line.startswith("[["):
        return (LogEvent(LogKind.TEXT, line),) if line.strip() else ()
    return [LogEvent(LogKind(kind), text, detail) for kind, text, detail in json.loads(line)]


def line(*events: tuple[str, str, str]) -> str:
    """The line of the log that gives these events."""
    return json.dumps(events) + "\n"


DEVELOPING = (
    line(("note", "session 5e1c begins: claude-opus-4, effort high", ""))
    + line(("text", "I will look at how invoices are stored before I write the export.", ""))
    + line(("tool", "Read src/invoices.py", ""), ("cost", "18,400 tokens, $0.11", ""))
    + line(("command", "grep -rn 'def total' src", "src/invoices.py:48:    def total(self) -> Decimal:"))
    + line(
        (
            "edit",
            "src/export.py",
            "+def rows(invoices: Iterable[Invoice]) -> Iterator[list[str]]:\n"
            '+    """One row for each invoice, as the tax office reads it."""\n'
            "+    for invoice in invoices:\n"
            '+        yield [invoice.number, f"{invoice.total():.2f}", invoice.issued.isoformat()]\n'
            "-    raise NotImplementedError",
        )
    )
    + line(("command", "python -m pytest -q tests/test_export.py", ""))
    + line(("output", "1 failed, 3 passed in 0.42s", "E   AssertionError: '41.9' != '41.90'\n" * 12))
    + line(("error", "pytest ended with exit code 1", "tests/test_export.py:31: AssertionError"))
    + line(("text", "Amounts need two decimals. The total is a Decimal, so I quantize it.", ""))
    + line(
        (
            "edit",
            "src/invoices.py",
            "-        return sum(line.price for line in self.lines)\n"
            "+        return sum(line.price for line in self.lines).quantize(CENT)",
        )
    )
    + line(("cost", "61,200 tokens, $0.38", ""))
)
"""What a developer's agent did so far."""
