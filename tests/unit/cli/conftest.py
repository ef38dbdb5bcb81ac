"""The command line in this process, with a home of its own."""

import json
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from orchestrator.cli.main import outcome


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Orch = Callable[..., Ran]


@pytest.fixture
def orch(tmp_path, monkeypatch, capsys) -> Iterator[Orch]:
    """Runs `orch` with these words; nothing of the person's own settings is seen."""
    for name in [name for name in os.environ if name.startswith("ORCH_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("CLAUDE_BIN", raising=False)
    monkeypatch.setenv("ORCH_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level

    def run(*words: object) -> Ran:
        code = outcome([str(word) for word in words])
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    yield run
    root.handlers[:], root.level = handlers, level
