"""Kinds of agent CLI: each builds what is started and reads what came of it, and starts nothing itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from orchestrator.plumbing.processes import ExitRecord
from orchestrator.ports.agent import AgentOutcome, AgentTask, Session, Transcript, Usage


@dataclass(frozen=True, slots=True)
class Launch:
    """What is started: the argv, the whole environment that it gets, and what it has to see when locked in.

    ``readable`` are absolute paths that the CLI needs besides the system's (its own program, its login).
    ``endpoint`` is the address (``https://host:port``) of the model, the only one that a run without network
    may reach. ``files`` have to lie in the run's directory before the start: name and text, for nobody else
    to read.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    readable: tuple[str, ...] = ()
    endpoint: str = ""
    files: Mapping[str, str] = field(default_factory=dict, repr=False)


class EndedBy(StrEnum):
    """Why we ended a run ourselves."""

    BUDGET = "budget"
    RESULT = "result"
    STALL = "stall"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that we ended ourselves, and why in one line; written into its directory before it is done."""

    by: EndedBy
    reason: str


class Reader(Protocol):
    """Reads the lines of one run's log as they come; never raises, whatever a line holds."""

    @property
    def usage(self) -> Usage:
        """What the run consumed, as far as it was read."""
        ...

    @property
    def turns(self) -> int:
        """Answers of the model, as far as they were read."""
        ...

    @property
    def result_seen(self) -> bool:
        """Whether the CLI said that it is through; it should end by itself soon."""
        ...

    @property
    def session(self) -> Session | None:
        """The conversation that could be resumed."""
        ...

    @property
    def last_words(self) -> str:
        """The last thing the CLI said that can explain its end, masked and short."""
        ...

    def feed(self, line: str) -> None:
        """Read the next line."""
        ...


class Cli(Protocol):
    """One kind of agent CLI."""

    def version_argv(self, command: str) -> tuple[str, ...]:
        """What prints the version of the CLI; empty where there is no such thing.

        ``command`` is the project's own executable; empty: that of the installation.

        Raises:
            Rejected: there is no such CLI, in one line that says what to do.
        """
        ...

    def version_problem(self, said: str) -> str | None:
        """Why the version that the CLI named cannot be driven, and what to do; ``None`` when it can."""
        ...

    def login_problem(self) -> str | None:
        """Why its provider would refuse it, as far as can be seen without asking; what to do about it."""
        ...

    def launch(self, task: AgentTask) -> Launch:
        """What has to be started for ``task``; no process is made here.

        Raises:
            Rejected: it cannot be started, in one line that says what to do.
        """
        ...

    def reader(self, task: AgentTask) -> Reader:
        """A reader for the log of a run of ``task``, from its first line on."""
        ...

    def judge(self, task: AgentTask, record: ExitRecord, read: Reader, ended: Ended | None) -> AgentOutcome:
        """What a run that was started came to; ``read`` has read its whole log."""
        ...

    def transcript(self) -> Transcript:
        """How a person reads the log."""
        ...
