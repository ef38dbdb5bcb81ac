"""Reads what a commit holds, and says which code a commit is (architecture §2a: code id)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path

from orchestrator.errors import Malformed, Rejected
from orchestrator.plumbing.git.commands import Git, GitResult, decoded

_REVISION = re.compile(r"[A-Za-z0-9][^\s:?*\[\\\x00-\x1f\x7f]*\Z")
_COMPONENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_TREE_MODE = b"40000"
_FILE_MODES = frozenset({b"100644", b"100755"})
_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
NOTES = ".task-*.md"
"""Task files: they say what an agent is to do, are no work and are never committed. For the root only."""


def is_note(path: str) -> bool:
    """Whether the path, from the root of a repository, is that of a task file."""
    return "/" not in path and fnmatchcase(path, NOTES)


@dataclass(frozen=True, slots=True)
class _Object:
    """One object as `git cat-file --batch` gives it."""

    oid: str
    kind: str
    content: bytes


@dataclass(frozen=True, slots=True)
class _Entry:
    """One line of a tree: a name directly below it, and what it stands for."""

    mode: bytes
    name: bytes
    oid: bytes

    @property
    def is_tree(self) -> bool:
        return self.mode == _TREE_MODE

    @property
    def is_note(self) -> bool:
        return self.mode in _FILE_MODES and fnmatchcase(decoded(self.name), NOTES)


@dataclass(frozen=True, slots=True)
class Survey:
    """A commit's code id, and the files that were asked for with it: None for one that is not there."""

    code_id: str
    files: Mapping[str, bytes | None]


async def survey(
    git: Git, repo: Path, commit: str, work_item_id: str, *, files: Sequence[str] = ()
) -> Survey:
    """The identity of a commit's code, together with some of its files.

    The code is the commit's tree without `docs/work-items/<id>/` and the root's `.task-*.md`: two commits
    have the same id if and only if they agree in every other file. Directories that hold nothing else do not
    count, as git does not store empty ones. Costs one process and the reading of three trees, however large
    the repository is. What stands at one of the paths and is no file is left out of the answer.

    Raises: Rejected for an unknown commit, a work item id that is no name of a directory or a path that is
    none; what `Git.run` raises.
    """
    if not _COMPONENT.match(work_item_id):
        raise Rejected(f"{work_item_id!r} is no work item id")
    check_revision(commit)
    for path in files:
        _check_path(path)
    names = (f"{commit}^{{tree}}", f"{commit}:docs", f"{commit}:docs/work-items")
    found = await _objects(git, repo, (*names, *(f"{commit}:{path}" for path in files)))
    root, docs, items = found[: len(names)]
    if root is None:
        raise Rejected(f"there is no commit {commit}")
    asked = zip(files, found[len(names) :], strict=True)
    return Survey(
        _code_id(root, docs, items, work_item_id),
        {
            path: None if one is None else one.content
            for path, one in asked
            if one is None or one.kind == "blob"
        },
    )


def _code_id(root: _Object, docs: _Object | None, items: _Object | None, work_item_id: str) -> str:
    size = len(root.oid) // 2
    top = [entry for entry in _entries(root.content, size) if not entry.is_note]
    middle = _below(top, b"docs", docs, size)
    bottom = _below(middle, b"work-items", items, size)
    kept = [entry for entry in bottom if entry.name != work_item_id.encode() or not entry.is_tree]
    digest = sha256()
    for label, entries in (
        (b"/", _without_tree(top, b"docs")),
        (b"/docs/", _without_tree(middle, b"work-items")),
        (b"/docs/work-items/", kept),
    ):
        digest.update(b"%s %d\0" % (label, len(entries)))
        for entry in entries:
            digest.update(b"%s %s\0%s" % (entry.mode, entry.name, entry.oid))
    return f"c{digest.hexdigest()}"


async def read_blob(git: Git, repo: Path, commit: str, path: str) -> bytes | None:
    """The bytes of a file at a commit, or None when the commit has nothing at that path.

    Raises: Rejected for an unknown commit, a path that is none, or a path of a directory; what `Git.run`
    raises.
    """
    check_revision(commit)
    _check_path(path)
    tree, found = await _objects(git, repo, (f"{commit}^{{tree}}", f"{commit}:{path}"))
    if tree is None:
        raise Rejected(f"there is no commit {commit}")
    if found is not None and found.kind != "blob":
        raise Rejected(f"{path} is a directory at {commit}")
    return None if found is None else found.content


