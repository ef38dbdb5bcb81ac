"""Files that we put into a worktree, in which an agent may have left links that lead elsewhere."""

from pathlib import Path

from orchestrator.errors import Rejected


def put_file(worktree: Path, path: str, data: bytes) -> Path:
    """Write ``path`` (relative to the worktree) with exactly these bytes; a link in its place is replaced.

    Raises:
        Rejected: the path leads out of the worktree.
    """
    wanted = Path(path)
    file = make_directory(worktree, str(wanted.parent)) / wanted.name
    if file.is_symlink():
        file.unlink()
    file.write_bytes(data)
    return file


def make_directory(worktree: Path, path: str) -> Path:
    """Make the directory ``path`` (relative to the worktree); it may be there already.

    Raises:
        Rejected: the path leads out of the worktree, or something else has its name.
    """
    place = (worktree / path).resolve()
    if not place.is_relative_to(worktree.resolve()):
        raise Rejected(f"{path} leads out of the worktree, to {place}")
    try:
        place.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise Rejected(f"{path} is no directory in the worktree") from error
    return place
