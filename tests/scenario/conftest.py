"""An installation for each test; whatever a test started is ended with it."""

import os
import signal
from collections.abc import Iterator

import pytest

from tests.scenario.house import House, Zygote, repository


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """The process that all `orch` processes are forked from."""
    one = Zygote()
    yield one
    one.close()


@pytest.fixture
def house(tmp_path, zygote) -> Iterator[House]:
    """An installation without a project; servers and runs that a test leaves are killed."""
    one = House(tmp_path / "house", zygote)
    yield one
    for server in one.servers:
        if not server.ended():
            server.kill(signal.SIGKILL)
    for process in one.processes():
        try:
            os.kill(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


@pytest.fixture
def shop(house) -> House:
    """An installation with the project `shop`, whose commands and agent write down each start."""
    repository(house.user, {".orchestrator.yml": house.contract(), "README.md": "# Shop\n"})
    added = house.orch(
        "project", "add", house.user, "--prefix", "SHOP", "--agent-cli", "script",
        "--agent-command", house.root / "agent.py",
    )  # fmt: skip
    assert added.code == 0, added
    return house
