"""Lines of a growing log and their places, wherever reading begins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.plumbing.processes.lines import LineReader, start_of_line


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log"


def read(reader, *, whole=False):
    lines = []
    while (line := reader.next(whole=whole)) is not None:
        lines.append((line.text, line.start, line.end))
    return lines


def test_a_line_is_given_once_it_is_whole(path):
    reader = LineReader(path)
    assert read(reader) == []
    path.write_bytes(b"one\ntw")
    assert read(reader) == [("one", 0, 4)]
    path.write_bytes(b"one\ntwo\r\nthree")
    assert read(reader) == [("two", 4, 9)]
    assert read(reader, whole=True) == [("three", 9, 14)]
    assert read(reader, whole=True) == []


@given(
    data=st.lists(st.sampled_from([b"a", b"\n", b"\xc3", b"\xa9", b"bcd"])).map(b"".join),
    cuts=st.lists(st.integers(0, 60)),
)
def test_growth_in_any_pieces_gives_the_same_lines(data, cuts, tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log"
    reader, lines = LineReader(path), []
    for cut in sorted({cut for cut in cuts if cut <= len(data)}):
        path.write_bytes(data[:cut])
        lines += read(reader)
    path.write_bytes(data)
    lines += read(reader, whole=True)
    assert lines == read(LineReader(path), whole=True)
    assert [text for text, _, _ in lines] == [
        part.decode("utf-8", "replace") for part in data.removesuffix(b"\n").split(b"\n") if data
    ]


@given(data=st.lists(st.sampled_from([b"a", b"\n", b"bcd"])).map(b"".join), position=st.integers(0, 80))
def test_reading_begins_with_the_line_that_holds_the_position(data, position, tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log"
    path.write_bytes(data)
    everything = read(LineReader(path), whole=True)
    assert read(LineReader(path, position), whole=True) == [
        line
        for line in everything
        if line[2] > min(position, len(data))
        or (position >= len(data) and line[2] == len(data) and not data.endswith(b"\n"))
    ]


def test_a_line_that_is_too_long_has_no_text_but_its_place(path):
    path.write_bytes(b"one\n" + b"x" * 700_000 + b"\ntwo\n")
    lines = read(LineReader(path, longest=300_000))
    assert lines == [("one", 0, 4), (None, 4, 700_005), ("two", 700_005, 700_009)]
    assert read(LineReader(path, 650_000, longest=300_000)) == [
        (None, 650_000, 700_005),
        ("two", 700_005, 700_009),
    ]


def test_the_start_of_a_line_is_found_over_many_pieces(path):
    path.write_bytes(b"one\n" + b"x" * 200_000)
    assert start_of_line(path, 200_000) == 4
    assert start_of_line(path, 200_000, longest=1000) is None
    assert start_of_line(path, 10**9) == 4
    assert start_of_line(path.with_name("nothing"), 7) == 0
