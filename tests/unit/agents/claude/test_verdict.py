"""What a run of claude came to is said by exit code and result together."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from orchestrator.agents.clis import Ended, EndedBy
from orchestrator.agents.clis.claude import ClaudeCli
from orchestrator.agents.clis.script import ScriptReader
from orchestrator.pipeline.budgets import Bound, Ceiling
from orchestrator.pipeline.stages import Role
from orchestrator.ports.agent import (
    AgentFailed,
    BudgetReached,
    Finished,
    LimitKind,
    LimitReached,
    Session,
)
from orchestrator.testing.clock import ManualClock
from tests.unit.agents.tasks import ENDED, STARTED, agent_task, exited, fed, recorded

USED = 1550
"""Tokens of one answer in the recordings."""


@pytest.fixture
def task(tmp_path):
    return agent_task(tmp_path)


def judged(task, name, record=None, ended=None, lines=None):
    cli = ClaudeCli(ManualClock(ENDED), home=task.run_dir)
    reader = cli.reader(task)
    fed(reader, recorded("claude", name) if lines is None else lines)
    return cli.judge(task, exited(1) if record is None else record, reader, ended)


def changed(name, **fields):
    """The lines of a recording with other fields in its result."""
    *lines, last = recorded("claude", name)
    return [*lines, json.dumps({**json.loads(last), **fields})]


def test_success_is_exit_code_0_and_a_result_without_error(task):
    outcome = judged(task, "edit", exited(0))
    assert isinstance(outcome, Finished)
    assert (outcome.started, outcome.ended, outcome.usage.tokens) == (STARTED, ENDED, 5 * USED)


def test_the_fence_at_work_is_no_denial(task):
    outcome = judged(task, "edit", exited(0))
    assert isinstance(outcome, Finished)
    assert outcome.denied == ()


def test_a_tool_of_the_role_that_was_refused_is_told(task, tmp_path):
    inside = str(task.artifact_dir / "12-review.md")
    denials = [
        {"tool_name": "Bash", "tool_input": {"command": "make"}},
        {"tool_name": "Bash", "tool_input": {"command": "make all"}},
        {"tool_name": "Bash", "tool_input": {"command": "git push"}},
        {"tool_name": "Write", "tool_input": {"file_path": inside}},
        {"tool_name": "Read", "tool_input": {"file_path": "/etc/hosts"}},
        {"tool_name": "WebFetch", "tool_input": {}},
    ]
    lines = changed("edit", permission_denials=denials)
    outcome = judged(task, "", exited(0), lines=lines)
    assert isinstance(outcome, Finished)
    assert outcome.denied == ("Bash", "Write", "Read")
    outside = {"tool_name": "Edit", "tool_input": {"file_path": f"{inside}/../../../../a.py"}}
    lines = changed("edit", permission_denials=[*denials, outside])
    reviewed = judged(agent_task(tmp_path, Role.REVIEWER), "", exited(0), lines=lines)
    assert isinstance(reviewed, Finished)
    assert reviewed.denied == ("Write", "Read")


def test_exit_code_0_alone_is_no_success(task):
    interrupted = judged(task, "interrupted", exited(0))
    assert isinstance(interrupted, AgentFailed)
    assert "error_during_execution" in interrupted.reason
    silent = judged(task, "", exited(0), lines=recorded("claude", "edit")[:-1])
    assert isinstance(silent, AgentFailed)
    assert silent.reason.startswith("it ended without a result")
    assert silent.usage.tokens == 5 * USED


def test_a_result_alone_is_no_success(task):
    outcome = judged(task, "edit", exited(3))
    assert outcome == AgentFailed(outcome.usage, "exit code 3: Visits are counted.", 3)


def test_a_subtype_is_not_believed(task):
    lines = changed("edit", is_error=True, result="It went wrong")
    outcome = judged(task, "", exited(0), lines=lines)
    assert isinstance(outcome, AgentFailed)
    assert "It went wrong" in outcome.reason


@pytest.mark.parametrize("name", ["turns", "budget"])
def test_a_ceiling_of_the_cli_is_a_budget_and_no_failure(task, name):
    outcome = judged(task, name)
    assert isinstance(outcome, BudgetReached)
    assert outcome.usage.tokens == 2 * USED
    assert outcome.exit_code == 1
    assert "maximum" in outcome.reason


def test_a_budget_is_named_in_its_own_words(task):
    own = replace(task, ceiling=Ceiling(cost_usd=Bound(0.02, "the item budget of $5.00")))
    outcome = judged(own, "budget")
    assert isinstance(outcome, BudgetReached)
    assert outcome.reason == "the item budget of $5.00 is used up: $0.0209"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("http_429", LimitKind.RATE),
        ("usage_limit", LimitKind.RATE),
        ("overload", LimitKind.OVERLOAD),
        ("http_500", LimitKind.UNAVAILABLE),
        ("http_503", LimitKind.UNAVAILABLE),
        ("no_connection", LimitKind.UNAVAILABLE),
        ("http_401", LimitKind.AUTH),
        ("http_403", LimitKind.AUTH),
        ("credit", LimitKind.AUTH),
        ("no_login", LimitKind.AUTH),
    ],
)
def test_a_limit_is_no_failure_and_says_why(task, name, kind):
    outcome = judged(task, name)
    assert isinstance(outcome, LimitReached)
    assert outcome.kind is kind
    assert outcome.reason
    assert outcome.session is not None


@pytest.mark.parametrize(
    "name", ["http_400", "http_404", "http_413", "too_long", "refusal", "unknown_session"]
)
def test_a_fault_of_the_run_is_a_failure_with_the_text(task, name):
    outcome = judged(task, name)
    assert isinstance(outcome, AgentFailed)
    assert outcome.exit_code == 1
    assert len(outcome.reason) > len("exit code 1: ")


def test_a_session_that_is_taken_fails_with_what_was_said(task):
    outcome = judged(task, "used_session")
    assert isinstance(outcome, AgentFailed)
    assert "is already in use" in outcome.reason


def test_the_end_of_a_limit_is_what_the_provider_said(task):
    outcome = judged(task, "usage_limit")
    assert isinstance(outcome, LimitReached)
    assert outcome.retry_at == datetime(2026, 12, 1, 3, 54, tzinfo=UTC)
    assert outcome.usage.tokens == USED


@pytest.mark.parametrize(
    ("said", "until"),
    [
        ("You've hit your limit · resets 4pm (Europe/Berlin)", datetime(2026, 12, 1, 15, 0, tzinfo=UTC)),
        ("Claude AI usage limit reached|1796140800", datetime(2026, 12, 1, 16, 0, tzinfo=UTC)),
        ("limit reached, resets at 2026-12-02T10:00:00Z", datetime(2026, 12, 2, 10, 0, tzinfo=UTC)),
        ("Rate limit error", None),
    ],
)
def test_the_text_tells_the_end_where_no_event_does(task, said, until):
    outcome = judged(task, "", lines=changed("http_429", result=said))
    assert isinstance(outcome, LimitReached)
    assert outcome.retry_at == until


def test_a_limit_in_the_middle_of_a_conversation_can_be_gone_on_with(task):
    outcome = judged(task, "usage_limit")
    assert isinstance(outcome, LimitReached)
    session = json.loads(recorded("claude", "usage_limit")[0])["session_id"]
    assert outcome.session == Session(session, outcome.usage.cost_usd)


@pytest.mark.parametrize(
    ("by", "expected"),
    [(EndedBy.BUDGET, BudgetReached), (EndedBy.STALL, AgentFailed), (EndedBy.MEMORY, AgentFailed)],
)
def test_a_run_that_we_ended_came_to_what_we_ended_it_for(task, by, expected):
    lines = recorded("claude", "edit")[:-1]
    outcome = judged(task, "", exited(143, stopped=True), Ended(by, "it was enough"), lines)
    assert isinstance(outcome, expected)
    assert isinstance(outcome, AgentFailed | BudgetReached)
    assert (outcome.reason, outcome.usage.tokens) == ("it was enough", 5 * USED)


def test_a_run_that_lingers_after_its_result_is_judged_by_it(task):
    lingers, stopped = Ended(EndedBy.RESULT, "it did not end after its result"), exited(143, stopped=True)
    assert isinstance(judged(task, "edit", stopped, lingers), Finished)
    assert isinstance(judged(task, "budget", stopped, lingers), BudgetReached)
    assert isinstance(judged(task, "http_429", stopped, lingers), LimitReached)
    assert isinstance(judged(task, "refusal", stopped, lingers), AgentFailed)


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (exited(143, timed_out=True), "it did not end within 60 s"),
        (exited(-9, stopped=True), "it was stopped"),
        (exited(None, error="the supervisor is gone"), "its end was not seen"),
    ],
)
def test_a_run_that_did_not_end_keeps_what_it_consumed(task, record, why):
    outcome = judged(task, "", record, lines=recorded("claude", "edit")[:-1])
    assert isinstance(outcome, AgentFailed)
    assert outcome.reason.startswith(why)
    assert outcome.usage.tokens == 5 * USED
    assert outcome.timed_out is record.timed_out


def test_words_of_the_model_are_no_limit(task):
    text = {"type": "text", "text": "Not logged in · Please run /login"}
    said = json.dumps({"type": "assistant", "message": {"id": "m", "model": "opus", "content": [text]}})
    assert isinstance(judged(task, "", exited(1), lines=[said]), AgentFailed)


def test_a_reader_of_another_kind_is_refused(task):
    with pytest.raises(TypeError):
        ClaudeCli(ManualClock(ENDED), home=task.run_dir).judge(task, exited(0), ScriptReader(), None)
