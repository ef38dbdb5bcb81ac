"""The only place that starts an agent CLI (LLM usage policy, rule 5)."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from orchestrator.agents.clis import Cli
from orchestrator.agents.log import GrowingLog
from orchestrator.errors import BadInput, Rejected
from orchestrator.plumbing.processes import CommandSpec, ExitRecord, Processes, SupervisedRun
from orchestrator.ports.agent import AgentOutcome, AgentTask, NotStarted, Progress
from orchestrator.ports.clock import Clock


class CliTransport:
    """The port ``AgentTransport`` on supervised processes.

    ``clis`` are the kinds by name, ``default`` the kind of a project that ``kinds`` does not name.
    """

    def __init__(
        self,
        processes: Processes,
        clis: Mapping[str, Cli],
        default: str,
        clock: Clock,
        *,
        kinds: Mapping[str, str] | None = None,
    ) -> None:
        if default not in clis:
            raise BadInput(f"{default!r} is no kind of agent CLI; there are {', '.join(sorted(clis))}")
        self._processes = processes
        self._clis = clis
        self._default = default
        self._clock = clock
        self._kinds = kinds if kinds is not None else {}

    async def run(self, task: AgentTask, progress: Progress | None = None) -> AgentOutcome:
        """Run (or re-attach to) the attempt and wait for its end; cancelling leaves the agent at work.

        Raises:
            Unavailable: the run directory or a process could not be made.
            Malformed: a file of the run is damaged.
        """
        kind = self._kinds.get(task.project, self._default)
        cli = self._clis.get(kind)
        if cli is None:
            return NotStarted(f"there is no agent CLI of the kind {kind!r}; set ORCH_AGENT_CLI")
        run = await self._processes.attach(task.run_dir)
        if run is None:
            try:
                run = await self._start(cli, task)
            except Rejected as error:
                return NotStarted(str(error))
        record = await run.wait()
        if _was_never_started(record):
            return NotStarted(f"the agent CLI could not be started: {record.error}")
        reader, log = cli.reader(task), GrowingLog(run.log_path)
        for line in (*log.lines(), *log.last_line()):
            reader.feed(line)
        return cli.judge(task, record, reader, None)

    async def stop(self, run_dir: Path) -> None:
        """End the run in ``run_dir`` with everything it started; ended already is no change."""
        run = await self._processes.attach(run_dir)
        if run is not None:
            await run.stop()

    async def _start(self, cli: Cli, task: AgentTask) -> SupervisedRun:
        launch = cli.launch(task)
        spec = CommandSpec(
            argv=launch.argv,
            cwd=task.workspace,
            env=launch.env,
            limit=max(task.limit, timedelta(seconds=1)),
            grace=task.grace,
        )
        _write(launch.files, task.run_dir)
        return await self._processes.start(task.run_dir, spec)


def _was_never_started(record: ExitRecord) -> bool:
    """Whether the supervisor says that the system refused to execute the command."""
    ended = record.exit_code is not None or record.timed_out or record.stopped
    return record.error is not None and not ended and not record.lost


def _write(files: Mapping[str, str], directory: Path) -> None:
    """Put what a launch needs beside the run, readable for ourselves only."""
    if files:
        directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        place = directory / name
        place.touch(mode=0o600)
        place.write_text(text, encoding="utf-8")
