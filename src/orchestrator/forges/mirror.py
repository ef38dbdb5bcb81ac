"""A project's bare mirror on this host: what the forge has, fetched to ``refs/remotes/origin``."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from orchestrator.errors import Rejected
from orchestrator.forges.sources import inspect
from orchestrator.pipeline.ids import Commit
from orchestrator.plumbing.git import Git
from orchestrator.plumbing.git.purity import purify
from orchestrator.plumbing.git.refs import (
    fetch,
    init_bare,
    loose_ref,
    may_have_ref,
    push,
    push_together,
    remote_refs,
)

TRACKING: Final = "refs/remotes/origin/"
_HEADS: Final = f"+refs/heads/*:{TRACKING}*"
# Task files tell an agent what to do; they are no work and never committed.
EXCLUDE: Final = "/.task-*.md\n"
"""The rule by which git overlooks task files."""

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*\Z")


@dataclass(frozen=True, slots=True)
class Remote:
    """Where the forge keeps a project; ``env`` carries the credentials, which never stand in an address."""

    url: str
    env: Mapping[str, str] = field(default_factory=dict, repr=False)


class Mirror:
    """One bare repository.

    An agent can write to it through its worktree. So the address is told to git each time instead of being
    read from the repository, where the remote ``origin`` stands for people only.
    """

    def __init__(self, git: Git, path: Path, remote: Remote) -> None:
        self.path = path
        self.busy = asyncio.Lock()
        """Held while refs are fetched or worktrees come and go, which git does not do twice at once."""
        self._git = git
        self._remote = remote

    async def create(self, base: str) -> None:
        """Make the mirror, or bring it up to date when it is there.

        Raises:
            BadInput: the forge's repository cannot be used.
        """
        await inspect(self._git, self._remote.url, base, env=self._remote.env)
        await init_bare(self._git, self.path, base)
        self.purify()
        exclude = self.path / "info" / "exclude"
        exclude.parent.mkdir(exist_ok=True)
        exclude.write_text(EXCLUDE)
        await self.refresh()

    def purify(self) -> None:
        """Take out of the mirror's configuration what an agent wrote there through its worktree.

        This closes the way by which a filter or a merge driver outlives its agent. It is no boundary while an
        agent that is not locked in is at work: that one could do anything else as well.

        Raises:
            Unavailable: the configuration cannot be read or written.
        """
        purify(self.path, address=self._remote.url, refspec=_HEADS)

    async def refresh(self) -> None:
        """Fetch every branch, and forget those that are gone."""
        async with self.busy:
            await fetch(self._git, self.path, self._remote.url, [_HEADS], prune=True, env=self._remote.env)

    async def branches(self, *names: str) -> dict[str, Commit]:
        """Where these branches stand as last refreshed; one that does not exist is not in the answer."""
        read = {name: loose_ref(self.path, f"{TRACKING}{name}") for name in names}
        known = {name: Commit(commit) for name, commit in read.items() if commit is not None}
        others = [f"{TRACKING}{name}" for name in names if name not in known]
        doubtful = [ref for ref in others if may_have_ref(self.path, ref)]
        return known | await self._asked(doubtful) if doubtful else known

    async def _asked(self, refs: Sequence[str]) -> dict[str, Commit]:
        answer = await self._git.run(
            "for-each-ref", "--format=%(objectname) %(refname)", *refs, cwd=self.path
        )
        pairs = (line.partition(" ") for line in answer.text.splitlines())
        found = {ref.removeprefix(TRACKING): Commit(commit) for commit, _, ref in pairs}
        # A name also matches the branches below it as if it were a directory.
        return {name: commit for name, commit in found.items() if f"{TRACKING}{name}" in refs}

    async def at_forge(self, *refs: str) -> dict[str, Commit]:
        """Where these refs stand at the forge right now."""
        found = await remote_refs(self._git, self.path, self._remote.url, refs, env=self._remote.env)
        return {ref: Commit(commit) for ref, commit in found.items()}

    async def send(self, commit: Commit, ref: str, expected: Commit | None) -> None:
        """Make ``ref`` at the forge ``commit`` if it still is ``expected`` (or does not exist, for ``None``).

        Raises:
            Conflict: it is something else.
        """
        await push(
            self._git,
            self.path,
            self._remote.url,
            f"{commit}:{ref}",
            lease=(ref, expected),
            env=self._remote.env,
        )

    async def send_together(self, commit: Commit, kept: str, ref: str, expected: Commit | None) -> None:
        """Make ``ref`` what `send` makes it, and move ``kept`` forward to ``commit``, in one go.

        Raises:
            Conflict: one of them could not be moved; the other one may have been.
        """
        await push_together(
            self._git,
            self.path,
            self._remote.url,
            [f"{commit}:{kept}", f"{commit}:{ref}"],
            leases=[(ref, expected)],
            env=self._remote.env,
        )

    async def note(self, branch: str, commit: Commit) -> None:
        """Remember where a branch that we moved stands, without asking the forge."""
        await self._git.run("update-ref", "--no-deref", f"{TRACKING}{branch}", commit, cwd=self.path)

    async def keep(self, commit: Commit, ref: str) -> None:
        """Keep a commit under ``ref`` here and at the forge, whatever stood there."""
        await self._git.run("update-ref", "--no-deref", ref, commit, cwd=self.path)
        present = (await self.at_forge(ref)).get(ref)
        if present != commit:
            await self.send(commit, ref, present)


def check_name(kind: str, name: str) -> str:
    """The name of a project or branch, safe as a part of a path and of a ref.

    Raises:
        Rejected: it is not.
    """
    if not _NAME.match(name) or ".." in name or name.endswith((".lock", ".")):
        raise Rejected(f"{name!r} is no name for a {kind}")
    return name
