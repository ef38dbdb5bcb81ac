"""A log that is kept holds no secrets, is still read, and is as long as it was."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.agents.masking import mask_log

KEY = "-----BEGIN PRIVATE KEY-----\nabcdefghijklmnop\n-----END PRIVATE KEY-----\n"


def masked(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    mask_log(path)
    return path.read_bytes()


def test_lines_keep_their_places(tmp_path):
    said = {"type": "text", "text": "token=ghp_0123456789abcdefghij", "api_key": "hunter22", "n": [1, "é"]}
    first = json.dumps(said) + "\n"
    text = first + "PASSWORD=hunter22 and more\n" + KEY + "plain\nlast TOKEN=abcdefgh12345678"
    shown = masked(tmp_path / "output.log", text)
    assert len(shown) == len(text.encode())
    assert b"ghp_" not in shown
    assert b"hunter22" not in shown
    assert b"abcdefgh" not in shown
    assert json.loads(shown.splitlines()[0]) == said | {"text": "token=***", "api_key": "***"}
    assert shown.index(b"plain\n") == text.encode().index(b"plain\n")


def test_what_holds_no_secret_stays_as_it_is(tmp_path):
    text = b'{"type": "result", "total_cost_usd": 0.5, "usage": {"input_tokens": 7}}\r\nbare\xff\n{broken\n'
    assert masked(tmp_path / "output.log", text) == text


def test_a_log_that_is_gone_is_no_trouble(tmp_path):
    mask_log(tmp_path / "output.log")
    assert list(tmp_path.iterdir()) == []


@given(text=st.binary(max_size=300))
def test_nothing_is_too_odd(text, tmp_path_factory):
    shown = masked(tmp_path_factory.mktemp("log") / "output.log", text)
    assert shown.count(b"\n") == text.count(b"\n")


def test_pieces_of_answers_are_kept_without_their_text(tmp_path):
    delta = {"type": "text_delta", "text": "ghp_0123456789"}
    piece = {"type": "stream_event", "event": {"type": "content_block_delta", "delta": delta}}
    figures = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}}
    text = "".join(json.dumps(line) + "\n" for line in (piece, {"type": "stream_event", "event": figures}))
    first, second = masked(tmp_path / "output.log", text).decode().splitlines()
    assert json.loads(first)["event"]["delta"]["text"] == ""
    assert json.loads(second)["event"]["usage"] == {"output_tokens": 7}


@pytest.mark.parametrize(
    "line",
    [
        '{"text": "token=ghp_0123456789abcdefghij \\ud83d"}\n',
        '{"a": ' + "[" * 600 + '"token=ghp_0123456789abcdefghij"' + "]" * 600 + "}\n",
        '{"ghp_0123456789abcdefghij": "a name"}\n',
    ],
    ids=["half a character", "deep", "a name"],
)
def test_whatever_a_line_is_its_secret_is_masked(tmp_path, line):
    assert b"ghp_" not in masked(tmp_path / "output.log", line)
