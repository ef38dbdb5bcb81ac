"""The real ``claude`` against the fake Messages API."""

import json
import subprocess

import pytest

from orchestrator.agents.prices import PRICES
from orchestrator.testing.models import HttpError, TokenUsage, ToolCall, Turn, fixed, model_server
from tests.real_clis import claude
from tests.unit.testing.models.workplaces import log, repository, system_path

LIMIT_S = 60
EDIT = (
    Turn(
        text="I write the file.",
        thinking="A file is wanted.",
        tools=[ToolCall("Write", {"file_path": "{{cwd}}/hello.py", "content": "print('hello')\n"})],
        usage=TokenUsage(input=1200, output=60, cache_creation=5000),
    ),
    Turn(
        tools=[
            ToolCall("Bash", {"command": "python3 hello.py && git add -A && git commit -q -m 'Add hello'"})
        ],
        usage=TokenUsage(input=10, output=50, cache_read=5300),
    ),
    Turn(text="It says: {{last}}", usage=TokenUsage(input=10, output=20, cache_read=5400)),
)


@pytest.fixture(scope="session")
def program():
    return claude()


def environment(home, url, retries):
    """An environment of nothing but what the CLI needs, so that nothing of this machine plays a part."""
    return {
        "PATH": system_path(),
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "CLAUDE_CODE_TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "SHELL": "/bin/sh",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "a-key-for-nothing",
        "API_TIMEOUT_MS": "20000",
        "CLAUDE_CODE_MAX_RETRIES": str(retries),
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }


def run(program, home, url, *arguments, retries=3):
    """What the CLI says at its end; its exit code must be 0."""
    ended = subprocess.run(
        [program, "-p", "Say hello.", "--output-format", "json", *arguments],
        cwd=home / "a shop",
        env=environment(home, url, retries),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return json.loads(ended.stdout)


def counted(said):
    """The usage that the CLI counted itself, by model."""
    return {
        model: TokenUsage(
            used["inputTokens"],
            used["outputTokens"],
            used["cacheReadInputTokens"],
            used["cacheCreationInputTokens"],
        )
        for model, used in said["modelUsage"].items()
    }


def test_real_claude_edits_commits_and_goes_on(program, tmp_path):
    shop = repository(tmp_path / "a shop")
    may = ("--model", "claude-opus-5-5", "--permission-mode", "acceptEdits", "--allowedTools", "Bash")
    with model_server(fixed(EDIT)) as server:
        said = run(program, tmp_path, server.base_url, *may)
        assert said["result"] == "It says: hello"
        assert (shop / "hello.py").read_text() == "print('hello')\n"
        assert log(shop) == ["Add hello"]
        assert counted(said) == server.served == server.completed
        assert said["total_cost_usd"] == pytest.approx(server.cost(PRICES))
        run(program, tmp_path, server.base_url, *may, "--resume", said["session_id"])
    assert [request.turn for request in server.requests] == [0, 1, 2, 0, 1, 2]
    assert {request.credentials for request in server.requests} == {("x-api-key",)}


def test_real_claude_turns_to_another_model_when_the_first_is_overloaded(program, tmp_path):
    repository(tmp_path / "a shop")
    busy = Turn(text="instead", error=HttpError(529, model="opus"))
    models = ("--model", "claude-opus-5-5", "--fallback-model", "claude-haiku-4-5")
    with model_server(fixed([busy])) as server:
        said = run(program, tmp_path, server.base_url, *models)
    assert said["result"] == "instead"
    assert counted(said) == server.served == {"claude-haiku-4-5": TokenUsage(100, 10)}


def test_real_claude_repeats_an_answer_that_was_cut_until_it_has_it_whole(program, tmp_path):
    repository(tmp_path / "a shop")
    with model_server(fixed([Turn(text="An answer in more than one piece, at last.", cut=True)])) as server:
        said = run(program, tmp_path, server.base_url, "--model", "claude-opus-5-5", retries=1)
    assert said["result"] == "An answer in more than one piece, at last."
    assert server.requests[-1].stream is False
    # Whether it counts what it read of the cut answers depends on how far it had come when they ended.
    whole, sent = server.completed["claude-opus-5-5"].input, server.total.input
    assert whole <= counted(said)["claude-opus-5-5"].input <= sent
    assert (whole, sent) == (100, 100 * len(server.requests))
