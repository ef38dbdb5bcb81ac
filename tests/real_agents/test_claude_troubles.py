"""What becomes of an item when the model, its provider or the CLI misbehaves; the CLI is the real one."""

import itertools
import signal
import time
from datetime import timedelta

import psutil
import pytest

from orchestrator.testing.models import HttpError, ModelRequest, TokenUsage, ToolCall, Turn, endless
from tests.real_agents.lodging import end
from tests.scenario.house import eventually, git

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


# As a real model takes its time: an answer that is not there yet can be kept from being asked for.
slow = Turn(tools=bash("git log --oneline").tools, usage=MINUTE, delay=timedelta(milliseconds=400))


def job(lodging):
    (row,) = lodging.house.rows(
        "orchestrator.db",
        "SELECT status, attempts, error FROM jobs WHERE kind = 'produce' ORDER BY id DESC LIMIT 1",
    )
    return dict(zip(("status", "attempts", "error"), row, strict=True))


LOGIN = {
    # A login of a person, whose limits tell when they end; that of a key do not.
    "ORCH_AGENT_API_KEY": "",
    "ORCH_AGENT_ENV": "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-of-a-person-who-is-logged-in-0000",
}


def limit_until(reset: int) -> Turn:
    headers = {
        "retry-after": "3600",
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": str(reset),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
    }
    return refuses(429, headers=headers)


def test_a_rate_limit_waits_until_the_time_that_the_provider_names_and_costs_no_attempt(lodge):
    reset = int(time.time()) + 12
    lodging = lodge(wrong={"analyst": once(limit_until(reset))}, **LOGIN)
    item = lodging.file()
    lodging.until(item, "has met the limit", lambda _: lodging.outcomes() == ["limit"])
    assert job(lodging)["attempts"] == 0
    assert lodging.house.view(item)["hold"] is None
    lodging.until_analysed(item)
    assert time.time() >= reset
    assert lodging.outcomes() == ["limit", "finished"]
    assert job(lodging)["attempts"] == 0


def test_a_limit_in_the_middle_of_a_run_goes_on_with_the_same_conversation(lodge):
    reset = int(time.time()) + 12
    first = bash("git log --oneline")
    lodging = lodge(wrong={"analyst": once(first, limit_until(reset))}, **LOGIN)
    item = lodging.file()
    lodging.until(item, "has met the limit", lambda _: lodging.outcomes() == ["limit"])
    lodging.until_analysed(item)
    assert lodging.outcomes() == ["limit", "finished"]
    sessions = {request.headers["x-claude-code-session-id"] for request in lodging.model.requests}
    assert len(sessions) == 1


def test_an_overloaded_model_is_replaced_by_the_fallback(lodge):
    def wrong(request):
        return (refuses(529),) if "opus-5-5" in request.model else None

    lodging = lodge(
        wrong={"analyst": wrong},
        ORCH_AGENT_MODEL_DEFAULT="claude-opus-5-5",
        ORCH_AGENT_FALLBACK_MODEL="claude-haiku-4-5",
    )
    lodging.until_analysed(lodging.file())
    assert lodging.outcomes() == ["finished"]
    assert set(lodging.model.account.completed) == {"claude-haiku-4-5"}


def test_a_refused_key_opens_the_breaker_and_costs_no_attempt(lodge):
    lodging = lodge(wrong={"analyst": always(refuses(401))}, ORCH_BREAKER_FAILURES="1")
    item = lodging.file()
    lodging.until(item, "was refused", lambda _: lodging.outcomes() == ["limit"])
    breaker = eventually(
        lambda: (
            lodging.house.get("/queue")["resilience"]["breaker"]["state"] == "open"
            and lodging.house.get("/queue")["resilience"]["breaker"]
        ),
        "the breaker is open",
    )
    assert "401" in breaker["reason"] or "key" in breaker["reason"].lower()
    assert job(lodging)["attempts"] == 0
    assert lodging.house.view(item)["hold"] is None


def test_a_server_that_hangs_is_a_limit_and_no_failure(lodge):
    lodging = lodge(wrong={"analyst": always(Turn(hang=True))}, ORCH_AGENT_API_TIMEOUT_S="2")
    item = lodging.file()
    lodging.until(item, "gave up", lambda _: lodging.outcomes() == ["limit"])
    assert lodging.house.view(item)["hold"] is None
    assert job(lodging)["attempts"] == 0


def test_a_stream_that_is_cut_is_asked_again_by_the_cli(lodge):
    seen = itertools.count()

    def wrong(request):
        return (Turn(text="I begin and then the line is gone.", cut=True),) if next(seen) == 0 else None

    lodging = lodge(wrong={"analyst": wrong}, ORCH_AGENT_MAX_RETRIES="2")
    lodging.until_analysed(lodging.file())
    assert lodging.outcomes() == ["finished"]


def test_a_refusal_of_the_model_spends_attempts_and_then_calls_a_person(lodge):
    lodging = lodge(wrong={"analyst": endless(Turn(text="No.", stop="refusal"))})
    hold = lodging.until_held(lodging.file())
    assert "the analyst failed" in hold["reason"]
    assert lodging.outcomes() == ["failed"] * 3


