"""Usage lines are counted wherever they stand; what is no usage line counts nothing."""

import pytest

from orchestrator.agents.usage import LONGEST_LINE, count_usage, lines_of_log
from orchestrator.ports.agent import Usage


def test_lines_are_summed_among_others():
    lines = [
        "thinking",
        '{"usage": {"input": 100, "output": 20, "cost_usd": 0.5}}',
        '  {"type": "step", "usage": {"input": 1}}',
        '{"usage": {"output": 2, "cost_usd": 1}}',
    ]
    assert count_usage(lines) == Usage(101, 22, 1.5)


@pytest.mark.parametrize(
    "line",
    [
        "",
        '"usage"',
        '{"usage": 5}',
        '{"usage": {"input": "7"}}',
        '{"usage": {"input": -1}}',
        '{"usage": {"input": 1.5}}',
        '{"usage": {"input": true}}',
        '{"usage": {"input": 5, "cost_usd": NaN}}',
        '{"usage": {"input": 5, "cost_usd": Infinity}}',
        '{"usage": {"input": 5, "cost_usd": -0.1}}',
        '{"usage": {"input": 5, "cost_usd": false}}',
        '{"usage": {"input": 1' + "0" * 400 + "}}",
        '[{"usage": {"input": 5}}]',
        '{"usage": {"input": 5}',
        '{"usage": ' + "[" * 100_000,
    ],
)
def test_a_malformed_line_is_ignored(line):
    assert count_usage([line]) == Usage()


def test_a_log_is_read_without_its_endless_lines(tmp_path):
    log = tmp_path / "output.log"
    log.write_bytes(b"one\n" + b"x" * (3 * LONGEST_LINE) + b"tail\n\xff two\nlast")
    assert list(lines_of_log(log)) == ["one", "\ufffd two", "last"]


def test_a_log_that_does_not_exist_has_no_lines(tmp_path):
    assert list(lines_of_log(tmp_path / "output.log")) == []
