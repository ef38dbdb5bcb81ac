"""`python -m orchestrator.cli` is `orch`."""

from orchestrator.cli.main import run

run()
