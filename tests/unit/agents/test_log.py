"""A log that grows is read line by line, whatever stands in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.agents import log as module
from orchestrator.agents.log import GrowingLog


@pytest.fixture
def path(tmp_path):
    return tmp_path / "output.log"


def test_new_lines_are_given_once_and_the_unfinished_one_waits(path):
    log = GrowingLog(path)
    assert list(log.lines()) == []
    path.write_bytes(b"one\ntw")
    assert list(log.lines()) == ["one"]
    with path.open("ab") as file:
        file.write(b"o\r\nthree")
    assert list(log.lines()) == ["two"]
    assert list(log.last_line()) == ["three"]
    assert log.position == path.stat().st_size


def test_an_endless_line_is_left_out(path, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_LINE", 1000)
    path.write_bytes(b"one\n" + b"x" * 3000 + b"tail\n\xff two\nlast")
    log = GrowingLog(path)
    assert [*log.lines(), *log.last_line()] == ["one", "\ufffd two", "last"]


def test_an_endless_last_line_is_left_out_too(path, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_LINE", 1000)
    path.write_bytes(b"one\n" + b"x" * 3000)
    log = GrowingLog(path)
    assert [*log.lines(), *log.last_line()] == ["one"]


@given(text=st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"])).map(str.encode))
def test_characters_are_never_cut_in_two(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "output.log"
    log = GrowingLog(path)
    seen: list[str] = []
    for position in range(len(text) + 1):
        path.write_bytes(text[:position])
        seen += log.lines()
    seen += log.last_line()
    assert "".join(seen) == text.decode()
