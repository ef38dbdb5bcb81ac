"""Commands and environments are checked and chosen before anything is started."""

from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.plumbing.processes import CommandSpec, clean_environment

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("argv", "limit", "grace", "complaint"),
    [
        ((), SECOND, SECOND, "executable"),
        (("",), SECOND, SECOND, "executable"),
        (("echo", "a\0b"), SECOND, SECOND, "NUL"),
        (("echo",), timedelta(0), SECOND, "positive"),
        (("echo",), SECOND, -SECOND, "negative"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(argv, limit, grace, complaint):
    with pytest.raises(ValueError, match=complaint):
        CommandSpec(argv, Path("/"), {}, limit=limit, grace=grace)


def test_the_environment_is_not_shown(tmp_path):
    assert "s3cret" not in repr(
        CommandSpec(("echo",), tmp_path, {"TOKEN": "s3cret"}, limit=SECOND, grace=SECOND)
    )


@pytest.fixture
def surroundings(monkeypatch):
    values = {
        "PATH": "/bin",
        "LC_TIME": "C",
        "AWS_SECRET": "x",
        "CI": "1",
        "ORCH_API_TOKENS": "t",
        "TZ": "UTC",
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)


def test_only_allowed_variables_are_inherited(surroundings):
    environment = clean_environment({"ORCH_ROLE": "tester", "TZ": "Asia/Tokyo"})
    wanted = {"PATH": "/bin", "LC_TIME": "C", "ORCH_ROLE": "tester", "TZ": "Asia/Tokyo"}
    assert environment.items() >= wanted.items()
    assert not environment.keys() & {"AWS_SECRET", "ORCH_API_TOKENS", "CI"}
