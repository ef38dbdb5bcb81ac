"""The bare repositories that the local forge hosts: taken from a user's, and published back to it."""

import asyncio
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import delete, insert, select

from orchestrator.errors import AdapterError, BadInput, Conflict, Rejected
from orchestrator.forges.local.tables import forge_projects
from orchestrator.forges.sources import inspect, is_working_repository, local_path
from orchestrator.pipeline.ids import Commit
from orchestrator.plumbing.git import Git
from orchestrator.plumbing.git.refs import clone_bare, fetch, loose_ref, push, update_ref
from orchestrator.plumbing.git.trees import head_of, is_ancestor
from orchestrator.plumbing.sqlite import SqliteFile
from orchestrator.ports.clock import Clock

# Forced pushes to other branches stay allowed, because rebasing a branch needs them: hence this hook and not
# `receive.denyNonFastForwards`. The forge itself moves the base without a push, so nobody is let through.
UPDATE_HOOK: Final = """#!/bin/sh
if [ "$1" = {ref} ]; then
    echo "{name} is protected: it is changed by merging a pull request" >&2
    exit 1
fi
"""


@dataclass(frozen=True, slots=True)
class Project:
    """A hosted project: its bare repository, its protected base branch, and where it was taken from."""

    name: str
    base: str
    path: Path
    upstream: str

    @property
    def base_ref(self) -> str:
        """Full name of the base branch."""
        return f"refs/heads/{self.base}"


@dataclass(frozen=True, slots=True)
class Published:
    """Whether the user's repository has the merged base now; otherwise ``hint`` says what the user can do."""

    done: bool
    hint: str = ""


class Hosting:
    """Bare repositories ``<root>/<project>.git``."""

    def __init__(self, root: Path, database: SqliteFile, git: Git, clock: Clock) -> None:
        self._root = root
        self._database = database
        self._git = git
        self._clock = clock

    def project(self, name: str) -> Project:
        """The hosted project.

        Raises:
            Rejected: no such project is hosted.
        """
        found = self._find(name)
        if found is None:
            raise Rejected(f"the local forge hosts no project {name}")
        return found

    async def host(self, name: str, source: str, base: str) -> Path:
        """Take a project over from ``source`` and give its bare repository; again is no change.

        Raises:
            BadInput: the source is not usable, or the name is hosted from somewhere else.
        """
        if (path := local_path(source)) is not None:
            source = str(path.absolute())
        present = self._find(name)
        if present is not None:
            if (present.upstream, present.base) != (source, base):
                raise BadInput(f"project {name} is hosted already, from {present.upstream} ({present.base})")
            return present.path
        await inspect(self._git, source, base)
        project = Project(name, base, self._root / f"{name}.git", source)
        await self._clone(project)
        with self._database.transaction() as connection:
            connection.execute(
                insert(forge_projects).values(
                    name=name, base=base, upstream=source, hosted_at=self._clock.now()
                )
            )
        return project.path

    async def drop(self, name: str) -> None:
        """Host the project no longer and delete its bare repository; what is not hosted is no change."""
        with self._database.transaction() as connection:
            connection.execute(delete(forge_projects).where(forge_projects.c.name == name))
        await asyncio.to_thread(shutil.rmtree, self._root / f"{name}.git", ignore_errors=True)

    async def follow(self, name: str) -> Commit:
        """Take over what the user committed to the base upstream since; the base's head.

        Raises:
            Conflict: both went on by themselves, so that the base cannot simply be moved forward.
        """
        project = self.project(name)
        git, path = self._git, project.path
        seen = f"refs/upstream/{project.base}"
        await fetch(git, path, project.upstream, [f"+{project.base_ref}:{seen}"])
        ours, theirs = await _at(git, path, project.base_ref), await _at(git, path, seen)
        if theirs == ours or await is_ancestor(git, path, theirs, ours):
            return ours
        if not await is_ancestor(git, path, ours, theirs):
            raise Conflict(f"{project.base} went on here and at {project.upstream}: merge it there first")
        await update_ref(git, path, project.base_ref, new=theirs, old=ours)
        return theirs

    async def publish(self, name: str) -> Published:
        """Push the merged base to the user's repository; a refusal is no error but comes with a hint.

        Raises:
            Unavailable: the user's repository cannot be reached.
        """
        project = self.project(name)
        refs = f"{project.base_ref}:{project.base_ref}"
        try:
            await push(self._git, project.path, project.upstream, refs)
        except (Rejected, Conflict) as error:
            return Published(done=False, hint=await self._hint(project, error))
        return Published(done=True)

    async def _hint(self, project: Project, error: AdapterError) -> str:
        path = local_path(project.upstream)
        pull = f"git pull {shlex.quote(str(project.path))} {shlex.quote(project.base)}"
        refused = isinstance(error, Rejected) and path is not None and path.is_dir()
        if path is not None and refused and await is_working_repository(self._git, path):
            return f"{path} has {project.base} checked out, run there: {pull}"
        return f"{project.upstream} did not take {project.base} ({error}); run in a clone of it: {pull}"

    def _find(self, name: str) -> Project | None:
        with self._database.transaction() as connection:
            wanted = select(forge_projects).where(forge_projects.c.name == name)
            row = connection.execute(wanted).one_or_none()
        return None if row is None else Project(name, row.base, self._root / f"{name}.git", row.upstream)

    async def _clone(self, project: Project) -> None:
        # Without a row the project was never hosted: what stands there was cut short.
        shutil.rmtree(project.path, ignore_errors=True)
        await clone_bare(self._git, project.upstream, project.path)
        await self._git.run("remote", "remove", "origin", cwd=project.path)
        await self._git.run("symbolic-ref", "HEAD", project.base_ref, cwd=project.path)
        hook = project.path / "hooks" / "update"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(UPDATE_HOOK.format(ref=shlex.quote(project.base_ref), name=project.base))
        hook.chmod(0o755)


async def _at(git: Git, path: Path, ref: str) -> Commit:
    found = loose_ref(path, ref) or await head_of(git, path, ref)
    if found is None:
        raise Rejected(f"{path} has no {ref}")
    return Commit(found)
