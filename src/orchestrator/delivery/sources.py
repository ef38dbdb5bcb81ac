"""The code of one commit in a directory that stays while commands work in it, whatever becomes of us.

A clean checkout of the workspace is removed when its user is cancelled; a deployment or a staging run goes on
then, and must not lose the ground under its feet.
"""

import asyncio
import shutil
from pathlib import Path

from orchestrator.errors import Unavailable
from orchestrator.pipeline.ids import Commit
from orchestrator.plumbing.git import Git
from orchestrator.ports.workspace import Workspace


class Sources:
    """Makes and removes copies of commits; each is a repository of its own with a detached head."""

    def __init__(self, workspace: Workspace, git: Git) -> None:
        self._workspace = workspace
        self._git = git

    async def provide(self, project: str, commit: Commit, directory: Path) -> Path:
        """``directory``, holding exactly ``commit``; made already, it is left as it is.

        Raises:
            Unavailable: it cannot be made now.
            Rejected: there is no such commit.
        """
        if directory.is_dir():
            return directory
        part = directory.with_name(f"{directory.name}.part")
        await remove(part)
        try:
            directory.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Unavailable(f"cannot make {directory.parent}: {error.strerror}") from error
        async with self._workspace.clean_checkout(project, commit) as checkout:
            options = ("--quiet", "--no-checkout", "--no-tags", "--template=")
            await self._git.run("clone", *options, "--", str(checkout), str(part))
        await self._git.run("checkout", "--quiet", "--detach", commit, cwd=part)
        part.rename(directory)
        return directory

    async def remove(self, directory: Path) -> None:
        """Remove a copy; removing what is not there is no change."""
        await remove(directory)


async def remove(directory: Path) -> None:
    """Remove a directory with everything in it; what cannot be deleted is left to the housekeeping."""
    await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)
