"""The registry of projects: who owns which repository, tracker and prefix (ORCH-6)."""

from collections.abc import Sequence
from typing import Protocol

from orchestrator.config.contract import Contract
from orchestrator.config.projects import Project


class ProjectRegistry(Protocol):
    """Looks up projects and the contracts of their repositories."""

    async def project(self, name: str) -> Project:
        """The project called ``name``; ``Rejected`` when none is registered."""
        ...

    async def all(self) -> Sequence[Project]:
        """All registered projects, by name."""
        ...

    async def refresh(self, name: str) -> None:
        """Bring the project's mirror up to date with what its owner committed elsewhere."""
        ...

    async def contract(self, name: str) -> Contract | None:
        """The contract on the project's protected base branch; ``None`` when it has none.

        Raises ``ContractError`` (a ``BadInput``) with file, line and column when it cannot be used.
        """
        ...
