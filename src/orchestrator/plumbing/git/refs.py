"""Moves refs and exchanges them with other repositories: every write names what it expects to replace."""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from orchestrator.errors import Conflict, Rejected
from orchestrator.plumbing.git.commands import Author, Git, decoded
from orchestrator.plumbing.git.failures import failure, file_errors
from orchestrator.plumbing.git.trees import check_revision, is_object_id
from orchestrator.plumbing.git.worktrees import git_directory

_REF = re.compile(r"refs/[^\s:?*\[\\^~\x00-\x1f\x7f]+\Z")
_CREDENTIALS = re.compile(r"https?://[^/@\s]*@|[a-z][a-z0-9+.-]*://[^/@\s:]*:[^/@\s]*@", re.IGNORECASE)
# A repository's configuration may name another program for the far side; these are said explicitly instead.
_UPLOAD_PACK = "--upload-pack=git-upload-pack"
_RECEIVE_PACK = "--receive-pack=git-receive-pack"


@dataclass(frozen=True, slots=True)
class Rebased:
    """The branch stands on the new base; `head` is its new head, or the old one if it stood there already."""

    head: str


@dataclass(frozen=True, slots=True)
class RebaseConflict:
    """The branch and its new base change the same lines of `paths`; the worktree is as it was before."""

    paths: tuple[str, ...]


RebaseResult: TypeAlias = Rebased | RebaseConflict


async def update_ref(git: Git, repo: Path, ref: str, *, new: str | None, old: str | None) -> None:
    """Moves a ref from `old` to `new`, or not at all; None stands for a ref that does not exist.

    Raises: Conflict when the ref is not at `old`; Rejected for an unknown commit; what `Git.run` raises.
    """
    _check_ref(ref)
    check_revision(*(commit for commit in (new, old) if commit is not None))
    if new is None:
        if old is None:
            raise Rejected(f"nothing to do for {ref}: it is to be absent before and after")
        await git.run("update-ref", "--no-deref", "-d", ref, old, cwd=repo)
    else:
        # Without dereferencing: a symbolic ref put in the way must not turn the write to another branch.
        await git.run("update-ref", "--no-deref", ref, new, old or "", cwd=repo)


def loose_ref(repo: Path, ref: str) -> str | None:
    """The object id in a ref's own file; None when there is no such file, and git has to be asked.

    A ref that was moved since the repository was packed has one: so most questions need no process.
    """
    if ".." in ref or not _REF.match(ref):
        return None
    try:
        said = (repo / ref).read_text("ascii").strip()
    except (OSError, ValueError):
        return None
    return said if is_object_id(said) else None


def may_have_ref(repo: Path, name: str) -> bool:
    """Whether there may be a ref called `name`, or one below that path; a False is certain."""
    if (repo / name).exists() or (repo / "reftable").exists():
        return True
    try:
        packed = (repo / "packed-refs").read_text("utf-8", "replace")
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return f" {name}\n" in packed or f" {name}/" in packed


