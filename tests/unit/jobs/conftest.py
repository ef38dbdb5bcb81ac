"""What the worker logs is at hand, not on the screen."""

import pytest
from structlog.testing import capture_logs


@pytest.fixture(autouse=True)
def logged():
    with capture_logs() as entries:
        yield entries
