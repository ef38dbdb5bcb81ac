"""Usage lines are counted wherever they stand; what is no usage line counts nothing."""

import pytest

from orchestrator.agents.usage import usage_in
from orchestrator.ports.agent import Usage


def test_a_usage_line_may_leave_figures_out():
    assert usage_in('{"usage": {"input": 100, "output": 20, "cost_usd": 0.5}}') == Usage(100, 20, 0.5)
    assert usage_in('  {"type": "step", "usage": {"input": 1}}') == Usage(1, 0, 0.0)
    assert usage_in('{"usage": {"output": 2, "cost_usd": 1}}') == Usage(0, 2, 1.0)


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
    assert usage_in(line) is None
