"""Worktrees of a bare repository: how they go, and what is done inside of one."""

import asyncio
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import Rejected
from orchestrator.plumbing.git.commands import Author, Git, decoded
from orchestrator.plumbing.git.failures import failure, file_errors
from orchestrator.plumbing.git.trees import NOTES, check_revision, is_note, is_object_id

# What an interrupted merge, rebase or pick leaves in the git directory of a worktree.
_UNFINISHED = (
    *("rebase-merge", "rebase-apply", "sequencer", "MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "AUTO_MERGE"),
    *("CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG", "BISECT_LOG", "BISECT_START"),
)


@dataclass(frozen=True, slots=True)
class Status:
    """What differs in a worktree from its head: `changed` is tracked, `untracked` is new and not ignored."""

    head: str | None
    changed: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    conflicted: tuple[str, ...] = ()

    @property
    def has_staged_notes(self) -> bool:
        """Whether a task file is tracked or staged, which it never should be."""
        return any(is_note(path) for path in self.changed)

    @property
    def clean(self) -> bool:
        """Whether a commit of everything would be empty."""
        return not (self.changed or self.untracked or self.conflicted)


def worktree_directory_name(branch: str) -> str:
    """The name of the directory for a branch's worktree: the branch with `_` for every `/`."""
    return branch.replace("/", "_")


async def remove(git: Git, repo: Path, directory: Path) -> None:
    """Deletes a worktree and its registration, whatever its state or absence. The branch stays.

    Raises: Unavailable when files cannot be deleted; what `Git.run` raises.
    """
    await _delete(directory)
    if await _is_locked(git, repo, directory):
        await git.run("worktree", "unlock", str(directory), cwd=repo)
    await prune(git, repo)


async def prune(git: Git, repo: Path) -> None:
    """Forgets the registrations of worktrees whose directory is gone."""
    await git.run("worktree", "prune", "--expire=now", cwd=repo)


async def commit_all(
    git: Git,
    path: Path,
    message: str,
    *,
    author: Author,
    unstage: bool = True,
    below: str = ".",
) -> str | None:
    """Commits everything in a worktree that is not ignored; None when there is nothing to commit.

    Only what stands `below` that directory is taken. Task files (`.task-*.md` at the root) are left out, also
    when somebody has staged them; with `unstage` false the caller knows that nobody has.

    Raises: what `Git.run` raises.
    """
    # No task file stands below a directory; git 2.39 overlooks a new one when it has to leave out others.
    taken = (".", f":(exclude,top,glob){NOTES}") if below == "." else (below,)
    await git.run("add", "--all", "--", *taken, cwd=path)
    if unstage:
        await git.run("reset", "--quiet", "--", f":(top,glob){NOTES}", cwd=path)
    options = ("--quiet", "--no-verify", "--cleanup=whitespace", "--file=-")
    made = await git.run(
        "commit", *options, cwd=path, env=author.environment(), input=message.encode(), check=False
    )
    if made.returncode == 0:
        return detached_head(path) or (await git.run("rev-parse", "HEAD", cwd=path)).text
    # Git also ends with 1 when there was nothing to commit.
    if await git.holds("diff", "--cached", "--quiet", "--no-ext-diff", "--ignore-submodules=none", cwd=path):
        return None
    raise failure("commit", made.returncode, made.stderr)


async def status(git: Git, path: Path) -> Status:
    """What has changed in a worktree since its head; takes no lock and writes nothing.

    Raises: what `Git.run` raises.
    """
    options = (
        "--porcelain=v2",
        "-z",
        "--branch",
        "--untracked-files=all",
        "--no-renames",
        "--ignore-submodules=none",
    )
    result = await git.run("status", *options, cwd=path)
    return _status([decoded(line) for line in result.stdout.split(b"\0") if line])


async def reset_hard(git: Git, path: Path, target: str) -> None:
    """Brings a worktree's tracked files to a commit and ends whatever merge or rebase was going on in it.

    Untracked files stay: see `clean`.

    Raises: Rejected for an unknown commit; what `Git.run` raises.
    """
    check_revision(target)
    with file_errors():
        await asyncio.to_thread(_end_unfinished, git_directory(path))
    await git.run("reset", "--hard", "--quiet", target, cwd=path)


async def clean(git: Git, path: Path) -> None:
    """Deletes untracked files and directories, nested repositories too; what is ignored stays.

    Raises: what `Git.run` raises.
    """
    await git.run("clean", "-ffdq", cwd=path)


def git_directory(path: Path) -> Path:
    """The git directory of a worktree or repository, found without asking git.

    Raises: Rejected when there is none.
    """
    link = path / ".git"
    if link.is_dir():
        return link
    if link.is_file():
        target = link.read_text("utf-8", "replace").removeprefix("gitdir:").strip()
        return (path / target).resolve()
    if (path / "HEAD").is_file() and (path / "objects").is_dir():
        return path
    raise Rejected(f"{path} is no worktree and no repository")


def detached_head(path: Path) -> str | None:
    """The commit that a worktree stands at when no branch is checked out; None when git has to be asked.

    Raises: Rejected when this is no worktree and no repository.
    """
    with file_errors():
        said = (git_directory(path) / "HEAD").read_text("utf-8", "replace").strip()
    return said if is_object_id(said) else None


async def _is_locked(git: Git, repo: Path, directory: Path) -> bool:
    listed = await git.run("worktree", "list", "--porcelain", "-z", cwd=repo)
    for block in listed.stdout.split(b"\0\0"):
        place, *facts = [decoded(line) for line in block.split(b"\0")]
        if Path(place.removeprefix("worktree ")).resolve() == directory.resolve():
            return any(fact.partition(" ")[0] == "locked" for fact in facts)
    return False


async def _delete(directory: Path) -> None:
    def delete() -> None:
        if directory.is_symlink() or directory.is_file():
            directory.unlink()
        elif directory.exists():
            shutil.rmtree(directory)

    with file_errors():
        await asyncio.to_thread(delete)


def _status(lines: Iterable[str]) -> Status:
    head: str | None = None
    paths: dict[str, list[str]] = {"1": [], "?": [], "u": []}
    # A path follows eight fields of a changed entry and ten of a conflicted one.
    fields_before = {"1": 8, "?": 1, "u": 10}
    for line in lines:
        if line.startswith("# branch.oid ") and not line.endswith("(initial)"):
            head = line.removeprefix("# branch.oid ")
        elif line[0] in paths:
            paths[line[0]].append(line.split(" ", fields_before[line[0]])[-1])
    return Status(head, tuple(paths["1"]), tuple(paths["?"]), tuple(paths["u"]))


def _end_unfinished(git_dir: Path) -> None:
    for name in _UNFINISHED:
        leftover = git_dir / name
        if leftover.is_dir():
            shutil.rmtree(leftover)
        else:
            leftover.unlink(missing_ok=True)
