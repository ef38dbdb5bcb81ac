"""Agents of the kind ``script``: any executable that edits the workspace (product §6a).

It finds its task in ``ORCH_*`` variables and ends with 0 (done), 75 (limit reached, try later) or anything
else (failed); lines ``{"usage": {…}}`` on its standard output are counted.
"""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from orchestrator.agents.clis import Launch
from orchestrator.agents.usage import count_usage, lines_of_log, usage_in
from orchestrator.errors import Rejected
from orchestrator.plumbing.processes import ExitRecord, clean_environment, tail_text
from orchestrator.plumbing.redaction import redact
from orchestrator.ports.agent import AgentFailed, AgentTask, Finished, LimitReached, Usage
from orchestrator.ports.clock import Clock

LIMIT_REACHED: Final = 75
"""Exit code EX_TEMPFAIL of sysexits.h: come back later."""

_REASON: Final = 300
_TAIL: Final = 8_000


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
        env = clean_environment({**self._extra, **_protocol(task)})
        inherited = env.get("PATH", "/usr/bin:/bin")
        env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{inherited}"
        return Launch((str(self._executable(task.command or self._command, env["PATH"])),), env)

    def judge(
        self, task: AgentTask, record: ExitRecord, log_path: Path
    ) -> Finished | LimitReached | AgentFailed:
        """0 is done, 75 a limit, the rest a failure; a run that did not end by itself has failed."""
        usage = count_usage(lines_of_log(log_path))
        if not record.ran:
            return AgentFailed(usage, _why_not(task, record), record.exit_code, record.timed_out)
        if record.exit_code == 0:
            now = self._clock.now()
            return Finished(usage, record.started or now, record.ended or now)
        said = _last_words(log_path)
        if record.exit_code == LIMIT_REACHED:
            return LimitReached(usage, said or "the agent asks to come back later")
        return _failed(usage, record, said)

    def _executable(self, command: str, path: str) -> Path:
        if not command.strip():
            raise Rejected("no script agent is named; set ORCH_AGENT_COMMAND to an executable")
        if os.sep not in command:
            found = shutil.which(command, path=path)
            if found is None:
                raise Rejected(f"the script agent {command!r} is not on PATH; set ORCH_AGENT_COMMAND")
            return Path(found)
        place = self._home / command
        if not place.is_file():
            raise Rejected(f"there is no script agent {place}; set ORCH_AGENT_COMMAND to an executable")
        if not os.access(place, os.X_OK):
            raise Rejected(f"the script agent {place} is not executable; run chmod +x on it")
        return place


def _protocol(task: AgentTask) -> dict[str, str]:
    values = {
        "ORCH_ROLE": task.role.value,
        "ORCH_WORK_ITEM": task.work_item,
        "ORCH_TITLE": task.title,
        "ORCH_TASK_FILE": str(task.task_file.absolute()),
        "ORCH_ARTIFACT_DIR": str(task.artifact_dir.absolute()),
        "ORCH_BRANCH": task.branch,
        "ORCH_BASE": task.base,
        "ORCH_ROUND": str(task.round),
        "ORCH_RUN_ID": str(task.run_id),
    }
    # What people type may hold anything; the operating system refuses a NUL byte in an environment.
    return {name: value.replace("\0", "") for name, value in values.items()}


def _why_not(task: AgentTask, record: ExitRecord) -> str:
    if record.timed_out:
        return f"it did not end within {task.limit.total_seconds():g} s"
    if record.stopped:
        return "it was stopped"
    return f"its end was not seen: {record.error}" if record.error else "its end was not seen"


def _failed(usage: Usage, record: ExitRecord, said: str) -> AgentFailed:
    ending = f"signal {record.signal}" if record.signal else f"exit code {record.exit_code}"
    return AgentFailed(usage, f"{ending}: {said}" if said else ending, record.exit_code)


def _last_words(log_path: Path) -> str:
    lines = [line.strip() for line in tail_text(log_path, _TAIL).splitlines()]
    spoken = [line for line in lines if line and usage_in(line) is None]
    return redact(spoken[-1])[:_REASON] if spoken else ""
