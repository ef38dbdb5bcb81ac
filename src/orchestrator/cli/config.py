"""`orch config`: every setting, its value, and where it came from."""

from dataclasses import asdict

from orchestrator.cli.output import AsJson, print_json, print_table
from orchestrator.cli.session import loaded


def show(*, json: AsJson = False) -> None:
    """Print every setting with its value, its origin and its default; secrets are masked."""
    from orchestrator.config.description import describe

    found = loaded()
    rows = describe(found)
    if json:
        print_json({"settings": [asdict(row) for row in rows], "warnings": list(found.warnings)})
        return
    print_table(
        ("Setting", "Value", "From", "Default"),
        [(row.env, row.value, row.origin, row.default) for row in rows],
    )
