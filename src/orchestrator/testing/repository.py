"""A repository in memory: commits, branches, and the one merge that rebases and pull requests need."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from orchestrator.errors import Rejected
from orchestrator.pipeline.ids import CodeId, Commit, WorkItemId

Tree: TypeAlias = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a commit holds: every file by its path, and where it came from."""

    tree: Tree
    parents: tuple[Commit, ...]
    message: str


@dataclass(slots=True)
class MemoryRepository:
    """The commits of one project; ``refs`` holds every reference by its full name."""

    base: str
    commits: dict[Commit, Snapshot] = field(default_factory=dict)
    refs: dict[str, Commit] = field(default_factory=dict)

    def branch(self, name: str) -> Commit | None:
        """Where a branch stands; ``None`` when it was not cut."""
        return self.refs.get(f"refs/heads/{name}")

    def move(self, name: str, commit: Commit) -> None:
        """Let a branch stand at ``commit``."""
        self.refs[f"refs/heads/{name}"] = commit

    def commit(self, tree: Tree, parents: Sequence[Commit], message: str) -> Commit:
        """The commit with that content; the same content is the same commit."""
        digest = hashlib.sha1(repr((tree_id(tree), tuple(parents), message)).encode(), usedforsecurity=False)
        made = Commit(digest.hexdigest())
        self.commits[made] = Snapshot(dict(tree), tuple(parents), message)
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
    """The id of a tree: equal exactly when all paths and contents are."""
    lines = [f"{path} {blob_id(content)}" for path, content in sorted(tree.items())]
    return hashlib.sha1("\n".join(lines).encode(), usedforsecurity=False).hexdigest()


def blob_id(content: bytes) -> str:
    """The id that git gives a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def code_id(tree: Tree, item: WorkItemId) -> CodeId:
    """The id of the tree without the item's own documents and the task files (architecture §2a)."""
    own = f"docs/work-items/{item}/"
    return CodeId(tree_id({path: c for path, c in tree.items() if not path.startswith((own, ".task-"))}))
