"""Agents of the kind ``script``: any executable that edits the workspace (product §6a).

It finds its task in ``ORCH_*`` variables and ends with 0 (done), 75 (limit reached, try later) or anything
else (failed); lines ``{"usage": {…}}`` on its standard output are counted.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from orchestrator.agents.clis import Ended, Launch, Reader
from orchestrator.agents.clis.endings import cut_short, ending, explained
from orchestrator.agents.clis.programs import Wanted, find_program
from orchestrator.agents.clis.protocol import protocol_variables
from orchestrator.agents.usage import usage_in
from orchestrator.errors import Rejected
from orchestrator.plumbing.processes import ExitRecord, clean_environment
from orchestrator.plumbing.redaction import redact
from orchestrator.ports.agent import (
    AgentFailed,
    AgentOutcome,
    AgentTask,
    Finished,
    LimitReached,
    LogEvent,
    LogKind,
    Session,
    Transcript,
    Usage,
)
from orchestrator.ports.clock import Clock

LIMIT_REACHED: Final = 75
"""Exit code EX_TEMPFAIL of sysexits.h: come back later."""

_REASON: Final = 300
_CURE: Final = "set ORCH_AGENT_COMMAND to an executable"
_WANTED: Final = Wanted("script agent", _CURE)


class ScriptCli:
    """Builds the environment of a script agent and reads its exit.

    ``command`` is used when a task names none; a relative path is below ``home``, a bare name is looked up on
    PATH. ``extra`` is passed on to every agent, and the protocol's own names win over it.
    """

    def __init__(
        self, clock: Clock, *, home: Path, command: str = "", extra: Mapping[str, str] | None = None
    ) -> None:
        self._clock = clock
        self._home = home
        self._command = command
        self._extra = dict(extra or {})

    def launch(self, task: AgentTask) -> Launch:
        """The executable, and an environment of allowed names and the protocol only.

        Raises:
            Rejected: there is no such executable.
        """
        env = clean_environment({**self._extra, **protocol_variables(task)})
        inherited = env.get("PATH", "/usr/bin:/bin")
        env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{inherited}"
        command = task.command or self._command
        if not command.strip():
            raise Rejected(f"no script agent is named; {_CURE}")
        program = find_program(command, home=self._home, path=env["PATH"], wanted=_WANTED)
        return Launch((str(program),), env)

    def version_argv(self, command: str) -> tuple[str, ...]:
        """A script names no version."""
        return ()

    def version_problem(self, said: str) -> str | None:
        """None: whatever speaks the protocol will do."""
        return None

    def login_problem(self) -> str | None:
        """None: a script looks after itself."""
        return None

    def reader(self, task: AgentTask) -> "ScriptReader":
        """A reader that adds up usage lines and remembers the last words."""
        return ScriptReader()

    def judge(self, task: AgentTask, record: ExitRecord, read: Reader, ended: Ended | None) -> AgentOutcome:
        """0 is done, 75 a limit, the rest a failure; a run that did not end by itself has failed."""
        if (cut := cut_short(task, record, read, ended)) is not None:
            return cut
        usage, said = read.usage, read.last_words
        if record.exit_code == 0:
            now = self._clock.now()
            return Finished(usage, record.started or now, record.ended or now)
        if record.exit_code == LIMIT_REACHED:
            return LimitReached(usage, said or "the agent asks to come back later")
        return AgentFailed(usage, explained(ending(record), said), record.exit_code)

    def transcript(self) -> Transcript:
        """Each line is a text, but those that only count."""
        return _told


def _told(line: str) -> Sequence[LogEvent]:
    counted = usage_in(line)
    if counted is None:
        return (LogEvent(LogKind.TEXT, line.rstrip()),) if line.strip() else ()
    return (LogEvent(LogKind.COST, f"{counted.tokens} tokens, ${counted.cost_usd:.4f}"),)


class ScriptReader:
    """Reads the output of a script agent: usage lines are counted, the last other line is remembered."""

    def __init__(self) -> None:
        self._usage = Usage()
        self._last = ""
        self._turns = 0

    @property
    def usage(self) -> Usage:
        """The sum of the usage lines."""
        return self._usage

    @property
    def turns(self) -> int:
        """Each usage line counts as one answer of whatever model stands behind the script."""
        return self._turns

    @property
    def result_seen(self) -> bool:
        """A script is through when its process ends."""
        return False

    @property
    def session(self) -> Session | None:
        """A script keeps no conversation."""
        return None

    @property
    def last_words(self) -> str:
        """The last line that is no usage line, masked and cut short for a reason."""
        return redact(self._last)[:_REASON]

    def feed(self, line: str) -> None:
        """Read the next line."""
        counted = usage_in(line)
        if counted is not None:
            self._usage += counted
            self._turns += 1
        elif line.strip():
            self._last = line.strip()
