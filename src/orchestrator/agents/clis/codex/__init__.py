"""Agents of the kind ``codex``: the CLI ``codex exec``, with events in JSON."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from orchestrator.agents.clis import Ended, Launch, Reader
from orchestrator.agents.clis.codex.command import CodexOptions, argv, endpoint, environment
from orchestrator.agents.clis.codex.events import CodexTranscript
from orchestrator.agents.clis.codex.stream import CodexReader
from orchestrator.agents.clis.codex.verdict import verdict
from orchestrator.agents.clis.programs import NpmProgram, Supported, parts_of
from orchestrator.agents.clis.protocol import handed_over
from orchestrator.plumbing.processes import ExitRecord
from orchestrator.ports.agent import AgentOutcome, AgentTask, Transcript
from orchestrator.ports.clock import Clock

KEYS: Final = frozenset({"CODEX_API_KEY", "OPENAI_API_KEY"})
"""Variables of which one is enough to be served; they are handed over by ORCH_AGENT_ENV."""

PACKAGE: Final = "@openai/codex"
SUPPORTED: Final = Supported("codex", f"{PACKAGE}@0", (0, 100, 0), (1, 0, 0))
"""What is driven; it was measured with 0.171.0."""

__all__ = ("SUPPORTED", "CodexCli", "CodexOptions", "CodexReader")


class CodexCli:
    """Builds what is started of ``codex``, and reads what came of it.

    It tells its tokens at the end of a run only, and those of a conversation that goes on are told from the
    conversation's beginning: therefore each run begins a new one. It names no cost; with a price in the
    options there is one. Its own sandbox keeps commands in the workspace, unless ours locks it in.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        home: Path,
        options: CodexOptions | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        self._clock = clock
        self._options = options if options is not None else CodexOptions()
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
        home = self._options.agent_home or Path.home()
        if self._options.api_key or handed or (home / ".codex" / "auth.json").is_file():
            return None
        return "codex is not logged in: run `codex login` as this user, or set ORCH_AGENT_API_KEY"

    def launch(self, task: AgentTask) -> Launch:
        """The command line, and an environment of allowed names, the protocol and the login.

        Raises:
            Rejected: there is no such program.
        """
        env = environment(task, self._options, self._extra)
        program = self._program.find(task.command, env)
        return Launch(
            argv=argv(program, task, self._options),
            env=env,
            readable=(*parts_of(program), *_login(env, self._options)),
            endpoint=endpoint(self._options),
        )

    def reader(self, task: AgentTask) -> CodexReader:
        """A reader for the events of a run."""
        return CodexReader(self._options.price)

    def judge(self, task: AgentTask, record: ExitRecord, read: Reader, ended: Ended | None) -> AgentOutcome:
        """What the run came to; see ``verdict``.

        Raises:
            TypeError: ``read`` is the reader of another kind of CLI.
        """
        if not isinstance(read, CodexReader):
            raise TypeError(f"a run of codex is judged by its own reader, not by {type(read).__name__}")
        return verdict(task, record, read, ended=ended, now=record.ended or self._clock.now())

    def transcript(self) -> Transcript:
        """How a person reads the events."""
        return CodexTranscript()


def _login(env: Mapping[str, str], options: CodexOptions) -> tuple[str, ...]:
    """Where the CLI keeps its login, when it is started without a key."""
    if options.api_key or "HOME" not in env:
        return ()
    place = Path(env.get("CODEX_HOME") or Path(env["HOME"]) / ".codex") / "auth.json"
    return (str(place),) if place.is_file() else ()
