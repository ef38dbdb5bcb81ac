"""One engine for each test, and what it logs."""

import pytest
from structlog.testing import capture_logs

from tests.unit.engine.bench import engine_in


@pytest.fixture(autouse=True)
def logged():
    with capture_logs() as entries:
        yield entries


@pytest.fixture
async def engine(tmp_path):
    async with engine_in(tmp_path) as made:
        yield made
