"""`orch gates`: which gates there are, and what one of them reads in a document."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from orchestrator.cli.output import AsJson, Json, print_json, print_table, say
from orchestrator.errors import BadInput

if TYPE_CHECKING:
    from orchestrator.pipeline.machine_keys import KeyAnswer

app = typer.Typer(help="The quality gates, and what they read.", no_args_is_help=True)

READ_BY: Final = {
    "check_reviewer_verdict": "12",
    "check_tests_passed": "13",
    "check_deploy_status": "14",
    "check_staging_status": "15",
    "check_security_gate": "09",
    "check_coverage_gate": "11",
}
"""The number of the document that a gate reads."""

EXIT_CODES: Final = {"passed": 0, "failed": 1, "inconclusive": 2}


@app.command(name="list")
def show(*, json: AsJson = False) -> None:
    """List every gate: the stage that it lets an item leave, and the document and key that it reads."""
    rows = _gates()
    if json:
        print_json(rows)
        return
    print_table(
        ("Gate", "Leaving", "Order", "Document", "Key"),
        [[row[key] for key in ("gate", "stage", "order", "artifact", "machine_key")] for row in rows],
    )


@app.command()
def parse(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The document, or - for standard input.")],
    *,
    gate: Annotated[str, typer.Option("--gate", metavar="NAME", help="A gate that reads a document.")],
    json: AsJson = False,
) -> None:
    """Say what a gate reads in a document; exit code 0 passed, 1 failed, 2 inconclusive."""
    from orchestrator.pipeline.gates import GateName
    from orchestrator.pipeline.machine_keys import MACHINE_KEYS
    from orchestrator.plumbing.documents import parse_document

    reader = next((read for name, read in MACHINE_KEYS.items() if name == gate), None)
    if reader is None:
        known = "reads no document" if gate in set(GateName) else "is no gate"
        raise BadInput(f"{gate} {known}; those that read one: {', '.join(sorted(MACHINE_KEYS))}")
    document = parse_document(_content(file).decode("utf-8", errors="replace"))
    answer, reason = _answer(reader(document.meta, document.problems))
    if json:
        print_json({"gate": gate, "answer": answer, "reason": reason})
    else:
        say(f"{answer}: {reason}")
    raise typer.Exit(EXIT_CODES[answer])


def _answer(key: "KeyAnswer") -> tuple[str, str]:
    from orchestrator.pipeline.machine_keys import KeyFailed, KeyPassed, KeyUnclear

    match key:
        case KeyPassed(value=value):
            return "passed", f"the document says {value}"
        case KeyFailed(value=value):
            return "failed", f"the document says {value}"
        case KeyUnclear(reason=reason):
            return "inconclusive", reason


def _content(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from error


def _gates() -> list[Json]:
    from orchestrator.pipeline.artifacts import artifact
    from orchestrator.pipeline.gates import EXIT_GATES, GateName
    from orchestrator.pipeline.stages import Stage

    placed = [
        (gate, stage, order) for stage in Stage for order, gate in enumerate(EXIT_GATES.get(stage, ()), 1)
    ]
    elsewhere = [(gate, None, None) for gate in GateName if gate not in {row[0] for row in placed}]
    rows: list[Json] = []
    for gate, stage, order in [*placed, *elsewhere]:
        document = artifact(READ_BY[gate]) if gate in READ_BY else None
        rows.append(
            {
                "gate": gate,
                "stage": stage,
                "order": order,
                "artifact": document.name if document is not None else None,
                "machine_key": document.machine_key if document is not None else None,
            }
        )
    return rows
