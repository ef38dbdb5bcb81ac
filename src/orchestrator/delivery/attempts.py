"""Where a runner's tries take place: a directory per job and try, so that a restart finds what was begun."""

from datetime import timedelta
from pathlib import Path

from orchestrator.config.command import Command
from orchestrator.delivery.commands import CommandResult, ContractCommands
from orchestrator.delivery.sources import Sources
from orchestrator.delivery.steps import Steps, Surround, not_run
from orchestrator.errors import Unavailable
from orchestrator.plumbing.processes import Processes
from orchestrator.ports.producer import Assignment
from orchestrator.ports.workspace import Workspace


class Attempts:
    """Runs the commands of assignments; each command of a try happens once."""

    def __init__(
        self,
        *,
        commands: ContractCommands,
        processes: Processes,
        workspace: Workspace,
        sources: Sources,
        runs_dir: Path,
    ) -> None:
        self._commands = commands
        self._processes = processes
        self._workspace = workspace
        self._sources = sources
        self._runs_dir = runs_dir

    def place(self, assignment: Assignment) -> Path:
        """The directory of this try."""
        name = f"{assignment.stage}-e{assignment.item.epoch}-j{assignment.job.id}-d{assignment.defers}"
        return self._runs_dir / assignment.item.id / name

    def variables(self, assignment: Assignment, environment: str) -> dict[str, str]:
        """What the commands of this try are told."""
        return self._commands.variables(
            assignment.item.project,
            revision=assignment.started_at,
            work_item=assignment.item.id,
            environment=environment,
        )

    async def in_worktree(
        self, assignment: Assignment, name: str, command: Command, *, limit: timedelta
    ) -> CommandResult:
        """Run one command in the item's worktree at the commit where the work starts (ORCH-116 D3).

        A command that was begun is waited for; its worktree is not touched meanwhile. Raises:
            Malformed: its run directory is damaged.
        """
        place = self.place(assignment)
        try:
            if await self._processes.attach(place / name) is None:
                cwd = await self._workspace.check_out(assignment.branch, assignment.started_at)
            else:
                cwd = await self._workspace.location(assignment.branch)
        except Unavailable as error:
            return not_run(str(error))
        steps = Steps(self._commands, Surround(place, cwd, limit, self.variables(assignment, "test")))
        return await steps.run(name, command)

    async def in_copy(self, assignment: Assignment, *, limit: timedelta) -> Steps:
        """Runs commands for staging in a copy of the commit, which stays until it is cleared.

        Raises:
            Unavailable: the copy cannot be made.
        """
        place = self.place(assignment)
        project, commit = assignment.item.project, assignment.started_at
        cwd = await self._sources.provide(project, commit, place / "checkout")
        return Steps(self._commands, Surround(place, cwd, limit, self.variables(assignment, "staging")))

    async def clear(self, assignment: Assignment) -> None:
        """Remove the copy; the records of the commands stay."""
        await self._sources.remove(self.place(assignment) / "checkout")
