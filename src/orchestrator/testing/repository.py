"""A repository in memory: commits, branches, and the one merge that rebases and pull requests need."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, TypeAlias

from orchestrator.errors import Rejected
from orchestrator.pipeline.ids import CodeId, Commit, WorkItemId

Tree: TypeAlias = Mapping[str, bytes]

HEADS: Final = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a commit holds: every file by its path, and where it came from."""

    tree: Tree
    parents: tuple[Commit, ...]
    message: str
    author: str = ""


@dataclass(slots=True)
class MemoryRepository:
    """The commits of one project; ``refs`` holds every reference by its full name."""

    base: str
    commits: dict[Commit, Snapshot] = field(default_factory=dict)
    refs: dict[str, Commit] = field(default_factory=dict)

    def branch(self, name: str) -> Commit | None:
        """Where a branch stands; ``None`` when it was not cut."""
        return self.refs.get(f"{HEADS}{name}")

    def move(self, name: str, commit: Commit) -> None:
        """Let a branch stand at ``commit``."""
        self.refs[f"{HEADS}{name}"] = commit

    def branches(self) -> dict[str, Commit]:
        """Where every branch stands, by its name."""
        found = ((ref.removeprefix(HEADS), at) for ref, at in self.refs.items() if ref.startswith(HEADS))
        return dict(found)

    def commit(self, tree: Tree, parents: Sequence[Commit], message: str, author: str = "") -> Commit:
        """The commit with that content; the same content is the same commit."""
        content = repr((tree_id(tree), tuple(parents), message, author)).encode()
        made = Commit(hashlib.sha1(content, usedforsecurity=False).hexdigest())
        self.commits[made] = Snapshot(dict(tree), tuple(parents), message, author)
        return made

    def snapshot(self, commit: Commit) -> Snapshot:
        """What ``commit`` holds.

        Raises:
            Rejected: there is no such commit.
        """
        if commit not in self.commits:
            raise Rejected(f"there is no commit {commit}")
        return self.commits[commit]

    def history(self, commit: Commit) -> Iterator[Commit]:
        """``commit`` and its ancestors, the nearest first."""
        seen: set[Commit] = set()
        waiting = [commit]
        while waiting:
            present = waiting.pop(0)
            if present not in seen:
                seen.add(present)
                yield present
                waiting += self.snapshot(present).parents

    def contains(self, ancestor: Commit, commit: Commit) -> bool:
        """Whether ``ancestor`` is ``commit`` or one of its ancestors."""
        return ancestor in self.history(commit)

    def merged(self, ours: Commit, theirs: Commit) -> tuple[Tree, tuple[str, ...]]:
        """The tree of both, and the paths that both changed in different ways."""
        older = set(self.history(ours))
        common = next((one for one in self.history(theirs) if one in older), None)
        origin = self.snapshot(common).tree if common is not None else {}
        left, right = self.snapshot(ours).tree, self.snapshot(theirs).tree
        tree: dict[str, bytes] = {}
        conflicts: list[str] = []
        for path in sorted({*origin, *left, *right}):
            was, one, other = origin.get(path), left.get(path), right.get(path)
            if one not in (was, other) and other != was:
                conflicts.append(path)
            content = other if one == was else one
            if content is not None:
                tree[path] = content
        return tree, tuple(conflicts)


def tree_id(tree: Tree) -> str:
    """The id that git gives a tree of these files, none of which is executable or a link."""
    return _folder_id([(path.split("/"), content) for path, content in tree.items()]).hex()


def _folder_id(files: Sequence[tuple[list[str], bytes]]) -> bytes:
    folders: dict[str, list[tuple[list[str], bytes]]] = {}
    lines: dict[bytes, bytes] = {}
    for (name, *below), content in files:
        if below:
            folders.setdefault(name, []).append((below, content))
        else:
            lines[name.encode()] = b"100644 %s\0%s" % (name.encode(), bytes.fromhex(blob_id(content)))
    for name, inside in folders.items():
        # Git orders a folder as if its name ended with a slash.
        lines[f"{name}/".encode()] = b"40000 %s\0%s" % (name.encode(), _folder_id(inside))
    text = b"".join(line for _, line in sorted(lines.items()))
    return hashlib.sha1(b"tree %d\0%s" % (len(text), text), usedforsecurity=False).digest()


def blob_id(content: bytes) -> str:
    """The id that git gives a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def is_task_file(path: str) -> bool:
    """Whether the file tells an agent what to do: such files are no work, and are never committed."""
    return fnmatchcase(path, ".task-*.md") and "/" not in path


def code_id(tree: Tree, item: WorkItemId) -> CodeId:
    """The id of the tree without the item's own documents and the task files (architecture §2a)."""
    own = f"docs/work-items/{item}/"
    kept = {path: c for path, c in tree.items() if not path.startswith(own) and not is_task_file(path)}
    return CodeId(tree_id(kept))
