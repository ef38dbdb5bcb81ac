"""Registering a project: the forge hosts its repository, the board numbers its items."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import structlog

from orchestrator.config.contract import Contract
from orchestrator.config.projects import Project
from orchestrator.engine.registry import StoredProjects
from orchestrator.errors import AdapterError, BadInput, OrchestratorError
from orchestrator.forges.local import LocalForge
from orchestrator.forges.worktrees import MirrorWorkspace
from orchestrator.plumbing.sockets import free_ports
from orchestrator.store import SqlStore
from orchestrator.trackers.board import BoardTracker

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ProjectAdded:
    """A project that was registered: its contract, and what its owner should know."""

    project: Project
    contract: Contract | None
    notes: tuple[str, ...]


class Projects(StoredProjects):
    """The registry, and what registering means here: hosting, mirroring, numbering."""

    def __init__(
        self, *, store: SqlStore, workspace: MirrorWorkspace, forge: LocalForge, board: BoardTracker
    ) -> None:
        super().__init__(store=store, workspace=workspace, fetch=self._take_over)
        self._mirrors = workspace
        self._forge = forge
        self._board = board

    async def add(self, project: Project, ports: tuple[int, int] | None = None) -> ProjectAdded:
        """Register a project: host its repository, mirror it, read its contract, number its items.

        Raises ``BadInput`` for a repository or a contract that cannot be used; nothing is registered then.
        """
        is_new = project.name not in {known.name for known in await self.all()}
        if is_new:
            # What an earlier, refused attempt may have left must not decide about this one.
            await self._undo(project.name)
        try:
            contract = await self._take_in(project, ports)
        except OrchestratorError as error:
            if is_new:
                await self._undo(project.name)
            raise BadInput(str(error)) from error
        notes = [*_notes(project, contract), *self._way_back(project)]
        return ProjectAdded(project, contract, tuple(notes))

    async def _take_in(self, project: Project, ports: tuple[int, int] | None) -> Contract | None:
        await self._forge.host(project.name, project.repo_url, project.base_branch)
        await self._mirrors.register(project.name, project.base_branch)
        await self._mirrors.refresh(project.name)
        await self.put(project, ports or _two_free_ports())
        contract = await self.contract(project.name)
        await self._board.create_project(project.name, project.prefix)
        return contract

    async def _undo(self, name: str) -> None:
        await self.remove(name)
        await self._mirrors.unregister(name)
        await self._forge.drop(name)

    def _way_back(self, project: Project) -> Iterator[str]:
        """How merged work gets to its owner: git refuses to push under a person's feet."""
        source = Path(project.repo_url)
        if (source / ".git").exists():
            yield (
                f"merged work is pushed to {source} unless {project.base_branch} is checked out there; then "
                f"run in it: git pull {self._forge.path(project.name)} {project.base_branch}"
            )

    async def _take_over(self, project: Project) -> None:
        """What the owner committed upstream comes in before an item starts, if it can be had now."""
        try:
            await self._mirrors.refresh(project.name)
        except AdapterError as error:
            log.warning("upstream_not_followed", project=project.name, reason=str(error))


def _two_free_ports() -> tuple[int, int]:
    production, staging = free_ports(2)
    return production, staging


def _notes(project: Project, contract: Contract | None) -> tuple[str, ...]:
    if contract is None:
        return (
            f"{project.name} has no .orchestrator.yml on {project.base_branch}: nothing is tested, staged or "
            "deployed by us until it has one (docs/contract.md)",
        )
    missing = [name for name in ("test", "staging", "deploy") if not contract.declares(name)]
    return tuple(f"the contract declares no {name} section" for name in missing)
