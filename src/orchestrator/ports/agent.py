"""The agent: a coding CLI that does the work of a role in a workspace."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol, TypeAlias

from orchestrator.pipeline.ids import Commit, WorkItemId
from orchestrator.pipeline.stages import Role


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run consumed; tokens as the CLI reports them, cost in US dollars."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class AgentTask:
    """One attempt of an agent, with everything that its CLI is told.

    ``run_dir`` is the run's own directory: starting again with the same directory re-attaches to the run
    instead of starting a second one.
    """

    role: Role
    work_item: WorkItemId
    project: str
    title: str
    workspace: Path
    task_file: Path
    artifact_dir: Path
    branch: str
    base: str
    base_commit: Commit | None
    round: int
    run_id: int
    run_dir: Path
    limit: timedelta
    grace: timedelta
    model: str | None = None
    effort: str | None = None
    command: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """The agent says that it is done (exit code 0)."""

    usage: Usage
    started: datetime
    ended: datetime


@dataclass(frozen=True, slots=True)
class LimitReached:
    """The provider or the CLI asks to come back later; costs no attempt (exit code 75)."""

    usage: Usage
    reason: str
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class AgentFailed:
    """The run failed: a non-zero exit, a time-out, a signal; spends one attempt."""

    usage: Usage
    reason: str
    exit_code: int | None
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class NotStarted:
    """The CLI could not be started at all: an environment fault, not the agent's."""

    reason: str


AgentOutcome: TypeAlias = Finished | LimitReached | AgentFailed | NotStarted


class AgentTransport(Protocol):
    """The only way to an agent CLI."""

    async def run(self, task: AgentTask) -> AgentOutcome:
        """Run (or re-attach to) the attempt and wait for its end."""
        ...

    async def stop(self, run_dir: Path) -> None:
        """End the run in ``run_dir`` with everything it started; ended already is no change."""
        ...


@dataclass(frozen=True, slots=True)
class RunView:
    """One attempt as it is shown: who, with what, how it ended and what it cost."""

    id: int
    role: str
    stage: str
    started_at: datetime
    finished_at: datetime | None = None
    exit_code: int | None = None
    outcome: str = ""
    model: str | None = None
    effort: str | None = None
    usage: Usage = field(default_factory=Usage)
    log_path: str = ""
