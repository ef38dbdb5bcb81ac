"""Clones that are lent to agents which are locked in, and what is taken back out of them.

A linked worktree cannot be lent: its repository lies outside of what such an agent sees, and if it did not,
the agent could write what we run. So it gets a clone of its own, and that clone is never trusted again. No
git ever runs in it or reads its configuration: its objects are copied out as files, and its files are read
with the git directory of our own worktree. Hooks, filters, alternates and the like that an agent writes into
its clone stay there.
"""

import asyncio
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.errors import AdapterError, Rejected
from orchestrator.forges.checkouts import Checkouts
from orchestrator.forges.mirror import EXCLUDE, TRACKING, Mirror
from orchestrator.pipeline.artifacts import artifact_dir
from orchestrator.pipeline.ids import Commit
from orchestrator.plumbing.git import Author, Git
from orchestrator.plumbing.git.failures import file_errors
from orchestrator.plumbing.git.foreign import copy_index, copy_objects, head_in
from orchestrator.plumbing.git.refs import fetch
from orchestrator.plumbing.git.trees import NOTES, head_of, is_ancestor, tree_of
from orchestrator.plumbing.git.worktrees import git_directory
from orchestrator.ports.workspace import Branch

AGENT: Final = Author("Agent", "agent@localhost")
"""Whom an agent's own commits are by: it has no configuration that could say so."""

_CHECKED: Final = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "fetch.fsckObjects",
    "GIT_CONFIG_VALUE_0": "true",
}
_TAKEN: Final = "refs/heads/taken"
_GITLINK: Final = b"160000"
_SHOWN: Final = 5


class Lending:
    """Makes clones of worktrees and brings back what was done in them."""

    def __init__(self, git: Git, checkouts: Checkouts) -> None:
        self._git = git
        self._checkouts = checkouts

    async def lend(self, worktree: Path, directory: Path, branch: Branch) -> None:
        """Make the clone, complete or not at all; one that is there stays as it is.

        Raises:
            Unavailable: a file cannot be read or written.
        """
        if (directory / ".git").exists():
            return
        partial = directory.with_name(f"{directory.name}.partial")
        with file_errors():
            await asyncio.to_thread(_emptied, partial, directory)
        # The branch that is checked out cannot be fetched to, so another one is until the work is there.
        await self._git.run("init", "--quiet", "--template=", "--initial-branch=lent/none", cwd=partial)
        mine, base = f"refs/heads/{branch.name}", f"{TRACKING}{branch.base}"
        await fetch(self._git, partial, str(worktree), [f"HEAD:{mine}", f"{base}:{base}"])
        await self._git.run("checkout", "--quiet", branch.name, "--", cwd=partial)
        for name, value in (("user.name", AGENT.name), ("user.email", AGENT.email)):
            await self._git.run("config", name, value, cwd=partial)
        with file_errors():
            (partial / ".git" / "info").mkdir(exist_ok=True)
            (partial / ".git" / "info" / "exclude").write_text(EXCLUDE)
            await asyncio.to_thread(_brought_along, worktree, partial, artifact_dir(branch.item))
            partial.rename(directory)

    async def take_back(self, mirror: Mirror, worktree: Path, clone: Path, *, artifacts: str) -> None:
        """Make the worktree what the clone is: its head, and its files as changes on top of it.

        Links stay what they are, but on the way to the directory of ``artifacts`` and in it they are left
        out: those files are read in the worktree.

        Raises:
            Rejected: the clone is damaged, or holds conflicts.
            Unavailable: a file cannot be read or written.
        """
        with file_errors():
            head = Commit(head_in(clone))
        with _place() as place:
            await self._refuse_conflicts(worktree, clone, place)
            if await head_of(self._git, mirror.path, head) is None:
                await self._import(mirror, clone, head, place)
            if await head_of(self._git, mirror.path, head) is None:
                raise Rejected(f"the clone has no commit {head}, where its head is")
            seen = _Seen(clone, worktree, place / "index")
            tree = await self._tree(seen, head, artifacts)
        if await self._is_saved(worktree, head, tree):
            return
        await self._checkouts.put(mirror, worktree, head)
        await self._git.run("read-tree", "--reset", "-u", tree, cwd=worktree)

    async def _refuse_conflicts(self, worktree: Path, clone: Path, place: Path) -> None:
        index = place / "theirs"
        with file_errors():
            if not copy_index(clone, index):
                return
        seen = _Seen(clone, worktree, index)
        try:
            listed = await self._git.run("ls-files", "--unmerged", "-z", cwd=clone, env=seen.env)
        except AdapterError:
            # An index that git cannot read says nothing; what counts are the files.
            return
        conflicts = sorted({line.partition(b"\t")[2] for line in listed.stdout.split(b"\0") if line})
        if conflicts:
            names = ", ".join(name.decode("utf-8", "backslashreplace") for name in conflicts[:_SHOWN])
            raise Rejected(f"conflicts are not resolved in {names}")

    async def _import(self, mirror: Mirror, clone: Path, head: Commit, place: Path) -> None:
        """Bring the commit with its history into the mirror: from a repository of ours with their objects."""
        ours = place / "objects.git"
        await self._git.run("init", "--bare", "--quiet", "--template=", str(ours), cwd=place)
        with file_errors():
            await asyncio.to_thread(copy_objects, clone, ours)
        if await head_of(self._git, ours, head) is None:
            return
        await self._git.run("update-ref", _TAKEN, head, cwd=ours)
        async with mirror.busy:
            # Every object is hashed again and checked, and the history has to be complete.
            refspec = f"+{_TAKEN}:refs/orchestrator/taken"
            await fetch(self._git, mirror.path, str(ours), [refspec], env=_CHECKED)

    async def _tree(self, seen: "_Seen", head: Commit, artifacts: str) -> str:
        """The tree that a commit of everything in the clone would have, made by our own git directory."""
        clone, env = seen.clone, seen.env
        await self._git.run("read-tree", head, cwd=clone, env=env)
        listed = await self._git.run("ls-files", "--stage", "-z", cwd=clone, env=env)
        entries = [line.partition(b"\t") for line in listed.stdout.split(b"\0") if line]
        tracked = {path for facts, _, path in entries if not facts.startswith(_GITLINK)}
        others = await self._git.run(
            *("ls-files", "--others", "--exclude-standard", "-z", "--", ".", f":(exclude,top,glob){NOTES}"),
            cwd=clone,
            env=env,
        )
        paths = sorted(tracked | {path for path in others.stdout.split(b"\0") if path})
        found = await asyncio.to_thread(_usable, clone, paths, artifacts)
        # What links lead to is gone as far as git goes; it must not be asked about paths beyond a link.
        gone = [path for path in paths if path in tracked and path not in found]
        await self._update(clone, env, "--force-remove", gone)
        await self._update(clone, env, "--add", [path for path in paths if path in found])
        return (await self._git.run("write-tree", cwd=clone, env=env)).text

    async def _update(self, clone: Path, env: Mapping[str, str], how: str, paths: list[bytes]) -> None:
        if paths:
            command = ("update-index", "--replace", how, "-z", "--stdin")
            await self._git.run(*command, cwd=clone, env=env, input=b"\0".join(paths) + b"\0")

    async def _is_saved(self, worktree: Path, head: Commit, tree: str) -> bool:
        """Whether the worktree stands at a commit of this very work."""
        present = await head_of(self._git, worktree, "HEAD")
        if present is None or await tree_of(self._git, worktree, present) != tree:
            return False
        return present != head and await is_ancestor(self._git, worktree, head, present)


