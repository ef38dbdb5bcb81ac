"""What is to be run, and how it ended: the values that a run directory keeps."""

import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from orchestrator.errors import Malformed

SUPERVISOR_IS_GONE = "supervisor is gone"


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command, where it runs, exactly which environment it gets, and how long it may take.

    The environment is handed over from process to process and never written to a file. In the C locale the
    command gets `LC_CTYPE=C.UTF-8` besides, as any child of Python does (PEP 538).

    Raises:
        ValueError: the argv is empty, holds a NUL byte, or a duration makes no sense.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(repr=False)
    _: KW_ONLY
    limit: timedelta
    grace: timedelta
    """Between SIGTERM and SIGKILL for the whole tree."""
    keep_children: bool = False
    """Background processes outlive a command that ends by itself (a service that was started)."""

    def __post_init__(self) -> None:
        if not self.argv or not self.argv[0]:
            raise ValueError("a command needs at least the name of an executable")
        if any("\0" in text for text in (*self.argv, str(self.cwd))):
            raise ValueError("a command cannot hold a NUL byte")
        if self.limit <= timedelta(0) or self.grace < timedelta(0):
            raise ValueError("a time limit must be positive and a grace must not be negative")

    def encoded(self) -> bytes:
        """The content of the file `command` that the supervisor reads."""
        fields = (
            str(self.cwd.absolute()),
            str(self.limit.total_seconds()),
            str(self.grace.total_seconds()),
            "keep" if self.keep_children else "end",
            *self.argv,
        )
        return "\0".join(fields).encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Usage:
    """What the command and everything it left behind consumed."""

    user: timedelta
    system: timedelta
    max_rss_kb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitRecord:
    """How a run ended."""

    exit_code: int | None
    """Negative when a signal ended the command; None when it was not started or nobody saw its end."""
    timed_out: bool = False
    stopped: bool = False
    signal: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    duration: timedelta | None = None
    usage: Usage | None = None
    error: str | None = None
    """Why the command could not be started, ended or seen; None when all went as it should."""

    @property
    def ran(self) -> bool:
        """The command ended by itself, so its exit code is an answer."""
        return self.exit_code is not None and not self.timed_out and not self.stopped

    @property
    def ok(self) -> bool:
        """The command ended by itself with exit code 0."""
        return self.ran and self.exit_code == 0

    @property
    def lost(self) -> bool:
        """The supervisor died without a record: nobody knows how the command ended."""
        return self.error == SUPERVISOR_IS_GONE


@dataclass(frozen=True, slots=True)
class Identity:
    """Which supervisor and which command belong to a run directory."""

    pid: int
    child_pid: int
    child_ticks: int | None
    boot: str | None
    started: datetime
    keep_children: bool


def read_exit(path: Path) -> ExitRecord | None:
    """The exit record in a file, or None while there is none.

    Raises:
        Malformed: the file is not a whole exit record.
    """
    facts = _facts(path)
    if facts is None:
        return None
    try:
        usage = facts["rusage"]
        return ExitRecord(
            exit_code=None if facts["exit_code"] is None else int(facts["exit_code"]),
            timed_out=bool(facts["timed_out"]),
            stopped=bool(facts["stopped"]),
            signal=facts["signal"],
            started=datetime.fromisoformat(facts["started"]),
            ended=datetime.fromisoformat(facts["ended"]),
            duration=timedelta(seconds=facts["duration_s"]),
            usage=Usage(
                user=timedelta(seconds=usage["user_s"]),
                system=timedelta(seconds=usage["system_s"]),
                max_rss_kb=int(usage["max_rss_kb"]),
            ),
            error=facts["error"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _malformed(path, error) from error


def read_identity(path: Path) -> Identity | None:
    """The supervisor's own statement in a file, or None while there is none.

    Raises:
        Malformed: the file is not a whole statement.
    """
    facts = _facts(path)
    if facts is None:
        return None
    try:
        return Identity(
            pid=int(facts["pid"]),
            child_pid=int(facts["child_pid"]),
            child_ticks=facts["child_ticks"],
            boot=facts["boot"],
            started=datetime.fromisoformat(facts["started"]),
            keep_children=bool(facts["keep_children"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _malformed(path, error) from error


def _facts(path: Path) -> dict[str, Any] | None:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        facts = json.loads(content)
    except ValueError as error:
        raise _malformed(path, error) from error
    if not isinstance(facts, dict):
        raise _malformed(path, TypeError("it is not an object"))
    return facts


def _malformed(path: Path, error: Exception) -> Malformed:
    return Malformed(f"{path} is damaged: {type(error).__name__}: {error}")
