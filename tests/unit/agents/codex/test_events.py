"""The events of codex are counted, judged and shown, and no line makes anything raise."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.agents.clis import Ended, EndedBy
from orchestrator.agents.clis.codex import CodexCli, CodexOptions, CodexReader
from orchestrator.agents.clis.codex.events import CodexTranscript
from orchestrator.agents.prices import Price
from orchestrator.ports.agent import AgentFailed, BudgetReached, Finished, LimitKind, LimitReached, Usage
from orchestrator.testing.clock import ManualClock
from tests.unit.agents.tasks import ENDED, agent_task, exited, fed, recorded

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "item", "usage", "error", "message", "text", "command", "changes"]),
            inner,
        )
    ),
    max_leaves=10,
)
KINDS = st.sampled_from(["item.started", "item.completed", "turn.completed", "turn.failed", "error", "else"])


def judged(home, name, record=None, ended=None, lines=None, price=None):
    cli = CodexCli(ManualClock(ENDED), home=home, options=CodexOptions(price=price))
    task = agent_task(home)
    reader = cli.reader(task)
    fed(reader, recorded("codex", name) if lines is None else lines)
    return cli.judge(task, exited(1) if record is None else record, reader, ended)


def test_tokens_from_the_cache_are_told_apart(tmp_path):
    outcome = judged(tmp_path, "edit", exited(0))
    assert isinstance(outcome, Finished)
    assert outcome.usage == Usage(3000, 600, 0.0, cache_read_tokens=900)


def test_a_price_makes_a_cost(tmp_path):
    outcome = judged(tmp_path, "edit", exited(0), price=Price(1, 10, 0.1, 1))
    assert isinstance(outcome, Finished)
    assert outcome.usage.cost_usd == pytest.approx((3000 + 6000 + 90) / 1_000_000)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("http_401", LimitKind.AUTH),
        ("http_403", LimitKind.AUTH),
        ("quota", LimitKind.AUTH),
        ("http_429", LimitKind.RATE),
        ("usage_limit", LimitKind.RATE),
        ("http_500", LimitKind.OVERLOAD),
        ("http_503", LimitKind.UNAVAILABLE),
        ("cut", LimitKind.UNAVAILABLE),
    ],
)
def test_a_limit_is_no_failure_and_says_why(tmp_path, name, kind):
    outcome = judged(tmp_path, name)
    assert isinstance(outcome, LimitReached)
    assert outcome.kind is kind
    assert (outcome.retry_at is not None) is (name == "usage_limit")


def test_a_fault_of_the_run_is_a_failure_with_the_text(tmp_path):
    outcome = judged(tmp_path, "http_400")
    assert isinstance(outcome, AgentFailed)
    assert "invalid value" in outcome.reason


def test_exit_code_and_event_have_to_agree(tmp_path):
    assert isinstance(judged(tmp_path, "edit", exited(1)), AgentFailed)
    silent = judged(tmp_path, "", exited(0), lines=recorded("codex", "edit")[:-1])
    assert isinstance(silent, AgentFailed)
    assert silent.reason.startswith("it ended without a result")


def test_a_run_that_we_ended_came_to_what_we_ended_it_for(tmp_path):
    stopped = exited(143, stopped=True)
    budget = judged(tmp_path, "edit", stopped, Ended(EndedBy.BUDGET, "it was enough"))
    assert isinstance(budget, BudgetReached)
    assert budget.usage.tokens == 4500
    assert isinstance(judged(tmp_path, "edit", stopped, Ended(EndedBy.STALL, "it stood still")), AgentFailed)
    assert isinstance(judged(tmp_path, "edit", stopped, Ended(EndedBy.RESULT, "it lingered")), Finished)


def test_a_person_reads_what_was_done():
    transcript = CodexTranscript()
    shown = [event for line in recorded("codex", "edit") for event in transcript(line)]
    assert [(event.kind.value, event.text) for event in shown][1:] == [
        ("text", "I write the file."),
        ("command", "/bin/bash -lc \"echo 'visits = 1' > count.py; cat count.py\""),
        ("output", "visits = 1"),
        ("command", "/bin/bash -lc false"),
        ("error", "the command failed"),
        ("text", "Visits are counted."),
        ("cost", "4500 tokens"),
    ]


@given(
    st.text()
    | st.tuples(KINDS, st.dictionaries(st.text(), VALUES), VALUES).map(
        lambda one: json.dumps({**one[1], "type": one[0], "item": one[2], "usage": one[2], "error": one[2]})
    )
)
def test_no_line_makes_the_reader_or_the_transcript_raise(line):
    reader, transcript = CodexReader(Price(1, 1, 1, 1)), CodexTranscript()
    for one in (line, *recorded("codex", "edit")):
        reader.feed(one)
        for event in transcript(one):
            (event.text + event.detail).encode()
    reader.last_words.encode()
