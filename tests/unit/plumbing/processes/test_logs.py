"""Logs are read from their end, or followed as they grow."""

import asyncio

import pytest

from orchestrator.plumbing.processes import follow, tail_text


@pytest.mark.parametrize(
    ("content", "limit", "text"),
    [
        (b"", 10, ""),
        (b"abcdef", 10, "abcdef"),
        (b"abcdef", 3, "def"),
        ("aéz".encode(), 2, "z"),
        ("a€z".encode(), 3, "z"),
        ("a😀z".encode(), 2, "z"),
        (b"ok \xff bad", 20, "ok � bad"),
        (b"\x80\x80\x80\x80\x80abc", 7, "�abc"),
        (b"abc", 0, ""),
    ],
)
def test_the_end_of_a_log_has_whole_characters(tmp_path, content, limit, text):
    (tmp_path / "log").write_bytes(content)
    assert tail_text(tmp_path / "log", limit) == text


def test_a_log_that_does_not_exist_is_empty(tmp_path):
    assert tail_text(tmp_path / "log", 10) == ""


async def test_a_growing_log_is_followed_to_its_end(tmp_path):
    log = tmp_path / "log"
    ended = asyncio.Event()
    steps = iter([b"", "a€".encode()[:2], "€b".encode()[1:], b"c\xff", b"\xe2"])

    async def grow():
        part = next(steps, None)
        if part is None:
            ended.set()
        elif part:
            log.write_bytes((log.read_bytes() if log.exists() else b"") + part)

    assert [piece async for piece in follow(log, ended.is_set, grow)] == ["a", "€b", "c�", "�"]


async def test_a_large_log_comes_whole(tmp_path):
    log = tmp_path / "log"
    text = "0123456789€" * 20_000
    log.write_text(text)

    async def pause():
        raise AssertionError("it was complete")

    assert "".join([piece async for piece in follow(log, lambda: True, pause)]) == text
