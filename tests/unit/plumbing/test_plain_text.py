import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.plumbing.plain_text import plain_text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("plain — wie geschrieben", "plain — wie geschrieben"),
        ("\x1b[1;31mred\x1b[0m and\x1b]8;;http://x.example\x1b\\ a link", "red and a link"),
        ("\x1b]0;a title\x07shown", "shown"),
        ("10 %\r50 %\r100 %\r\ndone\r", "100 %\ndone"),
        ("a\x00b\x9bc\ud800d", "abcd"),
        ("user\u202egpj.exe", "usergpj.exe"),
        ("a\tb\nc", "a\tb\nc"),
    ],
)
def test_what_a_terminal_would_obey_is_left_out(text, plain):
    assert plain_text(text) == plain


@given(st.text(st.characters(codec=None)))
def test_whatever_comes_is_harmless_and_can_be_written(text):
    plain = plain_text(text)
    plain.encode("utf-8")
    assert not any(ord(character) < 32 and character not in "\t\n" for character in plain)
