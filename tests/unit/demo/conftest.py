"""A bench for each test; no process may outlive it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.demo.workbench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench.made(tmp_path)
    yield made
    assert made.close() == []
