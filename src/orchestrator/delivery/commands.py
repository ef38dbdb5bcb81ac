"""Running a contract's commands: the same surroundings and the same outcome for tests, staging and deploy."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from orchestrator.config.contract import Command
from orchestrator.plumbing.processes import CommandSpec, ExitRecord, Processes, clean_environment, tail_text
from orchestrator.plumbing.redaction import redact

TAIL_BYTES = 64_000


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a contract command ended.

    ``ran`` is the two-level outcome's first level (ORCH-115 D5): the tool came to an end by itself, so its
    exit code is an answer. Otherwise ``reason`` says what went wrong, and the code is not to blame.
    """

    ran: bool
    exit_code: int | None
    output: str
    duration: timedelta
    timed_out: bool = False
    reason: str = ""

    @property
    def ok(self) -> bool:
        """The tool ran and said yes."""
        return self.ran and self.exit_code == 0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every contract command of an installation is told (environment variables of the contract).

    ``state_root`` holds one directory per project for the state of its services; ``ports_of`` names the ports
    of a project's production and staging services.
    """

    state_root: Path
    ports_of: Callable[[str], tuple[int, int]]
    extra: Mapping[str, str] = field(default_factory=dict)

    def variables(self, project: str, *, revision: str, work_item: str, environment: str) -> dict[str, str]:
        """The variables of one command; the project's state directory is made."""
        state = self.state_root / project
        state.mkdir(parents=True, exist_ok=True)
        production, staging = self.ports_of(project)
        return {
            **self.extra,
            "ORCH_REVISION": revision,
            "ORCH_WORK_ITEM": work_item,
            "ORCH_ENVIRONMENT": environment,
            "ORCH_STATE_DIR": str(state),
            "ORCH_PORT_PRODUCTION": str(production),
            "ORCH_PORT_STAGING": str(staging),
        }


class ContractCommands:
    """Runs contract commands under the supervisor, each in a run directory that makes it happen once."""

    def __init__(self, processes: Processes, surroundings: Surroundings, *, grace: timedelta) -> None:
        self._processes = processes
        self._surroundings = surroundings
        self._grace = grace

    def variables(self, project: str, *, revision: str, work_item: str, environment: str) -> dict[str, str]:
        """What a command of this project is told; also what placeholders in its URLs stand for."""
        return self._surroundings.variables(
            project, revision=revision, work_item=work_item, environment=environment
        )

    async def run(
        self,
        command: Command,
        *,
        run_dir: Path,
        cwd: Path,
        limit: timedelta,
        variables: Mapping[str, str],
        keep_children: bool = False,
    ) -> CommandResult:
        """Run ``command`` (or re-attach to it in ``run_dir``) and wait for its end.

        Raises ``Unavailable`` when no process could be made and ``Malformed`` for a damaged run directory.
        """
        spec = CommandSpec(
            argv=command.argv_in(variables),
            cwd=cwd,
            env=clean_environment({**_path_with_this_python(), **variables}),
            limit=limit,
            grace=self._grace,
            keep_children=keep_children,
        )
        record = await self._processes.run(run_dir, spec)
        return CommandResult(
            ran=record.ran,
            exit_code=record.exit_code,
            output=redact(tail_text(run_dir / "output.log", TAIL_BYTES)),
            duration=record.duration or timedelta(),
            timed_out=record.timed_out,
            reason=_reason(record, limit),
        )


def _reason(record: ExitRecord, limit: timedelta) -> str:
    if record.ran:
        return ""
    if record.timed_out:
        return f"no answer within {limit.total_seconds():g} s"
    if record.stopped:
        return "it was stopped"
    return record.error or "it did not run"


def _path_with_this_python() -> dict[str, str]:
    """``python`` in a contract means the interpreter that runs the orchestrator."""
    inherited = clean_environment({}).get("PATH", "/usr/bin:/bin")
    return {"PATH": f"{Path(sys.executable).parent}:{inherited}"}
