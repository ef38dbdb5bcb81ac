"""One step of a contract, with every way of not running told as a value (ORCH-115 D5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from orchestrator.config.command import Command
from orchestrator.config.contract import Staging, Suite
from orchestrator.delivery.commands import CommandResult, ContractCommands
from orchestrator.errors import BadInput, Unavailable


@dataclass(frozen=True, slots=True)
class Surround:
    """Where and how the steps of one attempt run; each has a directory of its own below ``place``."""

    place: Path
    cwd: Path
    limit: timedelta
    variables: Mapping[str, str]


class Steps:
    """Runs the steps of one attempt, each once: asked again, the record of the first time answers."""

    def __init__(self, commands: ContractCommands, surround: Surround) -> None:
        self._commands = commands
        self._surround = surround

    async def run(self, name: str, command: Command, *, keep_children: bool = False) -> CommandResult:
        """How the step ended; what kept it from running is a result that did not run.

        Raises:
            Malformed: its run directory is damaged.
        """
        try:
            return await self._commands.run(
                command,
                run_dir=self._surround.place / name,
                cwd=self._surround.cwd,
                limit=self._surround.limit,
                variables=self._surround.variables,
                keep_children=keep_children,
            )
        except (Unavailable, BadInput) as error:
            return not_run(str(error))


def not_run(reason: str) -> CommandResult:
    """The result of a command that could not be executed."""
    return CommandResult(ran=False, exit_code=None, output="", duration=timedelta(), reason=reason)


def limit_of(section: Suite | Staging, default: timedelta) -> timedelta:
    """The time limit that a contract states, else the installation's."""
    return section.timeout if "timeout_s" in section.model_fields_set else default
