"""Where an agent works: in the item's worktree, or, when it is locked in, in a clone that is lent to it."""

import asyncio
import shutil
from pathlib import Path
from typing import Final

from orchestrator.errors import Rejected
from orchestrator.ports.agent import AgentTask, Confinement
from orchestrator.ports.producer import Assignment
from orchestrator.ports.workspace import Branch, Workspace
from orchestrator.producers.agent_run.terms import Terms

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
        await asyncio.to_thread(shutil.rmtree, clone, ignore_errors=True)
        await self._workspace.lend(assignment.branch, clone)

    async def take_back(self, branch: Branch, task: AgentTask) -> None:
        """Bring what an agent that was locked in left into the item's worktree.

        Raises:
            Rejected: what it left cannot be used.
            Unavailable: the workspace cannot be reached.
        """
        if task.confinement is not None:
            await self._workspace.take_back(branch, task.workspace)

    async def rescue(self, branch: Branch, task: AgentTask) -> None:
        """Keep what a run left that is not taken: the next run begins with a clean workspace."""
        try:
            await self.take_back(branch, task)
        except Rejected:
            # The clone stays where it is until the next run; what is in the worktree is kept.
            return
        await self._workspace.rescue(branch, f"run-{task.run_id}")
