"""What becomes of an item when the model, its provider or the CLI misbehaves; the CLI is the real one."""

import itertools
import re
import signal
import time
from datetime import timedelta

import psutil
import pytest

from orchestrator.testing.models import HttpError, ModelRequest, TokenUsage, ToolCall, Turn, endless
from tests.real_agents.lodging import end
from tests.scenario.house import eventually

MINUTE = TokenUsage(input=1000, output=100)


def once(*turns: Turn):
    """These turns for the first task that asks; afterwards the good work."""
    first: list[str] = []

    def wrong(request: ModelRequest):
        session = request.headers.get("x-claude-code-session-id", "")
        if not first:
            first.append(session)
        return turns if session == first[0] and not resumed(request) else None

    return wrong


def resumed(request: ModelRequest) -> bool:
    return len(request.texts) > 0 and "Go on" in request.task


def always(*turns: Turn):
    return lambda _: turns


def refuses(status: int, **details) -> Turn:
    return Turn(error=HttpError(status=status, **details))


def bash(command: str, **more) -> Turn:
    return Turn(tools=(ToolCall("Bash", {"command": command, "description": "x", **more}),))


def job(lodging, item):
    (row,) = lodging.house.rows(
        "orchestrator.db",
        "SELECT status, attempts, available_at, error FROM jobs WHERE kind = 'produce' ORDER BY id DESC LIMIT 1",
    )
    return dict(zip(("status", "attempts", "available_at", "error"), row, strict=True))


def test_a_rate_limit_waits_until_the_time_that_the_provider_names_and_costs_no_attempt(lodge):
    reset = int(time.time()) + 6
    headers = {
        "retry-after": "6",
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": str(reset),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
    }
    lodging = lodge(wrong={"analyst": once(refuses(429, headers=headers))})
    item = lodging.file()
    lodging.until(
        item, "has met the limit", lambda _: [run["outcome"] for run in lodging.runs()] == ["limit"]
    )
    assert job(lodging, item)["attempts"] == 0
    lodging.until_analysed(item)
    assert time.time() >= reset
    assert [run["outcome"] for run in lodging.runs()] == ["limit", "finished"]
    assert job(lodging, item)["attempts"] == 0


def test_an_overloaded_model_is_replaced_by_the_fallback(lodge):
    overloaded = lambda _: (refuses(529, model="opus-5-5"),)  # noqa: E731

    def wrong(request):
        return overloaded(request) if "opus-5-5" in request.model else None

    lodging = lodge(
        wrong={"analyst": wrong},
        ORCH_AGENT_MODEL_DEFAULT="claude-opus-5-5",
        ORCH_AGENT_FALLBACK_MODEL="claude-haiku-4-5",
        ORCH_AGENT_MAX_RETRIES="3",
    )
    lodging.until_analysed(lodging.file())
    assert [run["outcome"] for run in lodging.runs()] == ["finished"]
    assert "claude-haiku-4-5" in lodging.model.served


def test_a_refused_key_opens_the_breaker_and_costs_no_attempt(lodge):
    lodging = lodge(wrong={"analyst": always(refuses(401))}, ORCH_BREAKER_FAILURES="1")
    item = lodging.file()
    lodging.until(item, "was refused", lambda _: [run["outcome"] for run in lodging.runs()] == ["limit"])
    breaker = eventually(
        lambda: (
            lodging.house.get("/queue")["resilience"]["breaker"]["state"] == "open"
            and lodging.house.get("/queue")["resilience"]["breaker"]
        ),
        "the breaker is open",
    )
    assert "401" in breaker["reason"] or "key" in breaker["reason"].lower()
    assert job(lodging, item)["attempts"] == 0
    assert lodging.house.view(item)["hold"] is None


def test_a_server_that_hangs_is_a_limit_and_no_failure(lodge):
    lodging = lodge(wrong={"analyst": always(Turn(hang=True))}, ORCH_AGENT_API_TIMEOUT_S="2")
    item = lodging.file()
    lodging.until(item, "gave up", lambda _: [run["outcome"] for run in lodging.runs()] == ["limit"])
    assert lodging.house.view(item)["hold"] is None
    assert job(lodging, item)["attempts"] == 0


def test_a_stream_that_is_cut_is_asked_again_by_the_cli(lodge):
    seen = itertools.count()

    def wrong(request):
        return (Turn(text="I begin and then the line is gone.", cut=True),) if next(seen) == 0 else None

    lodging = lodge(wrong={"analyst": wrong}, ORCH_AGENT_MAX_RETRIES="2")
    lodging.until_analysed(lodging.file())
    assert [run["outcome"] for run in lodging.runs()] == ["finished"]


def test_a_refusal_of_the_model_spends_attempts_and_then_calls_a_person(lodge):
    lodging = lodge(wrong={"analyst": always(Turn(text="No.", stop="refusal"))})
    hold = lodging.until_held(lodging.file())
    assert "analyst failed" in hold["reason"]
    assert [run["outcome"] for run in lodging.runs()] == ["failed"] * 3