async def list_paths(git: Git, repo: Path, commit: str, prefix: str = "") -> tuple[str, ...]:
    """Every file of a commit below the directory `prefix`, or that file itself, in git's order.

    Raises: Rejected for an unknown commit; what `Git.run` raises.
    """
    check_revision(commit)
    place = [prefix] if prefix else []
    return _paths(
        await git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", *place, cwd=repo)
    )


async def changed_paths(git: Git, repo: Path, old: str, new: str) -> tuple[str, ...]:
    """Every path that differs between two commits; a renamed file is its old path and its new one.

    Raises: Rejected for an unknown commit; what `Git.run` raises.
    """
    check_revision(old, new)
    # .gitmodules can ask that changes of submodules be overlooked; here nothing is.
    options = ("-r", "-z", "--name-only", "--no-renames", "--ignore-submodules=none")
    return _paths(await git.run("diff-tree", *options, old, new, "--", cwd=repo))


async def is_ancestor(git: Git, repo: Path, ancestor: str, descendant: str) -> bool:
    """Whether `descendant` contains `ancestor`; a commit contains itself.

    Raises: Rejected for an unknown commit; what `Git.run` raises.
    """
    check_revision(ancestor, descendant)
    return await git.holds("merge-base", "--is-ancestor", ancestor, descendant, cwd=repo)


async def head_of(git: Git, repo: Path, ref: str) -> str | None:
    """The commit that a ref or revision names, or None when there is none of that name.

    Raises: Rejected when this is no repository; what `Git.run` raises.
    """
    check_revision(ref)
    return await git.answer(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", cwd=repo
    )


async def tree_of(git: Git, repo: Path, commit: str) -> str:
    """The object id of a commit's whole tree.

    Raises: Rejected for an unknown commit; what `Git.run` raises.
    """
    check_revision(commit)
    found = await git.answer(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{tree}}", cwd=repo
    )
    if found is None:
        raise Rejected(f"there is no commit {commit}")
    return found


def is_object_id(text: str) -> bool:
    """Whether a text is the full id of an object: such a name never stands for another one."""
    return _OBJECT_ID.match(text) is not None


def check_revision(*names: str) -> None:
    """Lets only names pass that git cannot take for an option, a path or a search.

    Raises: Rejected for any other.
    """
    for name in names:
        if not _REVISION.match(name):
            raise Rejected(f"{name!r} names no commit")


def _check_path(path: str) -> None:
    parts = path.split("/")
    if "\n" in path or "\0" in path or any(part in {"", ".", ".."} for part in parts):
        raise Rejected(f"{path!r} is no path of a file in a repository")


async def _objects(git: Git, repo: Path, names: Sequence[str]) -> list[_Object | None]:
    """The named objects in order, None for one that does not exist, in one process."""
    result = await git.run(
        "cat-file", "--batch", cwd=repo, input="".join(f"{name}\n" for name in names).encode()
    )
    return list(_parsed(result.stdout, len(names)))


def _parsed(output: bytes, count: int) -> Iterator[_Object | None]:
    position = 0
    for _ in range(count):
        end = output.find(b"\n", position)
        header = output[position:end]
        position = end + 1
        fields = header.rsplit(b" ", 2)
        if end < 0 or len(fields) < 2:
            raise Malformed(f"git cat-file: {decoded(header)[:80]!r} is no answer")
        if fields[-1] in {b"missing", b"ambiguous", b"submodule"}:
            yield None
            continue
        size = int(fields[2])
        yield _Object(decoded(fields[0]), decoded(fields[1]), output[position : position + size])
        position += size + 1


def _entries(tree: bytes, size: int) -> Iterator[_Entry]:
    """The entries of a raw tree object whose object ids have `size` bytes."""
    position = 0
    while position < len(tree):
        end = tree.index(b"\0", position)
        mode, _, name = tree[position:end].partition(b" ")
        position = end + 1 + size
        yield _Entry(mode, name, tree[end + 1 : position])


def _below(entries: Sequence[_Entry], name: bytes, tree: _Object | None, size: int) -> list[_Entry]:
    """What the directory of this name among the entries holds; nothing when it is none."""
    if not any(entry.name == name and entry.is_tree for entry in entries):
        return []
    if tree is None or tree.kind != "tree":
        raise Malformed(f"the repository lacks the tree of {decoded(name)}/")
    return list(_entries(tree.content, size))


def _without_tree(entries: Sequence[_Entry], name: bytes) -> list[_Entry]:
    return [entry for entry in entries if entry.name != name or not entry.is_tree]


def _paths(result: GitResult) -> tuple[str, ...]:
    """Paths that git ended with NUL each; what is not UTF-8 in one is shown as an escape."""
    return tuple(decoded(path) for path in result.stdout.split(b"\0") if path)
