"""A run's log as events: indexed, masked, and the same wherever reading begins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engine.run_log import EVENTS, KEY_SPAN, PIECE, RunLog, read_back
from orchestrator.ports.agent import LogEvent, LogKind

KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA\n" * 20 + "-----END RSA PRIVATE KEY-----\n"
TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ"


def words(line):
    """Each word of a line is an event; what stands behind a bar is its detail."""
    return [
        LogEvent(LogKind.TEXT, text, detail.replace("/", "\n"))
        for text, _, detail in (word.partition("|") for word in line.split(" ") if word)
    ]


def whole_line(line):
    return (LogEvent(LogKind.TEXT, line),)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "output.log"


def read(log, *, whole=True):
    events = []
    while True:
        events += log.read(whole=whole)
        if log.at_end:
            return events


def texts(events):
    return [told.event.text for told in events]


def test_events_of_a_line_have_indexes_of_their_own(path):
    path.write_text("a b\n\nc|x/y\n")
    events = read(RunLog(path, words))
    assert [(told.index, told.event.text, told.event.detail) for told in events] == [
        (0, "a", ""),
        (1, "b", ""),
        (5, "c", "x\ny"),
    ]


@given(
    lines=st.lists(st.lists(st.sampled_from(["a", "bc", "d|e", ""]), max_size=4).map(" ".join)),
    at=st.integers(0, 30),
)
def test_reading_goes_on_after_any_event(lines, at, tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "output.log"
    path.write_text("\n".join(lines))
    events = read(RunLog(path, words))
    known = events[:at]
    if known:
        assert read(RunLog(path, words, after=known[-1].index)) == events[len(known) :]
    assert [told.index for told in events] == sorted({told.index for told in events})


def test_a_long_log_comes_in_pieces_and_each_goes_on_where_the_last_ended(path):
    path.write_text("".join(f"line-{number}\n" for number in range(20_000)))
    after, seen = -1, []
    while True:
        log = RunLog(path, whole_line, after=after)
        events = log.read(whole=True)
        assert len(events) <= EVENTS
        seen += texts(events)
        if log.at_end:
            break
        assert log.next > after
        after = log.next
    assert seen == [f"line-{number}" for number in range(20_000)]


def test_a_secret_that_is_written_in_two_parts_is_never_shown(path):
    log, seen = RunLog(path, whole_line), []
    line = f"the token is {TOKEN} and nothing else\n"
    for end in range(1, len(line) + 1):
        path.write_text(line[:end])
        seen += texts(log.read(whole=False))
    assert seen == ["the token is *** and nothing else"]


@pytest.mark.parametrize("shift", [0, 1, 10, 33])
def test_a_secret_across_the_border_of_two_pieces_is_never_shown(path, shift):
    # Lines of 100 bytes, and one with the secret exactly where a piece of the file ends.
    before = "x" * 99 + "\n"
    filling = before * (PIECE // 100 - 2)
    filler = "y" * (PIECE - len(filling) - shift - 8)
    path.write_text(f"{filling}{filler}\ntoken: {TOKEN} end\n{before}")
    shown = "\n".join(texts(read(RunLog(path, whole_line))))
    assert "token: *** end" in shown
    assert "ghp_" not in shown


def test_a_key_stays_masked_wherever_reading_goes_on(path):
    path.write_text(f"before\n{KEY}after\n")
    for after in range(-1, len(f"before\n{KEY}"), 7):
        shown = texts(read(RunLog(path, whole_line, after=after)))
        assert "MIIE" not in "".join(shown)
        assert shown[-1] == "after"
        assert "MIIE" not in "".join(texts(read_back(path, whole_line, before=after + 1, whole=True).events))


def test_a_key_that_is_printed_in_two_events_is_masked_in_both(path):
    lines = KEY.splitlines()
    path.write_text("/".join(lines[:9]) + "\n" + "/".join(lines[9:]) + "/after\n")

    def printed(line):
        return [LogEvent(LogKind.OUTPUT, "cat key.pem", line.replace("/", "\n"))]

    first, second = read(RunLog(path, printed))
    assert "MIIE" not in first.event.detail + second.event.detail
    assert second.event.detail.endswith("***\nafter")


def test_the_beginning_of_a_key_without_end_does_not_hide_the_whole_log(path):
    path.write_text("grep '-----BEGIN PRIVATE KEY-----'\n" + "x" * 99 + "\n" + "shown\n" * KEY_SPAN)
    shown = texts(read(RunLog(path, whole_line)))
    assert shown[1] == "***"
    hidden = shown.count("***") * len("shown\n")
    assert KEY_SPAN - 200 < hidden < KEY_SPAN + 200
    later = texts(read(RunLog(path, whole_line, after=40_000)))
    assert later == shown[-len(later) :], "the same is told to whoever begins in the middle"


def test_colours_cannot_hide_a_secret(path):
    path.write_text(f"{TOKEN[:12]}\x1b[31m{TOKEN[12:]}\n")
    assert texts(read(RunLog(path, whole_line))) == ["***"]


def test_a_line_of_many_megabytes_is_a_note(path):
    path.write_bytes(b"one\n" + b"x" * (5 * 1024 * 1024) + b"\ntwo\n")
    events = read(RunLog(path, whole_line))
    assert texts(events) == ["one", "a line of more than 4 MB is not shown", "two"]
    assert texts(read(RunLog(path, whole_line, after=events[1].index))) == ["two"]
    assert texts(read(RunLog(path, whole_line, after=5 * 1024 * 1024))) == texts(events)[1:]


def test_an_unfinished_line_waits_until_the_run_has_ended(path):
    path.write_text("one\ntwo")
    log = RunLog(path, whole_line)
    assert texts(log.read(whole=False)) == ["one"]
    assert texts(log.read(whole=True)) == ["two"]


def test_looking_back_tells_the_same_events_from_the_end(path):
    path.write_text("".join(f"{'z' * 90}-{number}\n" for number in range(5000)))
    events = read(RunLog(path, whole_line))
    page = read_back(path, whole_line, whole=True)
    seen = list(page.events)
    assert page.next == events[-1].index + len(events[-1].event.text)
    while page.earlier is not None:
        page = read_back(path, whole_line, before=page.earlier, whole=True)
        seen = [*page.events, *seen]
    assert seen == events


def test_looking_back_goes_further_when_the_end_tells_nothing(path):
    path.write_text("told\n" + "#\n" * 300_000)

    def few(line):
        return whole_line(line) if line != "#" else ()

    assert texts(read_back(path, few, whole=True).events) == ["told"]


def test_a_log_that_is_not_there_is_empty(path):
    assert read(RunLog(path, whole_line)) == []
    assert read_back(path, whole_line, whole=False).events == []
