"""The agent: a coding CLI that does the work of a role in a workspace."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Protocol, TypeAlias

from orchestrator.pipeline.budgets import Ceiling
from orchestrator.pipeline.ids import Commit, WorkItemId
from orchestrator.pipeline.stages import Role


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run consumed; tokens as the CLI reports them, cost in US dollars.

    ``input_tokens`` are those that were neither read from the provider's cache nor written to it.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def tokens(self) -> int:
        """All tokens, in whatever way they were read or written."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost_usd + other.cost_usd,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation with a model that a later run may go on with; ``cost_usd`` is what it cost so far."""

    id: str
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Confinement:
    """How a run is locked in (``sandbox: bubblewrap``).

    ``home`` is the HOME inside, kept from run to run of an item so that sessions can be resumed; without
    ``network`` nothing but the model's endpoint can be reached. ``memory_mb`` limits each process; 0: not.
    """

    home: Path
    network: bool = True
    memory_mb: int = 0


@dataclass(frozen=True, slots=True)
class AgentTask:
    """One attempt of an agent, with everything that its CLI is told.

    ``run_dir`` is the run's own directory: starting again with the same directory re-attaches to the run
    instead of starting a second one. ``prompt`` is what the role is told (its system prompt), ``session`` the
    id (a UUID) of the conversation that begins, ``resume`` the one that goes on instead. ``ceiling`` is what
    the run may consume. ``cli`` names the kind of CLI; empty: that of the installation. ``email`` is the
    address under which the role commits; empty: whatever git finds.
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
    cli: str = ""
    fallback_model: str | None = None
    prompt: str = ""
    session: str = ""
    resume: Session | None = None
    ceiling: Ceiling = field(default_factory=Ceiling)
    email: str = ""
    confinement: Confinement | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """The agent says that it is done: exit code 0, and a result that is no error where the CLI gives one.

    ``denied`` are the tools that it asked for and that its role has, but was refused.
    """

    usage: Usage
    started: datetime
    ended: datetime
    denied: tuple[str, ...] = ()


class LimitKind(StrEnum):
    """Why the provider does not serve us now."""

    ASKED = "asked"
    """The CLI itself asks to come back later (exit code 75 of a script agent); says nothing of a provider."""
    RATE = "rate limit"
    OVERLOAD = "overload"
    AUTH = "authentication"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class LimitReached:
    """The provider or the CLI asks to come back later; costs no attempt.

    ``retry_at`` is when the provider said that it serves us again; ``session`` can be resumed then.
    """

    usage: Usage
    reason: str
    retry_at: datetime | None = None
    kind: LimitKind = LimitKind.ASKED
    session: Session | None = None


@dataclass(frozen=True, slots=True)
class BudgetReached:
    """The run was ended at a ceiling: a person decides whether more is spent; never a retry."""

    usage: Usage
    reason: str
    exit_code: int | None = None


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


AgentOutcome: TypeAlias = Finished | LimitReached | BudgetReached | AgentFailed | NotStarted

Progress: TypeAlias = Callable[[Usage], Awaitable[None]]
"""Told what a run has consumed so far, after each answer of its model."""


class AgentTransport(Protocol):
    """The only way to an agent CLI."""

    async def run(self, task: AgentTask, progress: Progress | None = None) -> AgentOutcome:
        """Run (or re-attach to) the attempt and wait for its end; ``progress`` is told what it consumes."""
        ...

    async def version(self, cli: str, command: str = "") -> str:
        """The version of that kind of CLI, in one line; empty for a kind that names none.

        Raises ``Rejected``, with what to do, when it is not there or cannot be driven.
        """
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
    cli: str = ""
    cli_version: str = ""


class LogKind(StrEnum):
    """What a line of a run's log tells, for showing."""

    TEXT = "text"
    TOOL = "tool"
    EDIT = "edit"
    COMMAND = "command"
    OUTPUT = "output"
    COST = "cost"
    NOTE = "note"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One readable event of a run: ``text`` in one line, ``detail`` whatever more there is to see."""

    kind: LogKind
    text: str
    detail: str = ""


Transcript: TypeAlias = Callable[[str], Sequence[LogEvent]]
"""Reads one line of a run's log; a line that tells nothing to a person gives nothing."""

Transcripts: TypeAlias = Callable[[str], Transcript]
"""The way to read the log of a run of this kind of CLI; of an unknown kind: each line is a text."""