def test_a_model_that_never_ends_is_put_on_hold_at_its_most_turns(lodge):
    lodging = lodge(wrong={"analyst": endless(bash("git log --oneline"))}, ORCH_AGENT_MAX_TURNS="4")
    hold = lodging.until_held(lodging.file())
    assert "turns" in hold["reason"]
    assert lodging.outcomes() == ["budget"]


def test_a_budget_is_overspent_by_at_most_one_answer(lodge):
    lodging = lodge(
        wrong={"analyst": endless(slow)},
        ORCH_AGENT_MODEL_DEFAULT="claude-opus-5-5",
        ORCH_BUDGETS_JSON='{"item": {"tokens": 5000}}',
    )
    hold = lodging.until_held(lodging.file())
    assert "the item budget of 5000 tokens is used up" in hold["reason"]
    assert lodging.outcomes() == ["budget"]
    assert lodging.model.total.total <= 5000 + MINUTE.total


def test_money_is_a_budget_that_the_cli_keeps_too(lodge):
    lodging = lodge(
        wrong={"analyst": endless(slow)},
        ORCH_AGENT_MODEL_DEFAULT="claude-opus-5-5",
        ORCH_BUDGETS_JSON='{"run": {"cost_usd": 0.02}}',
    )
    hold = lodging.until_held(lodging.file())
    assert "the run budget of $0.02" in hold["reason"]
    assert lodging.outcomes() == ["budget"]
    one_answer = 1000 * 4e-6 + 100 * 20e-6
    assert lodging.runs()[0]["cost_usd"] <= 0.02 + one_answer + 1e-9


def developing(lodging):
    """An item whose developer is at work."""
    item = lodging.file()
    lodging.house.drive(item, lambda view: view["stage"] == "development", within=60)
    return item


def test_a_cli_that_is_ended_from_outside_in_the_middle_of_a_tool_is_tried_again(lodge):
    lodging = lodge(wrong={"developer": once(bash("python3 -c 'import time; time.sleep(300)'"))})
    item = developing(lodging)

    def at_work():
        commands = lodging.commands()
        return commands if any("time.sleep(300)" in words for words in commands.values()) else {}

    commands = eventually(at_work, "the tool is at work")
    (cli,) = [pid for pid, words in commands.items() if "--output-format" in words]
    end(cli, signal.SIGTERM)
    lodging.until(item, "left development", lambda view: view["stage"] != "development", within=60)
    developer = [run["outcome"] for run in lodging.runs() if run["agent"] == "developer"]
    assert developer == ["failed", "finished"]


def test_what_a_run_leaves_in_the_background_ends_with_it(lodge):
    leave = "nohup sleep 301 >/dev/null 2>&1 & setsid sleep 302 >/dev/null 2>&1 & echo left"
    lodging = lodge(wrong={"developer": once(bash(leave))})
    item = developing(lodging)
    lodging.until(item, "was developed once", lambda _: len(lodging.outcomes("developer")) > 0, within=60)
    left = [p.info["cmdline"] for p in psutil.process_iter(["cmdline"])]
    assert ["sleep", "301"] not in left
    assert ["sleep", "302"] not in left


def test_a_denied_tool_is_told_to_the_model_and_changes_nothing(lodge):
    outside = ToolCall("Write", {"file_path": "{{cwd}}/tally/new.py", "content": "broken\n"})
    shell = ToolCall("Bash", {"command": "git log > tally/log.txt", "description": "x"})
    push = ToolCall("Bash", {"command": "git push origin HEAD:main", "description": "x"})
    tries = Turn(text="I try.", tools=(outside, shell, push))
    lodging = lodge(wrong={"analyst": once(tries, Turn(text="Then not."))})
    item = lodging.file()
    lodging.until_analysed(item)
    first = lodging.log_of(0)
    assert first.count('"tool_name"') >= 3
    branch = lodging.house.view(item)["branch"]
    changed = git(lodging.house.forge(), "diff", "--name-only", "main", branch).splitlines()
    assert all(path.startswith(f"docs/work-items/{item}/") for path in changed)
    assert changed


def test_the_orchestrator_is_killed_in_mid_run_and_finds_the_run_again(lodge):
    waits = []

    def wrong(request):
        waits.append(1)
        return (Turn(text="I think.", delay=timedelta(seconds=5)),) if len(waits) == 1 else None

    lodging = lodge(wrong={"analyst": wrong})
    item = lodging.file()
    eventually(lambda: waits, "the model is asked")
    (server,) = lodging.house.servers
    server.kill(signal.SIGKILL)
    alive = {process.pid for process in lodging.house.processes()}
    assert alive
    lodging.house.serve()
    again = {process.pid for process in lodging.house.processes()}
    assert alive & again
    lodging.until_analysed(item)
    # The model that only thought has written nothing: that run was found again, and has failed by itself.
    assert lodging.outcomes() == ["failed", "finished"] or lodging.outcomes() == ["finished", "finished"]


@pytest.mark.parametrize("status", [500, 503])
def test_a_provider_that_is_broken_is_waited_for(lodge, status):
    lodging = lodge(wrong={"analyst": always(refuses(status))})
    item = lodging.file()
    lodging.until(item, "was put off", lambda _: lodging.outcomes() == ["limit"])
    assert lodging.house.view(item)["hold"] is None
