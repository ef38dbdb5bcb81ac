import io
import json
import logging

import pytest
import structlog

from orchestrator.plumbing.logs import configure_logging
from orchestrator.plumbing.redaction import Redactor


@pytest.fixture
def stream():
    """A stream for the log; afterwards logging is as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield io.StringIO()
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def events(stream):
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_has_time_level_logger_and_context(stream):
    configure_logging("info", json=True, stream=stream)
    with structlog.contextvars.bound_contextvars(work_item="ORCH-7"):
        structlog.get_logger("engine").info("advanced to %s", "review", round=2)
    (event,) = events(stream)
    assert event.pop("timestamp").endswith("Z")
    assert event == {
        "event": "advanced to review",
        "level": "info",
        "logger": "engine",
        "round": 2,
        "work_item": "ORCH-7",
    }


def test_levels_below_the_wished_one_are_silent(stream):
    configure_logging("WARNING", json=True, stream=stream)
    structlog.get_logger("x").info("no")
    logging.getLogger("x").info("no")
    structlog.get_logger("x").warning("yes")
    assert [event["event"] for event in events(stream)] == ["yes"]


def test_libraries_log_through_the_same_handler(stream):
    configure_logging("info", json=True, stream=stream)
    logging.getLogger("library").warning("connecting to %s", "http://u:pw@host/")
    logging.getLogger("httpx").info("talk")
    (event,) = events(stream)
    assert (event["event"], event["logger"]) == ("connecting to http://***@host/", "library")


def test_secrets_are_masked_wherever_they_are(stream):
    configure_logging("info", json=True, stream=stream, redactor=Redactor(["hunter22"]))
    structlog.get_logger("x").info(
        "MY_TOKEN=abc",
        password=12345,
        token=None,
        command=["run", "--token=abc", {"api_key": "x", "n": 1.5, "ok": True}],
        where=ValueError("hunter22"),
    )
    (event,) = events(stream)
    assert event["event"] == "MY_TOKEN=***"
    assert event["password"] == "***"
    assert event["token"] is None
    assert event["command"] == ["run", "--token=***", {"api_key": "***", "n": 1.5, "ok": True}]
    assert event["where"] == "***"


def test_a_traceback_is_logged_without_secrets(stream):
    configure_logging("info", json=True, stream=stream, redactor=Redactor(["hunter22"]))
    try:
        int("hunter22")
    except ValueError:
        structlog.get_logger("x").exception("failed")
        logging.getLogger("y").exception("failed too")
    first, second = events(stream)
    for event in (first, second):
        assert "ValueError: invalid literal" in event["exception"]
    assert "hunter22" not in stream.getvalue()


def test_a_structure_that_contains_itself_is_cut(stream):
    configure_logging("info", json=True, stream=stream)
    loop: list = []
    loop.append(loop)
    structlog.get_logger("x").info("deep", loop=loop)
    assert events(stream)[0]["loop"]


def test_text_for_a_person_is_plain_and_masked(stream):
    configure_logging("debug", json=False, stream=stream)
    structlog.get_logger("x").debug("started", secret="abc", count=3)
    assert "started" in stream.getvalue()
    assert "count=3" in stream.getvalue()
    assert "abc" not in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_an_unknown_level_is_refused(stream):
    with pytest.raises(ValueError, match="'loud' is no log level"):
        configure_logging("loud", json=True, stream=stream)
