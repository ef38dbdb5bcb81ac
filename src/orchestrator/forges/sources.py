"""What a repository must be like before a project can be taken from it, each fault in one clear line."""

from collections.abc import Mapping
from pathlib import Path

from orchestrator.errors import AdapterError, BadInput
from orchestrator.plumbing.git import Git
from orchestrator.plumbing.git.refs import remote_refs

SHOWN_PATHS = 3


async def inspect(git: Git, source: str, base: str, *, env: Mapping[str, str] | None = None) -> None:
    """Check that ``source`` (a path or an address) is a repository that has the branch ``base``.

    ``env`` carries what the address needs besides, such as credentials.

    Raises:
        BadInput: it is missing, no git repository, lacks the branch, or is somebody's working repository with
            changes that are not committed.
    """
    path = local_path(source)
    if path is not None:
        await _inspect_directory(git, source, path)
    try:
        found = await remote_refs(git, Path("/"), source, [f"refs/heads/{base}"], env=env)
    except AdapterError as error:
        raise BadInput(f"{source} cannot be read: {error}") from error
    if not found:
        raise BadInput(f"{source} has no branch {base}: commit something to it, or name another base branch")


async def is_working_repository(git: Git, path: Path) -> bool:
    """Whether ``path`` is a repository that somebody works in, with files checked out."""
    answer = await git.run("rev-parse", "--is-bare-repository", cwd=path)
    return answer.text == "false"


def local_path(source: str) -> Path | None:
    """The directory that ``source`` names, or None when it is the address of a repository elsewhere."""
    if source.startswith("file://"):
        return Path(source.removeprefix("file://"))
    is_address = "://" in source or (":" in source and "/" not in source.split(":", 1)[0])
    return None if is_address else Path(source)


async def _inspect_directory(git: Git, source: str, path: Path) -> None:
    if not path.is_dir():
        raise BadInput(f"there is no repository at {source}")
    try:
        in_use = await is_working_repository(git, path)
    except AdapterError as error:
        raise BadInput(f"{source} is not a git repository: run `git init` there, or name another") from error
    if not in_use:
        return
    try:
        changes = await git.run("status", "--porcelain", "--untracked-files=no", cwd=path)
    except AdapterError as error:
        raise BadInput(f"{source} cannot be read: {error}") from error
    if changes.text:
        paths = [line.strip().partition(" ")[2].strip() for line in changes.text.splitlines()]
        more = f" and {len(paths) - SHOWN_PATHS} more" if len(paths) > SHOWN_PATHS else ""
        raise BadInput(
            f"{source} has changes that are not committed ({', '.join(paths[:SHOWN_PATHS])}{more}): "
            "commit or stash them first"
        )