async def remote_refs(
    git: Git, repo: Path, remote: str, patterns: Sequence[str] = (), *, env: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The object ids of a remote's refs, all of them or those that match a pattern; nothing is fetched.

    Raises: Unavailable when it cannot be reached; what `Git.run` raises.
    """
    _check_address(remote)
    options = ("--quiet", "--refs", _UPLOAD_PACK)
    result = await git.run("ls-remote", *options, "--", remote, *patterns, cwd=repo, env=env)
    lines = [line.partition("\t") for line in decoded(result.stdout).splitlines()]
    return {name: oid for oid, _, name in lines}


async def push(
    git: Git,
    path: Path,
    remote: str,
    refspec: str,
    *,
    lease: tuple[str, str | None] | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Sends one ref (`source:refs/heads/…`); without a lease only forward.

    With `lease` as (ref, expected object id, or None for an absent ref) the remote ref is replaced if it
    still is what was expected. A remote that already has the pushed value is fine whatever was expected, so a
    push may be repeated.

    Raises: Conflict when the remote has moved on; Rejected when it refuses; what `Git.run` raises.
    """
    await push_together(git, path, remote, [refspec], leases=[] if lease is None else [lease], env=env)


async def push_together(
    git: Git,
    path: Path,
    remote: str,
    refspecs: Sequence[str],
    *,
    leases: Sequence[tuple[str, str | None]] = (),
    env: Mapping[str, str] | None = None,
) -> None:
    """Sends several refs in one go, each on its own: one that is refused does not keep the others back.

    Raises: as `push`, when any of them was refused.
    """
    if any(refspec.startswith(("+", "-")) for refspec in refspecs):
        raise Rejected(f"{refspecs} would overwrite whatever is there: name the expected commit instead")
    _check_address(remote)
    options = ["--no-verify", "--no-follow-tags", "--recurse-submodules=no", _RECEIVE_PACK]
    options += [f"--force-with-lease={ref}:{expected or ''}" for ref, expected in leases]
    await git.run("push", *options, "--", remote, *refspecs, cwd=path, env=env)


async def fetch(
    git: Git,
    repo: Path,
    remote: str,
    refspecs: Sequence[str],
    *,
    prune: bool = False,
    env: Mapping[str, str] | None = None,
) -> None:
    """Brings refs of a remote in, by explicit refspecs; `prune` drops those that the remote has no more.

    Raises: Conflict for a ref that would not move forward; Unavailable; what `Git.run` raises.
    """
    _check_address(remote)
    if not refspecs:
        raise Rejected("nothing to fetch was named")
    options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", _UPLOAD_PACK]
    await git.run(
        "fetch", *options, *(["--prune"] if prune else []), "--", remote, *refspecs, cwd=repo, env=env
    )


async def clone_bare(git: Git, address: str, directory: Path) -> None:
    """Makes a bare copy of a repository; the directory appears only when the copy is complete.

    Raises: Conflict when the directory exists; Rejected for an address with a password; what `Git.run`
    raises.
    """
    _check_address(address)
    if directory.exists():
        raise Conflict(f"{directory} exists already")
    partial = directory.with_name(f"{directory.name}.partial")
    with file_errors():
        if partial.exists():
            shutil.rmtree(partial)
        partial.parent.mkdir(parents=True, exist_ok=True)
    options = ("--bare", "--quiet", "--template=", "--no-local", _UPLOAD_PACK)
    await git.run("clone", *options, "--", address, str(partial), cwd=partial.parent)
    with file_errors():
        partial.rename(directory)


async def init_bare(git: Git, directory: Path, default_branch: str = "main") -> None:
    """Makes an empty bare repository; one that is there already stays as it is.

    Raises: what `Git.run` raises.
    """
    with file_errors():
        directory.mkdir(parents=True, exist_ok=True)
    options = ("--bare", "--quiet", "--template=", f"--initial-branch={default_branch}")
    await git.run("init", *options, cwd=directory)


async def rebase(git: Git, path: Path, onto: str, *, committer: Author) -> RebaseResult:
    """Puts the branch of a worktree on top of another commit; authors stay, the committer is the given one.

    Raises: Rejected for uncommitted changes or an unknown commit; what `Git.run` raises. The worktree is then
    as it was before, unless git was stopped midway: `worktrees.reset_hard` ends what is left of it.
    """
    check_revision(onto)
    identity = committer.committer_environment()
    # Commands before the time limit can leave a rebase behind that would keep this one from starting.
    await _abort(git, path, identity)
    result = await git.run(
        "rebase", "--quiet", "--merge", "--no-stat", "--no-verify", onto, cwd=path, env=identity, check=False
    )
    if result.returncode == 0:
        return Rebased((await git.run("rev-parse", "HEAD", cwd=path)).text)
    unmerged = await git.run("diff", "--name-only", "--diff-filter=U", "--no-ext-diff", "-z", cwd=path)
    await _abort(git, path, identity)
    paths = tuple(sorted({decoded(name) for name in unmerged.stdout.split(b"\0") if name}))
    if not paths:
        raise failure("rebase", result.returncode, result.stderr)
    return RebaseConflict(paths)


async def merge_commit(git: Git, repo: Path, base: str, head: str, *, message: str, author: Author) -> str:
    """The id of a new commit that merges `head` into `base`; no worktree is needed and no ref moves.

    Raises: Conflict, which names the paths, when both change the same lines; Rejected for an unknown commit,
    unrelated histories or a git before 2.38; what `Git.run` raises.
    """
    check_revision(base, head)
    options = ("--write-tree", "--name-only", "--no-messages", "-z")
    result = await git.run("merge-tree", *options, base, head, cwd=repo, check=False)
    if result.returncode == 129:
        version = ".".join(map(str, await git.version()))
        raise Rejected(f"merging without a worktree needs git 2.38 or later, this is git {version}")
    # Exit code 1 stands for a conflict, which comes with a tree, but also for a commit that is unknown.
    if result.returncode not in (0, 1) or not result.stdout:
        raise failure("merge-tree", result.returncode, result.stderr)
    tree, *paths = [decoded(part) for part in result.stdout.split(b"\0") if part]
    if result.returncode == 1:
        raise Conflict(f"{head} and {base} change the same lines of {', '.join(paths)}")
    command = ("commit-tree", tree, "-p", base, "-p", head, "-F", "-")
    return (await git.run(*command, cwd=repo, env=author.environment(), input=message.encode())).text


async def _abort(git: Git, path: Path, identity: Mapping[str, str]) -> None:
    git_dir = git_directory(path)
    if any((git_dir / name).exists() for name in ("rebase-merge", "rebase-apply")):
        await git.run("rebase", "--abort", cwd=path, env=identity)


def _check_ref(ref: str) -> None:
    if not _REF.match(ref):
        raise Rejected(f"{ref!r} is no full name of a ref")


def _check_address(address: str) -> None:
    """Refuses what puts a secret into a command line and a configuration file, or reads like an option."""
    if _CREDENTIALS.match(address):
        raise Rejected("an address must not carry a user's password or token: hand it over separately")
    if address.startswith("-") or not address:
        raise Rejected(f"{address!r} is no address of a repository")
