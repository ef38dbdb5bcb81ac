"""Kinds of agent CLI: each builds what is started and reads what came of it, and starts nothing itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from orchestrator.plumbing.processes import ExitRecord
from orchestrator.ports.agent import AgentFailed, AgentTask, Finished, LimitReached


@dataclass(frozen=True, slots=True)
class Launch:
    """What is started: the argv, and the whole environment that it gets."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)


class Cli(Protocol):
    """One kind of agent CLI."""

    def launch(self, task: AgentTask) -> Launch:
        """What has to be started for ``task``; no process is made here.

        Raises:
            Rejected: it cannot be started, in one line that says what to do.
        """
        ...

    def judge(
        self, task: AgentTask, record: ExitRecord, log_path: Path
    ) -> Finished | LimitReached | AgentFailed:
        """What a run that was started came to, read from its exit record and its log."""
        ...
