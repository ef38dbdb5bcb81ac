"""Agents of the kind ``claude``: Claude Code, without a terminal, in its own stream of JSON."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from orchestrator.agents.clis import Ended, Launch, Reader
from orchestrator.agents.clis.claude.command import ClaudeOptions, argv, endpoint, environment, files
from orchestrator.agents.clis.claude.events import ClaudeTranscript
from orchestrator.agents.clis.claude.stream import ClaudeReader
from orchestrator.agents.clis.claude.verdict import verdict
from orchestrator.agents.clis.programs import NpmProgram, Supported, parts_of
from orchestrator.agents.clis.protocol import handed_over
from orchestrator.plumbing.processes import ExitRecord
from orchestrator.ports.agent import AgentOutcome, AgentTask, Transcript
from orchestrator.ports.clock import Clock

KEYS: Final = frozenset(
    {
        *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
        *("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"),
    }
)
"""Variables of which one is enough to be served; they are handed over by ORCH_AGENT_ENV."""

PACKAGE: Final = "@anthropic-ai/claude-code"
SUPPORTED: Final = Supported("claude", f"{PACKAGE}@2", (2, 1, 100), (3, 0, 0))
"""What is driven; it was measured with 2.1.332."""

__all__ = ("SUPPORTED", "ClaudeCli", "ClaudeOptions", "ClaudeReader")


class ClaudeCli:
    """Builds what is started of ``claude``, and reads what came of it.

    ``home`` is where a relative path of the program begins. ``extra`` is passed on to every agent; the
    names of the protocol and those that the CLI is driven by win over it.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        home: Path,
        options: ClaudeOptions | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        self._clock = clock
        self._options = options if options is not None else ClaudeOptions()
        self._extra = dict(extra or {})
        self._program = NpmProgram(PACKAGE, self._options.command, home)

    def version_argv(self, command: str) -> tuple[str, ...]:
        """What prints the version of ``command``; empty: that of the installation.

        Raises:
            Rejected: there is no such program.
        """
        return str(self._program.find(command, os.environ)), "--version"

    def version_problem(self, said: str) -> str | None:
        """Why the version cannot be driven, and what to install; ``None`` when it can."""
        return SUPPORTED.problem(said)

    def login_problem(self) -> str | None:
        """Nothing to log in with: no key, no variable with one, and no login of the CLI itself."""
        handed = any(handed_over(KEYS.intersection(self._options.passthrough)).values())
        if self._options.api_key or handed or credentials_in(self._home_of_agents()).is_file():
            return None
        return "claude is not logged in: run `claude` once as this user and log in, or set ORCH_AGENT_API_KEY"

    def _home_of_agents(self) -> Path:
        return self._options.agent_home or Path.home()

    def launch(self, task: AgentTask) -> Launch:
        """The command line for the role, and an environment of allowed names, the protocol and the login.

        Raises:
            Rejected: there is no such program.
        """
        env = environment(task, self._options, self._extra)
        program = self._program.find(task.command, env)
        written = files(task)
        return Launch(
            argv=argv(program, task),
            env=env,
            readable=(
                *parts_of(program),
                *(str(task.run_dir.absolute() / name) for name in written),
                *_login(env),
            ),
            endpoint=endpoint(env),
            files=written,
        )

    def reader(self, task: AgentTask) -> ClaudeReader:
        """A reader for the stream of a run of ``task``."""
        return ClaudeReader(task.resume)

    def judge(self, task: AgentTask, record: ExitRecord, read: Reader, ended: Ended | None) -> AgentOutcome:
        """What the run came to; see ``verdict``.

        Raises:
            TypeError: ``read`` is the reader of another kind of CLI.
        """
        if not isinstance(read, ClaudeReader):
            raise TypeError(f"a run of claude is judged by its own reader, not by {type(read).__name__}")
        return verdict(task, record, read, ended=ended, now=record.ended or self._clock.now())

    def transcript(self) -> Transcript:
        """How a person reads the stream."""
        return ClaudeTranscript()


def credentials_in(home: Path, directory: str = "") -> Path:
    """Where the CLI keeps the login of a person."""
    return Path(directory or home / ".claude") / ".credentials.json"


def _login(env: Mapping[str, str]) -> tuple[str, ...]:
    """Where the CLI keeps its login, when it is started without a key."""
    if "ANTHROPIC_API_KEY" in env or "HOME" not in env:
        return ()
    place = credentials_in(Path(env["HOME"]), env.get("CLAUDE_CONFIG_DIR", ""))
    return (str(place),) if place.is_file() else ()
