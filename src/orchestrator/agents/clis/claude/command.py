"""What is started of ``claude``: its command line and its environment."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

from orchestrator.agents.clis.claude.tools import TOOLS, rights_of
from orchestrator.agents.clis.programs import origin_of
from orchestrator.agents.clis.protocol import handed_over, protocol_variables, request
from orchestrator.plumbing.processes import clean_environment
from orchestrator.ports.agent import AgentTask

PROMPT_FILE: Final = "system-prompt.md"
"""Where the prompt of the role lies in the directory of a run."""

FALLBACK_RETRIES: Final = 3
"""Retries that are needed at least, for the CLI to come to its fallback model."""

PUBLIC_URL: Final = "https://api.anthropic.com"
"""Where the models are, when no other address is set."""

_LEAST_BUDGET_USD: Final = 0.000001

_QUIET: Final[Mapping[str, str]] = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    # A task in the background keeps the CLI from ending, and brings another result later.
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
}


@dataclass(frozen=True, slots=True)
class ClaudeOptions:
    """How ``claude`` is driven on this installation.

    ``command`` is its path, or its name on PATH. Without an ``api_key`` the login of the CLI in its HOME is
    used. ``passthrough`` names variables of our own environment that agents get on purpose. ``agent_home``
    is the HOME of the agents; ``None``: that of the service. ``max_retries`` and ``api_timeout`` are for a
    single request to the model.
    """

    command: str = "claude"
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    passthrough: tuple[str, ...] = ()
    agent_home: Path | None = None
    max_retries: int = 2
    api_timeout: timedelta = timedelta(minutes=5)


def argv(program: Path, task: AgentTask) -> tuple[str, ...]:
    """The command line of a run."""
    return (
        str(program),
        *("-p", request(task)),
        *("--output-format", "stream-json", "--verbose", "--include-partial-messages"),
        *_fence(task),
        *_conversation(task),
        *_model(task),
        *_limits(task),
    )


def files(task: AgentTask) -> dict[str, str]:
    """What has to lie in the directory of the run: the prompt of the role."""
    return {PROMPT_FILE: task.prompt} if task.prompt else {}


def environment(task: AgentTask, options: ClaudeOptions, extra: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a run; the more deliberate of two values wins."""
    values = {
        **extra,
        **handed_over(options.passthrough),
        **_QUIET,
        **protocol_variables(task),
        "CLAUDE_CODE_MAX_RETRIES": str(_retries(task, options)),
        "API_TIMEOUT_MS": str(max(1, round(options.api_timeout.total_seconds() * 1000))),
        "CLAUDE_CODE_TMPDIR": str(task.run_dir.absolute() / "tmp"),
    }
    for name, value in (("ANTHROPIC_BASE_URL", options.base_url), ("ANTHROPIC_API_KEY", options.api_key)):
        if value:
            values[name] = value
    if options.agent_home is not None:
        values["HOME"] = str(options.agent_home.absolute())
    return clean_environment(values)


def endpoint(env: Mapping[str, str]) -> str:
    """Scheme, host and port of the model."""
    return origin_of(env.get("ANTHROPIC_BASE_URL") or PUBLIC_URL)


def _fence(task: AgentTask) -> Iterator[str]:
    """What holds the agent to the rights of its role.

    No source of settings is read but ours: neither the repository under work nor the user can add a hook, a
    server or a permission.
    """
    rights = rights_of(task.role, task.workspace, task.artifact_dir)
    permissions = {"allow": rights.allowed, "deny": rights.denied}
    yield from ("--tools", ",".join(TOOLS))
    yield from ("--permission-mode", "dontAsk")
    yield from ("--settings", json.dumps({"permissions": permissions}))
    yield from ("--setting-sources", "")
    yield "--strict-mcp-config"


def _conversation(task: AgentTask) -> Iterator[str]:
    if task.prompt:
        yield from ("--system-prompt-file", str(task.run_dir.absolute() / PROMPT_FILE))
    if task.resume is not None:
        yield from ("--resume", task.resume.id)
    elif task.session:
        yield from ("--session-id", task.session)


def _model(task: AgentTask) -> Iterator[str]:
    if task.model:
        yield from ("--model", task.model)
    if task.effort:
        yield from ("--effort", task.effort)
    if _has_fallback(task):
        yield from ("--fallback-model", str(task.fallback_model))


def _limits(task: AgentTask) -> Iterator[str]:
    if task.ceiling.turns is not None:
        yield from ("--max-turns", str(max(1, int(task.ceiling.turns.amount))))
    if task.ceiling.cost_usd is not None:
        # The CLI counts against it what this run spends, also when it goes on with a conversation.
        yield from ("--max-budget-usd", f"{max(task.ceiling.cost_usd.amount, _LEAST_BUDGET_USD):.6f}")


def _retries(task: AgentTask, options: ClaudeOptions) -> int:
    return max(options.max_retries, FALLBACK_RETRIES) if _has_fallback(task) else options.max_retries


def _has_fallback(task: AgentTask) -> bool:
    return bool(task.fallback_model) and task.fallback_model != task.model
