"""Where an agent works: in the item's worktree, or, when it is locked in, in a clone that is lent to it."""

import asyncio
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog

from orchestrator.errors import Rejected
from orchestrator.pipeline.ids import WorkItemId
from orchestrator.ports.agent import AgentTask, Confinement
from orchestrator.ports.producer import Assignment
from orchestrator.ports.workspace import Branch, Workspace
from orchestrator.producers.agent_run.terms import Terms

log = structlog.get_logger(__name__)

_CLONE: Final = "clone"
_HOME: Final = "agent-home"


class Places:
    """Finds and prepares the directory of an agent; ``root`` is that of the runs.

    A clone and the home inside belong to the item, not to the run: a conversation that is resumed finds its
    files where they were.
    """

    def __init__(self, workspace: Workspace, root: Path) -> None:
        self._workspace = workspace
        self._root = root

    async def of(self, assignment: Assignment, terms: Terms) -> Path:
        """The directory in which the agent works, whether it is there or not."""
        if terms.locked_in:
            return self._root / assignment.item.id / _CLONE
        return await self._workspace.location(assignment.branch)

    def confinement(self, assignment: Assignment, terms: Terms) -> Confinement | None:
        """How the run is locked in; ``None`` when it is not."""
        if not terms.locked_in:
            return None
        home = self._root / assignment.item.id / _HOME
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Confinement(home=home, network=terms.network, memory_mb=terms.memory_mb)

    async def lend(self, assignment: Assignment, terms: Terms) -> None:
        """Give an agent that is locked in a fresh clone of the worktree as it is now."""
        if not terms.locked_in:
            return
        clone = await self.of(assignment, terms)
        await asyncio.to_thread(_removed, clone)
        await self._workspace.lend(assignment.branch, clone)

    async def take_back(self, branch: Branch, task: AgentTask) -> None:
        """Bring what an agent that was locked in left into the item's worktree; taken already is no change.

        Raises:
            Rejected: what it left cannot be used.
            Unavailable: the workspace cannot be reached.
        """
        if task.confinement is not None and task.workspace.is_dir():
            await self._workspace.take_back(branch, task.workspace)

    async def saved(self, task: AgentTask) -> None:
        """The work of an agent that was locked in is on the branch: its clone is not looked at any more."""
        if task.confinement is not None:
            await asyncio.to_thread(_removed, task.workspace)

    async def bring_home(self, branch: Branch) -> None:
        """Bring what a clone of the item still holds into its worktree, whoever worked in it.

        Raises:
            Unavailable: the workspace cannot be reached.
        """
        clone = self._root / branch.item / _CLONE
        if not clone.is_dir():
            return
        try:
            await self._workspace.take_back(branch, clone)
        except Rejected as error:
            log.warning("clone_not_taken_back", work_item=branch.item, reason=str(error))

    async def clear(self, item: WorkItemId) -> None:
        """Remove what was lent to the agents of an item that is over, and the home that they had."""
        for name in (_CLONE, _HOME):
            await asyncio.to_thread(_removed, self._root / item / name)

    async def rescue(self, branch: Branch, task: AgentTask) -> None:
        """Keep what a run left that is not taken: the next run begins with a clean workspace."""
        await self.keep(branch, f"run-{task.run_id}")

    async def keep(self, branch: Branch, name: str) -> None:
        """Keep what stands in the item's clone or worktree at ``refs/orchestrator/rescue/<item>/<name>``."""
        await self.bring_home(branch)
        await self._workspace.rescue(branch, name)


def _removed(directory: Path) -> None:
    """Remove a directory, also one in which nothing may be written (as caches of languages are). Blocking."""
    for place, folders, _ in os.walk(directory):
        for folder in (place, *(os.path.join(place, name) for name in folders)):
            if not os.path.islink(folder):
                with suppress(OSError):
                    os.chmod(folder, 0o700)
    shutil.rmtree(directory, ignore_errors=True)
    if directory.exists():
        log.warning("not_removed", path=str(directory))
