"""The only place that starts an agent CLI (LLM usage policy, rule 5)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

import structlog

from orchestrator.agents.attendance import Attendance, Care, note_ended, read_ended
from orchestrator.agents.clis import Cli, Reader
from orchestrator.agents.masking import mask_log
from orchestrator.agents.sandbox import confine
from orchestrator.agents.versions import Versions
from orchestrator.errors import BadInput, Rejected, Unavailable
from orchestrator.plumbing.processes import CommandSpec, ExitRecord, Processes, SupervisedRun
from orchestrator.ports.agent import (
    AgentOutcome,
    AgentTask,
    LogEvent,
    LogKind,
    NotStarted,
    Progress,
    Transcript,
    Usage,
)
from orchestrator.ports.clock import Clock

log = structlog.get_logger(__name__)

UNNAMED: Final = "script"
"""The kind of a run whose kind is not stored."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds of agent CLI by name, and the one of whoever names none."""

    clis: Mapping[str, Cli]
    default: str

    def __post_init__(self) -> None:
        if self.default not in self.clis:
            raise BadInput(
                f"{self.default!r} is no kind of agent CLI; there are {', '.join(sorted(self.clis))}"
            )

    def find(self, name: str) -> Cli:
        """The kind of that name.

        Raises:
            Rejected: there is none.
        """
        cli = self.clis.get(name or self.default)
        if cli is None:
            raise Rejected(f"there is no agent CLI of the kind {name!r}; set ORCH_AGENT_CLI")
        return cli


class CliTransport:
    """The port ``AgentTransport`` on supervised processes."""

    def __init__(
        self,
        processes: Processes,
        kinds: Kinds,
        clock: Clock,
        *,
        versions: Versions,
        care: Care | None = None,
    ) -> None:
        self._processes = processes
        self._kinds = kinds
        self._clock = clock
        self._versions = versions
        self._care = care or Care()

    async def version(self, cli: str, command: str = "") -> str:
        """The version of that kind of CLI in one line; empty for a kind that names none.

        Raises:
            Rejected: it is not there, does not answer, or cannot be driven; the message says what to do.
            Unavailable: no process can be started.
        """
        kind = self._kinds.find(cli)
        argv = kind.version_argv(command)
        if not argv:
            return ""
        said = await self._versions.of(argv)
        problem = kind.version_problem(said)
        if problem is not None:
            # It is asked again: what is mended may be the same file, such as a shim.
            self._versions.forget(argv)
            raise Rejected(problem)
        return said

    def login_problem(self, cli: str) -> str | None:
        """Why the provider of that kind of CLI would refuse it, as far as can be seen without asking.

        Raises:
            Rejected: there is no such kind.
        """
        return self._kinds.find(cli).login_problem()

    async def run(self, task: AgentTask, progress: Progress | None = None) -> AgentOutcome:
        """Run (or re-attach to) the attempt and wait for its end; cancelling leaves the agent at work.

        Raises:
            Unavailable: the run directory or a process could not be made.
            Malformed: a file of the run is damaged.
        """
        try:
            cli = self._kinds.find(task.cli)
            run = await self._processes.attach(task.run_dir) or await self._start(cli, task)
        except Rejected as error:
            return NotStarted(str(error))
        reader = cli.reader(task)
        record = await self._attend(run, reader, task, progress)
        if _was_never_started(record):
            return NotStarted(f"the agent CLI could not be started: {record.error}")
        if task.confinement is not None and record.exit_code and _was_never_inside(reader):
            return NotStarted(f"the agent could not be locked in: {reader.last_words}")
        outcome = _judged(cli, task, record, reader)
        await _mask(run.log_path)
        return outcome

    def transcript(self, kind: str) -> Transcript:
        """How a person reads the log of a run of this kind of CLI (`ports.agent.Transcripts`).

        Runs from before kinds were stored have none: they were scripts.
        """
        cli = self._kinds.clis.get(kind or UNNAMED)
        return cli.transcript() if cli is not None else each_line_as_text

    async def stop(self, run_dir: Path) -> None:
        """End the run in ``run_dir`` with everything it started; ended already is no change."""
        run = await self._processes.attach(run_dir)
        if run is not None:
            await run.stop()

    async def _start(self, cli: Cli, task: AgentTask) -> SupervisedRun:
        launch = confine(cli.launch(task), task)
        spec = CommandSpec(
            argv=launch.argv,
            cwd=task.workspace,
            env=launch.env,
            limit=max(task.limit, timedelta(seconds=1)),
            grace=task.grace,
        )
        try:
            _write(launch.files, task.run_dir)
        except OSError as error:
            raise Unavailable(f"{task.run_dir} cannot be written: {error.strerror}") from error
        return await self._processes.start(task.run_dir, spec)

    async def _attend(
        self, run: SupervisedRun, reader: Reader, task: AgentTask, progress: Progress | None
    ) -> ExitRecord:
        """Wait for the end of the run, and bring it about when it has to be."""
        attendance = Attendance(task, reader, run, care=self._care, clock=self._clock)
        waiting = asyncio.ensure_future(run.wait())
        told = Usage()
        try:
            while not waiting.done():
                attendance.read()
                ended = await attendance.verdict()
                if ended is not None:
                    log.info("run_ended", run=task.run_id, by=ended.by, reason=ended.reason)
                    note_ended(task.run_dir, ended)
                    await run.stop()
                told = await _tell(progress, reader.usage, told)
                await asyncio.wait({waiting}, timeout=attendance.pause)
        finally:
            waiting.cancel()
        record = waiting.result()
        await asyncio.to_thread(attendance.read_rest)
        await _tell(progress, reader.usage, told)
        await self._processes.sweep(run.run_dir)
        return record


async def _mask(log_path: Path) -> None:
    """Mask the log; a disk that is full must not cost what the run has done."""
    try:
        await asyncio.to_thread(mask_log, log_path)
    except OSError as error:
        log.warning("log_not_masked", path=str(log_path), reason=str(error))


async def _tell(progress: Progress | None, usage: Usage, told: Usage) -> Usage:
    if progress is not None and usage != told:
        await progress(usage)
    return usage


def _judged(cli: Cli, task: AgentTask, record: ExitRecord, reader: Reader) -> AgentOutcome:
    # A run that came to its own end before it was told to is judged by that.
    ended = read_ended(task.run_dir) if record.stopped or record.lost else None
    return cli.judge(task, record, reader, ended)


def each_line_as_text(line: str) -> Sequence[LogEvent]:
    """The transcript of a CLI that nothing is known of."""
    return (LogEvent(LogKind.TEXT, line.rstrip()),) if line.strip() else ()


def _was_never_started(record: ExitRecord) -> bool:
    """Whether the supervisor says that the system refused to execute the command."""
    ended = record.exit_code is not None or record.timed_out or record.stopped
    return record.error is not None and not ended and not record.lost


def _was_never_inside(reader: Reader) -> bool:
    """Whether the sandbox itself failed: then nothing but its complaint is in the log."""
    return not reader.turns and reader.last_words.startswith(
        ("bwrap: ", "the sandbox cannot be started", "cannot start ")
    )


def _write(files: Mapping[str, str], directory: Path) -> None:
    """Put what a launch needs beside the run, readable for ourselves only."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, text in files.items():
        place = directory / name
        place.touch(mode=0o600)
        place.write_text(text, encoding="utf-8", errors="surrogateescape")