def test_a_model_that_never_ends_is_put_on_hold_at_its_most_turns(lodge):
    lodging = lodge(wrong={"analyst": endless(bash("git log --oneline"))}, ORCH_AGENT_MAX_TURNS="4")
    hold = lodging.until_held(lodging.file())
    assert "turns" in hold["reason"]
    assert [run["outcome"] for run in lodging.runs()] == ["budget"]


def test_a_budget_is_overspent_by_at_most_one_answer(lodge):
    lodging = lodge(
        wrong={"analyst": endless(Turn(tools=bash("git log --oneline").tools, usage=MINUTE))},
        ORCH_AGENT_MODEL_DEFAULT="claude-opus-5-5",
        ORCH_BUDGETS_JSON='{"item": {"tokens": 5000}}',
    )
    hold = lodging.until_held(lodging.file())
    assert "the item budget of 5000 tokens is used up" in hold["reason"]
    assert [run["outcome"] for run in lodging.runs()] == ["budget"]
    assert lodging.model.total.total <= 5000 + MINUTE.total


def test_money_is_a_budget_that_the_cli_keeps_too(lodge):
    lodging = lodge(
        wrong={"analyst": endless(Turn(tools=bash("git log --oneline").tools, usage=MINUTE))},
        ORCH_AGENT_MODEL_DEFAULT="claude-opus-5-5",
        ORCH_BUDGETS_JSON='{"run": {"cost_usd": 0.02}}',
    )
    hold = lodging.until_held(lodging.file())
    assert "the run budget of $0.02" in hold["reason"]
    assert [run["outcome"] for run in lodging.runs()] == ["budget"]
    one_answer = 1000 * 4e-6 + 100 * 20e-6
    assert lodging.runs()[0]["cost_usd"] <= 0.02 + one_answer + 1e-9


def test_a_cli_that_is_ended_from_outside_is_tried_again(lodge):
    lodging = lodge(wrong={"developer": once(bash("sleep 300"))})
    item = lodging.file()
    lodging.until_analysed(item)
    lodging.house.drive(item, lambda view: view["stage"] == "development", within=60)

    def sleeping():
        processes = list(lodging.house.processes())
        asleep = [p for p in processes if "sleep" in p.cmdline()[:1]]
        return processes if asleep else []

    processes = eventually(sleeping, "the tool is at work")
    cli = next(p for p in processes if "--output-format" in p.cmdline())
    end(cli.pid, signal.SIGTERM)
    lodging.until(item, "left development", lambda view: view["stage"] != "development", within=60)
    outcomes = [run["outcome"] for run in lodging.runs()]
    assert outcomes[-3:].count("failed") == 1 or "failed" in outcomes


def test_what_a_run_leaves_in_the_background_ends_with_it(lodge):
    leave = "nohup sleep 301 >/dev/null 2>&1 & setsid sleep 302 >/dev/null 2>&1 & echo left"
    lodging = lodge(wrong={"developer": once(bash(leave))})
    item = lodging.file()
    lodging.until_analysed(item)
    lodging.house.drive(
        item, lambda view: len(lodging.runs()) >= 3 and lodging.runs()[2]["outcome"], within=60
    )
    left = [
        p.cmdline()
        for p in psutil.process_iter(["cmdline"])
        if p.info["cmdline"] in (["sleep", "301"], ["sleep", "302"])
    ]
    assert left == []


def test_a_denied_tool_is_told_to_the_model_and_changes_nothing(lodge):
    outside = ToolCall("Write", {"file_path": "{{cwd}}/tally/scores.py", "content": "broken\n"})
    push = ToolCall("Bash", {"command": "git push origin HEAD:main", "description": "x"})

    def wrong(request):
        return None

    lodging = lodge(
        wrong={"analyst": once(Turn(text="I try.", tools=(outside, push)), Turn(text="Then not."))}
    )
    item = lodging.file()
    lodging.until_analysed(item)
    outcomes = [run["outcome"] for run in lodging.runs()]
    assert (
        outcomes == ["failed", "finished"] or outcomes == ["finished"] or outcomes == ["finished", "finished"]
    )
    first = lodging.log_of(0)
    assert "permission" in first.lower()
    assert re.search(r'"permission_denials":\s*\[\{', first)


def test_the_orchestrator_is_killed_in_mid_run_and_finds_the_run_again(lodge):
    held = Turn(text="I think.", delay=timedelta(seconds=4))
    lodging = lodge(wrong={"analyst": once(held)})
    item = lodging.file()
    eventually(lambda: len(lodging.model.requests) > 0, "the model is asked")
    (server,) = lodging.house.servers
    server.kill(signal.SIGKILL)
    assert list(lodging.house.processes())
    lodging.house.serve()
    lodging.until_analysed(item)
    assert len(lodging.runs()) <= 2


@pytest.mark.parametrize("status", [500, 503])
def test_a_provider_that_is_broken_is_waited_for(lodge, status):
    lodging = lodge(wrong={"analyst": always(refuses(status))})
    item = lodging.file()
    lodging.until(item, "was put off", lambda _: [run["outcome"] for run in lodging.runs()] == ["limit"])
    assert lodging.house.view(item)["hold"] is None
