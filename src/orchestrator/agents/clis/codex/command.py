"""What is started of ``codex``: its command line and its environment."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from orchestrator.agents.clis.programs import origin_of
from orchestrator.agents.clis.protocol import handed_over, protocol_variables, request
from orchestrator.agents.prices import Price
from orchestrator.errors import Rejected
from orchestrator.pipeline.stages import Role
from orchestrator.plumbing.processes import clean_environment
from orchestrator.ports.agent import AgentTask

PUBLIC_URL: Final = "https://api.openai.com"
"""Where the models are for a key, when no other address is set."""
LOGIN_URL: Final = "https://chatgpt.com"
"""Where they are for the login of a person."""
KEY_VARIABLE: Final = "CODEX_API_KEY"
"""The variable that carries the key to the CLI."""
LONGEST_PROMPT: Final = 120_000
"""Bytes that a prompt may have: Linux takes no longer argument than 128 KiB."""

_TEMPORARY: Final = "/tmp"  # noqa: S108 — where an installation lies that is thrown away.
_PROVIDER: Final = "orchestrator"
_COMMITTERS: Final = frozenset({Role.DEVELOPER, Role.TESTER, Role.DEPLOYER})
_EFFORTS: Final[Mapping[str, str]] = {"max": "xhigh"}


@dataclass(frozen=True, slots=True)
class CodexOptions:
    """How ``codex`` is driven on this installation.

    ``command`` is its path, or its name on PATH. ``base_url`` is the address of a Responses API, up to and
    with its version; empty: what the CLI is set up for. Without an ``api_key`` the login of the CLI is used.
    ``passthrough`` names variables of our own environment that agents get on purpose. ``agent_home`` is the
    HOME of the agents; ``None``: that of the service. ``price`` is what the model costs; ``None``: nothing
    is known of it. ``max_retries`` are for a single request to the model.
    """

    command: str = "codex"
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    passthrough: tuple[str, ...] = ()
    agent_home: Path | None = None
    price: Price | None = None
    max_retries: int = 2


def argv(program: Path, task: AgentTask, options: CodexOptions) -> tuple[str, ...]:
    """The command line of a run.

    Raises:
        Rejected: the prompt is too long for one.
    """
    prompt = "\n\n".join(part for part in (task.prompt.replace("\0", "").strip(), request(task)) if part)
    if len(prompt.encode("utf-8", "replace")) > LONGEST_PROMPT:
        raise Rejected(f"the prompt of the {task.role.value} is too long for codex: shorten it to 100 kB")
    return (
        str(program),
        *("exec", "--json", "--skip-git-repo-check", "--ignore-rules"),
        *(("-m", task.model) if task.model else ()),
        *_confinement(task),
        *(part for name, value in _settings(task, options) for part in ("-c", f"{name}={json.dumps(value)}")),
        *("--", prompt),
    )


def environment(task: AgentTask, options: CodexOptions, extra: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a run; the more deliberate of two values wins."""
    values = {**extra, **handed_over(options.passthrough), **protocol_variables(task)}
    if options.api_key:
        values[KEY_VARIABLE] = options.api_key
    if options.agent_home is not None:
        home = options.agent_home.absolute()
        values |= {"HOME": str(home), "CODEX_HOME": str(home / ".codex")}
    return clean_environment(values)


def endpoint(options: CodexOptions) -> str:
    """Scheme, host and port of the model."""
    return origin_of(options.base_url or (PUBLIC_URL if options.api_key else LOGIN_URL))


def git_places(workspace: Path) -> tuple[str, ...]:
    """What has to be writable besides the files of ``workspace`` for a commit to be made in it.

    Of a linked worktree that is its own part of the repository, and where objects, refs and their logs are;
    hooks and settings stay as they are.
    """
    link = workspace.absolute() / ".git"
    if not link.is_file():
        return (str(link),)
    own = Path(os.path.normpath(link.parent / _pointer(link).removeprefix("gitdir:").strip()))
    shared = Path(os.path.normpath(own / (_pointer(own / "commondir") or ".")))
    # A bare repository keeps no logs, and the CLI starts no command when a place is missing.
    needed = (shared / name for name in ("objects", "refs", "logs"))
    return (str(own), *(str(place) for place in needed if place.is_dir()))


def _pointer(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return ""


def _confinement(task: AgentTask) -> Iterator[str]:
    """Locked in by us it needs no lock of its own; two of them do not fit into each other."""
    if task.confinement is not None:
        yield "--dangerously-bypass-approvals-and-sandbox"
    else:
        yield from ("-s", "workspace-write")


def _settings(task: AgentTask, options: CodexOptions) -> Iterator[tuple[str, object]]:
    if task.confinement is None and task.role in _COMMITTERS:
        yield "sandbox_workspace_write.writable_roots", list(git_places(task.workspace))
    if task.confinement is None and task.workspace.absolute().is_relative_to(_TEMPORARY):
        # Its sandbox leaves that place open, and there all that is ours would lie open with it.
        yield "sandbox_workspace_write.exclude_slash_tmp", True
    if task.effort:
        yield "model_reasoning_effort", _EFFORTS.get(task.effort, task.effort)
    if not options.base_url:
        return
    provider = f"model_providers.{_PROVIDER}"
    yield "model_provider", _PROVIDER
    yield f"{provider}.name", _PROVIDER
    yield f"{provider}.base_url", options.base_url
    yield f"{provider}.wire_api", "responses"
    yield f"{provider}.request_max_retries", options.max_retries
    yield f"{provider}.stream_max_retries", options.max_retries
    if options.api_key:
        yield f"{provider}.env_key", KEY_VARIABLE
