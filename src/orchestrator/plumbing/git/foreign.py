"""Reads a repository that somebody else could write, as files: no git runs in it, no link is followed."""

import os
import re
import stat
from pathlib import Path
from typing import Final

from orchestrator.errors import Rejected
from orchestrator.plumbing.git.trees import is_object_id

_LARGEST_TEXT: Final = 1 << 20
_PIECE: Final = 1 << 20
_FAN_OUT: Final = re.compile(r"[0-9a-f]{2}\Z")
_LOOSE: Final = re.compile(r"[0-9a-f]{38}(?:[0-9a-f]{24})?\Z")
_PACK: Final = re.compile(r"pack-[0-9a-f]{40}(?:[0-9a-f]{24})?\.(?:pack|idx)\Z")
_REF: Final = re.compile(r"refs/heads/[^\s:?*\[\\^~\x00-\x1f\x7f]+\Z")


def head_in(top: Path) -> str:
    """The object id at which the head of a plain repository stands, whatever that object is.

    Raises:
        Rejected: there is no such repository or head.
        OSError: a file cannot be read.
    """
    said = _text(top, ".git/HEAD")
    name = said.removeprefix("ref:").strip()
    if name == said.strip():
        found = said.strip()
    elif not _REF.match(name) or any(part in {"", ".", ".."} for part in name.split("/")):
        raise Rejected(f"the head of {top} is no branch")
    else:
        found = _text(top, f".git/{name}").strip() or _packed(top, name)
    if not is_object_id(found):
        raise Rejected(f"the head of {top} is at no commit")
    return found


def copy_objects(top: Path, repository: Path) -> None:
    """Copy the objects of a plain repository, packed and loose, into a bare one of our own.

    Raises:
        OSError: a file cannot be read or written.
    """
    for name in _names(top, ".git/objects"):
        wanted = _PACK if name == "pack" else _LOOSE if _FAN_OUT.match(name) else None
        if wanted is None:
            continue
        target = repository / "objects" / name
        target.mkdir(exist_ok=True)
        for file in _names(top, f".git/objects/{name}"):
            if wanted.match(file):
                _copy(top, f".git/objects/{name}/{file}", target / file)


def copy_index(top: Path, target: Path) -> bool:
    """Copy the index of a plain repository; False when there is none.

    Raises:
        OSError: the file cannot be read or written.
    """
    return _copy(top, ".git/index", target)


def _packed(top: Path, name: str) -> str:
    for line in _text(top, ".git/packed-refs").splitlines():
        found, _, ref = line.partition(" ")
        if ref == name:
            return found
    return ""


def _text(top: Path, path: str) -> str:
    """The beginning of a file; nothing when it is not there, or is no file."""
    descriptor = _opened(top, path, os.O_RDONLY)
    if descriptor is None:
        return ""
    with open(descriptor, "rb") as file:
        return file.read(_LARGEST_TEXT).decode("utf-8", "replace")


def _names(top: Path, path: str) -> list[str]:
    """What is in a directory; nothing when it is not there, or is none."""
    descriptor = _opened(top, path, os.O_RDONLY | os.O_DIRECTORY)
    if descriptor is None:
        return []
    try:
        return sorted(os.listdir(descriptor))
    finally:
        os.close(descriptor)


def _copy(top: Path, path: str, target: Path) -> bool:
    descriptor = _opened(top, path, os.O_RDONLY)
    if descriptor is None:
        return False
    with open(descriptor, "rb") as source, target.open("wb") as sink:
        while piece := source.read(_PIECE):
            sink.write(piece)
    return True


def _opened(top: Path, path: str, flags: int) -> int | None:
    """A descriptor of the file or directory at a path below `top`; None when a link or nothing is there."""
    *parents, last = path.split("/")
    here = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in parents:
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = inner
        # Without waiting: a pipe put in the place of a file would never answer.
        found = os.open(last, flags | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=here)
    except OSError:
        return None
    finally:
        os.close(here)
    kind = os.fstat(found).st_mode
    if stat.S_ISREG(kind) or (flags & os.O_DIRECTORY and stat.S_ISDIR(kind)):
        return found
    os.close(found)
    return None
