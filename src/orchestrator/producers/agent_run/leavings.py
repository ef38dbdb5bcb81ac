"""What an agent left in the workspace: whether it is what its role owes, and what its verdict says."""

from pathlib import Path
from typing import Final

from orchestrator.pipeline.artifacts import (
    Artifact,
    artifact_dir,
    artifact_path,
    missing_artifacts,
    required_artifacts,
)
from orchestrator.pipeline.ids import Commit
from orchestrator.plumbing.documents import parse_document
from orchestrator.ports.producer import Assignment
from orchestrator.ports.workspace import Workspace

LARGEST_SHOWN: Final = 60
"""Characters of a verdict that are shown; only a gate decides what it means."""


class Leavings:
    """Reads the worktree after a run."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def shortfall(self, assignment: Assignment, start: Commit) -> str | None:
        """What the role owes and did not leave; ``None`` when it left everything.

        A report with a verdict that was there before and is still the same was not written by this run.
        """
        worktree = await self._workspace.location(assignment.branch)
        place = worktree / artifact_dir(assignment.item.id)
        missing = missing_artifacts(assignment.role, assignment.stage, _paths_below(place))
        if missing:
            return f"left no {', '.join(row.name for row in missing)}"
        for row in _reports(assignment):
            path = artifact_path(assignment.item.id, row.number)
            before = await self._workspace.read(assignment.item.project, start, path)
            if before is not None and before.data == (worktree / path).read_bytes():
                return f"left {row.name} as it was: it says nothing about this code"
        return None

    async def verdict(self, assignment: Assignment) -> tuple[str, str]:
        """Path and machine key of the role's report, for showing; empty when it writes none."""
        worktree = await self._workspace.location(assignment.branch)
        for row in _reports(assignment):
            path = artifact_path(assignment.item.id, row.number)
            document = parse_document((worktree / path).read_text(encoding="utf-8", errors="replace"))
            said = document.meta.get(row.machine_key, "")
            return path, said.strip().upper()[:LARGEST_SHOWN] if isinstance(said, str) else ""
        return "", ""


def _reports(assignment: Assignment) -> list[Artifact]:
    return [row for row in required_artifacts(assignment.role, assignment.stage) if row.machine_key]


def _paths_below(place: Path) -> list[str]:
    return [file.relative_to(place).as_posix() for file in place.rglob("*") if file.is_file()]