@dataclass(frozen=True, slots=True)
class _Seen:
    """The files of a clone, seen by git with the git directory of our worktree and an index of its own."""

    clone: Path
    worktree: Path
    index: Path

    @property
    def env(self) -> dict[str, str]:
        """What makes git do so."""
        return {
            "GIT_DIR": str(git_directory(self.worktree)),
            "GIT_WORK_TREE": str(self.clone.absolute()),
            "GIT_INDEX_FILE": str(self.index),
        }


def _usable(clone: Path, paths: list[bytes], artifacts: str) -> set[bytes]:
    """The paths that are files or links and lie in real directories all the way down."""
    root, place, found = os.fsencode(clone), os.fsencode(f"{artifacts}/"), set()
    directories = {b"": True}
    for path in paths:
        # A nested repository is listed with a slash at its end; its files are not ours to take.
        if not path.endswith(b"/") and _is_real(root, os.path.dirname(path), directories):
            mode = _mode(os.path.join(root, path))
            matters = path.startswith(place) or place.startswith(path + b"/")
            if stat.S_ISREG(mode) or (stat.S_ISLNK(mode) and not matters):
                found.add(path)
    return found


def _is_real(root: bytes, directory: bytes, known: dict[bytes, bool]) -> bool:
    if directory not in known:
        above = _is_real(root, os.path.dirname(directory), known)
        known[directory] = above and stat.S_ISDIR(_mode(os.path.join(root, directory)))
    return known[directory]


def _mode(path: bytes) -> int:
    """The mode of what is at a path itself; 0 when nothing is."""
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def _emptied(partial: Path, directory: Path) -> None:
    if partial.exists():
        shutil.rmtree(partial)
    partial.mkdir(mode=0o700, parents=True)
    if directory.exists():
        # An empty one only: whatever else is there is not ours to delete.
        directory.rmdir()


def _brought_along(worktree: Path, clone: Path, artifacts: str) -> None:
    """Copy what stands in the worktree and in no commit: task files, and files of the artifact directory."""
    for note in worktree.glob(NOTES):
        if stat.S_ISREG(note.lstat().st_mode):
            _copied(note, clone / note.name)
    # A link on the way would lead out of the worktree, or out of the clone.
    if _leads_astray(worktree, artifacts) or _leads_astray(clone, artifacts):
        return
    for directory, _, names in os.walk(worktree / artifacts):
        for name in names:
            file = Path(directory, name)
            target = clone / file.relative_to(worktree)
            if stat.S_ISREG(file.lstat().st_mode) and not _leads_astray(clone, target.parent):
                target.parent.mkdir(parents=True, exist_ok=True)
                _copied(file, target)
    (clone / artifacts).mkdir(parents=True, exist_ok=True)


def _leads_astray(root: Path, below: str | Path) -> bool:
    return (root / below).resolve() != root.resolve() / Path(root, below).relative_to(root)


def _copied(file: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    shutil.copy2(file, target)


@contextmanager
def _place() -> Iterator[Path]:
    with file_errors():
        place = Path(tempfile.mkdtemp())
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
