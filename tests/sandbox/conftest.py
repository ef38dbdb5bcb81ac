"""Runs that are locked in need bubblewrap; ORCH_REQUIRE_SANDBOX=1 makes its absence an error."""

import os

import pytest

from orchestrator.agents.sandbox import available
from tests.sandbox.runs import Locked


@pytest.fixture(scope="session")
def bubblewrap():
    """What is said of bubblewrap here."""
    return available()


@pytest.fixture
def locked(bubblewrap, tmp_path):
    """Runs commands locked in."""
    if not bubblewrap.ok:
        reason = f"no sandbox here: {bubblewrap.problem}; {bubblewrap.mend}"
        if os.environ.get("ORCH_REQUIRE_SANDBOX") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return Locked(tmp_path)
