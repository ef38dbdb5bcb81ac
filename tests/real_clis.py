"""The real agent CLIs, for the tests that drive them against a fake model server."""

import os
import shutil
from pathlib import Path

import pytest

REQUIRED = "ORCH_REQUIRE_AGENT_CLIS"
"""Set to 1, a CLI that is missing is a failure; otherwise its tests are skipped."""


def claude() -> Path:
    """The program ``claude``: of ORCH_TEST_CLAUDE, else of the PATH; without one the test is skipped."""
    return _program("claude", "ORCH_TEST_CLAUDE")


def codex() -> Path:
    """The program ``codex``: of ORCH_TEST_CODEX, else of the PATH; without one the test is skipped."""
    return _program("codex", "ORCH_TEST_CODEX")


def _program(name: str, variable: str) -> Path:
    named = os.environ.get(variable)
    found = shutil.which(named or name)
    if found is not None and Path(found).is_absolute():
        return Path(found)
    message = (
        f"{variable} names {named!r}, which is no absolute path of a program"
        if named
        else f"there is no {name} on the PATH; name one in {variable}"
    )
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(message)
    pytest.skip(message)
