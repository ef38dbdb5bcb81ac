"""Worktrees of a bare repository: one for each branch that is worked on, and what is done inside of one."""

import asyncio
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from orchestrator.errors import Rejected
from orchestrator.plumbing.git.commands import Author, Git, GitResult, decoded
from orchestrator.plumbing.git.failures import failure, file_errors
from orchestrator.plumbing.git.trees import check_revision, head_of

# Task files say what an agent is to do; they are no work and are never committed. The pattern is for the root
# only.
_NOTES = ".task-*.md"
_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")

# What an interrupted merge, rebase or pick leaves in the git directory of a worktree.
_UNFINISHED = (
    *("rebase-merge", "rebase-apply", "sequencer", "MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "AUTO_MERGE"),
    *("CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG", "BISECT_LOG", "BISECT_START"),
)


@dataclass(frozen=True, slots=True)
class Worktree:
    """One registered worktree; `branch` is None for a detached head, `locked` is the reason for a lock."""

    path: Path
    head: str | None = None
    branch: str | None = None
    locked: str | None = None
    prunable: bool = False


@dataclass(frozen=True, slots=True)
class Status:
    """What differs in a worktree from its head: `changed` is tracked, `untracked` is new and not ignored."""

    head: str | None
    branch: str | None
    changed: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    conflicted: tuple[str, ...] = ()

    @property
    def has_staged_notes(self) -> bool:
        """Whether a task file is tracked or staged, which it never should be."""
        return any("/" not in path and fnmatchcase(path, _NOTES) for path in self.changed)

    @property
    def clean(self) -> bool:
        """Whether a commit of everything would be empty."""
        return not (self.changed or self.untracked or self.conflicted)


def worktree_directory_name(branch: str) -> str:
    """The name of the directory for a branch's worktree: the branch with `_` for every `/`."""
    return branch.replace("/", "_")


async def add(git: Git, repo: Path, directory: Path, branch: str, *, start: str | None = None) -> None:
    """Makes `directory` a worktree with the branch checked out; does nothing when it is one already.

    A missing branch is created at `start` when that is given. Whatever else stands at `directory` (a
    half-made worktree, one of another branch, a plain directory) is deleted first: rescue what may be worth
    it before. The caller holds the work item's lease: two calls for one directory at the same time are not
    guarded against.

    Raises: Rejected without such a branch, Conflict when another worktree has it; what `Git.run` raises.
    """
    directory = directory.absolute()
    with file_errors():
        directory.parent.mkdir(parents=True, exist_ok=True)
    # Without anything at that place this nearly always works; when it does not, a stale registration may be
    # why.
    if (
        not directory.exists()
        and (await _register(git, repo, directory, branch, start=start)).returncode == 0
    ):
        return
    if await _is_in_order(git, repo, directory, branch):
        return
    await remove(git, repo, directory)
    result = await _register(git, repo, directory, branch, start=start)
    if result.returncode != 0:
        raise failure("worktree", result.returncode, result.stderr)


async def remove(git: Git, repo: Path, directory: Path) -> None:
    """Deletes a worktree and its registration, whatever its state or absence. The branch stays.

    Raises: Unavailable when files cannot be deleted; what `Git.run` raises.
    """
    await _delete(directory)
    for worktree in await registered(git, repo):
        if worktree.path == directory.resolve() and worktree.locked is not None:
            await git.run("worktree", "unlock", str(directory), cwd=repo)
    await prune(git, repo)


async def registered(git: Git, repo: Path) -> tuple[Worktree, ...]:
    """Every worktree that the repository knows of, without the repository itself when it is bare."""
    result = await git.run("worktree", "list", "--porcelain", "-z", cwd=repo)
    blocks = result.stdout.split(b"\0\0")
    return tuple(worktree for block in blocks if block and (worktree := _worktree(block)) is not None)


async def prune(git: Git, repo: Path) -> None:
    """Forgets the registrations of worktrees whose directory is gone."""
    await git.run("worktree", "prune", "--expire=now", cwd=repo)


async def commit_all(
    git: Git,
    path: Path,
    message: str,
    *,
    author: Author,
    exclude: Sequence[str] = (),
    unstage: bool = True,
) -> str | None:
    """Commits everything in a worktree that is not ignored; None when there is nothing to commit.

    Task files (`.task-*.md` at the root) and what the globs of `exclude` match (from the root, `*` stays
    within a directory, `**` does not) are left out, also when somebody has staged them; with `unstage`
    false the caller knows that nobody has.

    Raises: what `Git.run` raises.
    """
    left_out = (_NOTES, *exclude)
    await git.run("add", "--all", "--", ".", *(f":(exclude,top,glob){glob}" for glob in left_out), cwd=path)
    if unstage:
        await git.run("reset", "--quiet", "--", *(f":(top,glob){glob}" for glob in left_out), cwd=path)
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


async def reset_hard(git: Git, path: Path, target: str = "HEAD", *, branch: str | None = None) -> None:
    """Brings a worktree's tracked files to a commit and ends whatever merge or rebase was going on in it.

    With `branch` that branch is checked out first, wherever the head was. Untracked files stay: see `clean`.

    Raises: Rejected for an unknown commit or branch; what `Git.run` raises.
    """
    check_revision(target)
    if branch is not None and await head_of(git, path, f"refs/heads/{branch}") is None:
        raise Rejected(f"there is no branch {branch}")
    with file_errors():
        await asyncio.to_thread(_end_unfinished, git_directory(path))
    if branch is not None:
        await git.run("symbolic-ref", "-m", "reset", "HEAD", f"refs/heads/{branch}", cwd=path)
    await git.run("reset", "--hard", "--quiet", target, cwd=path)


async def clean(git: Git, path: Path, *, ignored: bool = False) -> None:
    """Deletes untracked files and directories, nested repositories too; with `ignored` also what is ignored.

    Raises: what `Git.run` raises.
    """
    await git.run("clean", "-ffdq", *(["-x"] if ignored else []), cwd=path)


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
    return said if _OBJECT_ID.match(said) else None


async def _register(git: Git, repo: Path, directory: Path, branch: str, *, start: str | None) -> GitResult:
    check_revision(branch)
    target: tuple[str, ...] = (str(directory), branch)
    if await head_of(git, repo, f"refs/heads/{branch}") is None:
        if start is None:
            raise Rejected(f"there is no branch {branch}")
        check_revision(start)
        target = ("-b", branch, "--no-track", str(directory), start)
    return await git.run("worktree", "add", "--quiet", *target, cwd=repo, check=False)


async def _is_in_order(git: Git, repo: Path, directory: Path, branch: str) -> bool:
    """Whether the directory is a finished worktree of this repository with this branch checked out."""
    link = directory / ".git"
    if not link.is_file() or git_directory(directory).parent != (git_directory(repo) / "worktrees").resolve():
        return False
    found = [worktree for worktree in await registered(git, repo) if worktree.path == directory.resolve()]
    return any(worktree.branch == branch and worktree.locked is None for worktree in found)


async def _delete(directory: Path) -> None:
    def delete() -> None:
        if directory.is_symlink() or directory.is_file():
            directory.unlink()
        elif directory.exists():
            shutil.rmtree(directory)

    with file_errors():
        await asyncio.to_thread(delete)


def _worktree(block: bytes) -> Worktree | None:
    fields = dict(_field(decoded(line)) for line in block.split(b"\0") if line)
    if "bare" in fields:
        return None
    branch = fields.get("branch")
    return Worktree(
        path=Path(fields["worktree"]).resolve(),
        head=fields.get("HEAD"),
        branch=None if branch is None else branch.removeprefix("refs/heads/"),
        locked=fields.get("locked"),
        prunable="prunable" in fields,
    )


def _field(line: str) -> tuple[str, str]:
    name, _, value = line.partition(" ")
    return name, value


def _status(lines: Iterable[str]) -> Status:
    head: str | None = None
    branch: str | None = None
    paths: dict[str, list[str]] = {"1": [], "?": [], "u": []}
    # A path follows eight fields of a changed entry and ten of a conflicted one.
    fields_before = {"1": 8, "?": 1, "u": 10}
    for line in lines:
        if line.startswith("# branch.oid ") and not line.endswith("(initial)"):
            head = line.removeprefix("# branch.oid ")
        elif line.startswith("# branch.head ") and not line.endswith("(detached)"):
            branch = line.removeprefix("# branch.head ")
        elif line[0] in paths:
            paths[line[0]].append(line.split(" ", fields_before[line[0]])[-1])
    return Status(head, branch, tuple(paths["1"]), tuple(paths["?"]), tuple(paths["u"]))


def _end_unfinished(git_dir: Path) -> None:
    for name in _UNFINISHED:
        leftover = git_dir / name
        if leftover.is_dir():
            shutil.rmtree(leftover)
        else:
            leftover.unlink(missing_ok=True)
