"""What the commits of mirrors hold, remembered: a commit never changes, so git is asked once."""

from collections import OrderedDict
from hashlib import new as new_hash
from pathlib import Path
from typing import Final, Generic, TypeVar

from orchestrator.pipeline.artifacts import CATALOGUE, artifact_dir
from orchestrator.pipeline.ids import CodeId, Commit, WorkItemId
from orchestrator.plumbing.git import Git, trees
from orchestrator.ports.workspace import Blob

Value = TypeVar("Value")

FACTS_KEPT: Final = 4096
FILES_KEPT: Final = 512
LARGEST_KEPT: Final = 32_768
"""Bytes of the largest file that is remembered."""

_DOCUMENTS: Final = tuple(row.name for row in CATALOGUE if "*" not in row.name)


class Commits:
    """Answers about commits, by the mirror that has them.

    A name that is no full id may stand for another commit tomorrow: what is known of it is not remembered.
    """

    def __init__(self, git: Git) -> None:
        self._git = git
        self._codes: _Kept[CodeId] = _Kept(FACTS_KEPT)
        self._trees: _Kept[str] = _Kept(FACTS_KEPT)
        self._ancestry: _Kept[bool] = _Kept(FACTS_KEPT)
        self._files: _Kept[Blob | None] = _Kept(FILES_KEPT)

    async def code_id(self, mirror: Path, commit: Commit, item: WorkItemId) -> CodeId:
        """The code id of ``commit``; the item's documents are read along, for whoever judges them next."""
        known = self._codes.get(mirror, commit, item)
        if known is not None:
            return known
        below = artifact_dir(item)
        survey = await trees.survey(
            self._git, mirror, commit, item, files=[f"{below}/{name}" for name in _DOCUMENTS]
        )
        for path, data in survey.files.items():
            self._keep(mirror, commit, path, None if data is None else _blob(data, commit))
        return self._codes.put(CodeId(survey.code_id), mirror, commit, item)

    async def read(self, mirror: Path, commit: Commit, path: str) -> Blob | None:
        """The file at ``path``; ``None`` only when it is not there."""
        if self._files.has(mirror, commit, path):
            return self._files.get(mirror, commit, path)
        data = await trees.read_blob(self._git, mirror, commit, path)
        blob = None if data is None else _blob(data, commit)
        self._keep(mirror, commit, path, blob)
        return blob

    async def contains(self, mirror: Path, ancestor: Commit, commit: Commit) -> bool:
        """Whether ``ancestor`` is ``commit`` or one of its ancestors."""
        if ancestor == commit:
            return True
        known = self._ancestry.get(mirror, ancestor, commit)
        if known is not None:
            return known
        answer = await trees.is_ancestor(self._git, mirror, ancestor, commit)
        return self._ancestry.put(answer, mirror, ancestor, commit) if trees.is_object_id(commit) else answer

    async def tree_of(self, mirror: Path, commit: Commit) -> str:
        """Object id of the tree of ``commit``."""
        known = self._trees.get(mirror, commit)
        if known is not None:
            return known
        return self._trees.put(await trees.tree_of(self._git, mirror, commit), mirror, commit)

    async def exists(self, mirror: Path, commit: Commit, item: WorkItemId) -> bool:
        """Whether the mirror has ``commit``."""
        if self._codes.has(mirror, commit, item):
            return True
        return await trees.head_of(self._git, mirror, commit) is not None

    def _keep(self, mirror: Path, commit: Commit, path: str, blob: Blob | None) -> None:
        if blob is None or len(blob.data) <= LARGEST_KEPT:
            self._files.put(blob, mirror, commit, path)


class _Kept(Generic[Value]):
    """The values that were used last, by a mirror and names in it of which each is a full id or a text."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[tuple[Path, str, str], Value] = OrderedDict()

    def has(self, mirror: Path, commit: Commit, other: str = "") -> bool:
        return (mirror, commit, other) in self._values

    def get(self, mirror: Path, commit: Commit, other: str = "") -> Value | None:
        key = (mirror, commit, other)
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key]

    def put(self, value: Value, mirror: Path, commit: Commit, other: str = "") -> Value:
        if trees.is_object_id(commit):
            self._values[mirror, commit, other] = value
            if len(self._values) > self._limit:
                self._values.popitem(last=False)
        return value


def _blob(data: bytes, commit: Commit) -> Blob:
    """A file with the id that git gives it: by SHA-1 or SHA-256, whichever made the commit's id."""
    digest = new_hash("sha256" if len(commit) == 64 else "sha1", usedforsecurity=False)
    digest.update(b"blob %d\0" % len(data))
    digest.update(data)
    return Blob(digest.hexdigest(), data)
