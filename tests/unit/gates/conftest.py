"""A bench of gates for each test."""

import pytest

from tests.unit.gates.fakes import make_bench


@pytest.fixture
def bench(tmp_path):
    return make_bench(tmp_path)
