"""The real ``codex`` against the fake Responses API."""

import json
import subprocess

import pytest

from orchestrator.testing.models import TokenUsage, ToolCall, Turn, fixed, model_server
from tests.real_clis import codex
from tests.unit.testing.models.workplaces import log, repository, system_path

LIMIT_S = 60
COMMAND = "echo hello > '{{cwd}}/hello.txt' && git add -A && git commit -q -m 'Add hello' && cat hello.txt"


@pytest.fixture(scope="session")
def program():
    return codex()


def environment(home):
    """An environment of nothing but what the CLI needs."""
    return {
        "PATH": system_path("node"),
        "HOME": str(home),
        "CODEX_HOME": str(home / ".codex"),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "MODEL_KEY": "a-key-for-nothing",
    }


def provider(url):
    """The options that make the server the provider of the model."""
    settings = {
        "model_provider": "fake",
        "model_providers.fake.name": "fake",
        "model_providers.fake.base_url": f"{url}/v1",
        "model_providers.fake.env_key": "MODEL_KEY",
        "model_providers.fake.wire_api": "responses",
    }
    return [part for name, value in settings.items() for part in ("-c", f"{name}={json.dumps(value)}")]


def run(program, home, url, *arguments):
    """The events that the CLI prints; its exit code must be 0."""
    (home / ".codex").mkdir(exist_ok=True)
    ended = subprocess.run(
        [
            program,
            "exec",
            *arguments,
            "--json",
            "--model=gpt-5",
            "--dangerously-bypass-approvals-and-sandbox",
            *provider(url),
            "Say hello.",
        ],
        cwd=home / "a shop",
        env=environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_real_codex_runs_a_command_commits_and_goes_on(program, tmp_path):
    shop = repository(tmp_path / "a shop")
    script = fixed(
        [
            Turn(tools=[ToolCall("exec_command", {"cmd": COMMAND})], usage=TokenUsage(600, 50, 400, 200)),
            Turn(text="It says: {{last}}", usage=TokenUsage(100, 5, 1000)),
        ]
    )
    with model_server(script) as server:
        said = run(program, tmp_path, server.base_url)
        assert log(shop) == ["Add hello"]
        texts = [event["item"].get("text", "") for event in said if event["type"] == "item.completed"]
        assert texts[-1].startswith("It says: ")
        assert texts[-1].endswith("hello")
        used = said[-1]["usage"]
        told = TokenUsage(
            used["input_tokens"] - used["cached_input_tokens"] - used["cache_write_input_tokens"],
            used["output_tokens"],
            used["cached_input_tokens"],
            used["cache_write_input_tokens"],
        )
        assert told == server.total == server.completed["gpt-5"]
        said = run(program, tmp_path, server.base_url, "resume", said[0]["thread_id"])
        assert said[-1]["usage"]["output_tokens"] == server.total.output, "it counts the whole session"
    assert [request.turn for request in server.requests] == [0, 1, 0, 1]
    assert {request.credentials for request in server.requests} == {("authorization",)}
