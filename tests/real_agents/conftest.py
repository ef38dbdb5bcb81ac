"""Real agent CLIs against a fake model, each test in an installation and an empty HOME of its own."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from orchestrator.testing.models import model_server
from tests.real_agents.lodging import Lodging, Witness, furnished, puppet
from tests.real_clis import claude, codex
from tests.scenario.house import Zygote

Open = Callable[..., Lodging]


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """The process that all `orch` processes are forked from."""
    one = Zygote()
    yield one
    one.close()


@pytest.fixture
def lodge(tmp_path, zygote) -> Iterator[Open]:
    """Opens an installation with a served `orch`; what has to be so after every run is checked at its end."""
    with ExitStack() as stack:
        opened: list[Lodging] = []

        def open_(
            kind: str = "claude",
            wrong: Any = None,
            lead: Any = None,
            options: Sequence[str] = (),
            **settings: str,
        ) -> Lodging:
            command = claude() if kind == "claude" else codex()
            model = stack.enter_context(model_server(puppet(tmp_path, lead=lead, **(wrong or {}))))
            suffix = "" if kind == "claude" else "/v1"
            address = f"{model.base_url}{suffix}"
            house = furnished(tmp_path, zygote, command=command, kind=kind, base_url=address, options=options)
            house.settings.update(settings)
            witness = Witness(f"{house.home}{os.sep}")
            stack.enter_context(witness.watching())
            lodging = Lodging(house, model, witness, kind)
            opened.append(lodging)
            stack.callback(_end, lodging)
            house.serve()
            return lodging

        yield open_
        for lodging in opened:
            lodging.check()


def _end(lodging: Lodging) -> None:
    """Whatever a failed test left is killed."""
    for server in lodging.house.servers:
        if not server.ended():
            server.kill(signal.SIGKILL)
    for process in lodging.house.processes():
        os.kill(process.pid, signal.SIGKILL)
