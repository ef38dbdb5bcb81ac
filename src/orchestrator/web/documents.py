"""The documents of an item as they are committed: listed, read, and rendered for a page."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from markupsafe import Markup

from orchestrator.engine.cases import branch_of
from orchestrator.pipeline.artifacts import CATALOGUE, Artifact, artifact_dir
from orchestrator.pipeline.ids import Commit
from orchestrator.pipeline.items import WorkItem
from orchestrator.plumbing.documents import SIZE_LIMIT, parse_document
from orchestrator.ports.workspace import Blob, Workspace
from orchestrator.web.items import Unknown
from orchestrator.web.markdown import render

KEPT: Final = 256
"""Documents that stay in memory; a commit never changes, so what was read once stays true."""


TITLES: Final[Mapping[str, str]] = {
    "00": "Business request",
    "01": "Business requirements",
    "02": "Technical specification",
    "03": "Acceptance criteria",
    "04": "Test plan",
    "07": "Infrastructure requirements",
    "08": "Data requirements",
    "09": "Security report",
    "10": "Technical risks",
    "11": "Coverage report",
    "12": "Review",
    "13": "Test report",
    "14": "Deploy log",
    "15": "Staging log",
    "16": "Post-deploy log",
}
"""What a document is called, by its number; decisions (06) go by their own names."""


@dataclass(frozen=True, slots=True)
class DocumentRef:
    """Where a document is: its path below the item's directory, and the commit that holds it."""

    path: str
    commit: Commit
    row: Artifact | None

    @property
    def title(self) -> str:
        """The name for people: that of its row in the catalogue, else that of the file."""
        stem = self.path.rpartition("/")[2].rpartition(".")[0] or self.path
        number = self.row.number if self.row is not None else ""
        return TITLES.get(number, stem)


@dataclass(frozen=True, slots=True)
class Page:
    """A document made ready for a page: its front matter, and its body as HTML or as plain text."""

    ref: DocumentRef
    meta: Mapping[str, object] = field(default_factory=dict)
    html: Markup | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Documents:
    """Reads documents out of the committed tree; nothing outside an item's directory is ever read."""

    workspace: Workspace
    _pages: OrderedDict[tuple[str, Commit, str], Page] = field(default_factory=OrderedDict)

    async def listing(self, item: WorkItem) -> tuple[DocumentRef, ...]:
        """The documents at the head of the item's branch, and those of the base that the branch lacks.

        Logs of a deploy are committed to the base after the merge (product §4). Raises the errors of the
        workspace.
        """
        branch = branch_of(item)
        head = await self.workspace.head(branch)
        refs = await self._at(item, head.commit)
        if item.merged is not None and head.exists:
            for ref in await self._at(item, await self.workspace.base_head(branch)):
                if all(ref.path != other.path for other in refs):
                    refs.append(ref)
        return tuple(sorted(refs, key=lambda ref: ref.path))

    async def _at(self, item: WorkItem, commit: Commit) -> list[DocumentRef]:
        below = f"{artifact_dir(item.id)}/"
        paths = await self.workspace.paths(item.project, commit, below.rstrip("/"))
        names = [path.removeprefix(below) for path in paths if path.startswith(below)]
        return [DocumentRef(name, commit, _row(name)) for name in names]

    async def text(self, item: WorkItem, path: str) -> str:
        """The document at ``path`` below the item's directory, as it is committed.

        Raises:
            Unknown: there is none; only a path that the listing names is ever read.
        """
        refs = {ref.path: ref for ref in await self.listing(item)}
        blob = await self._blob(item, refs[path]) if path in refs else None
        if blob is None:
            raise Unknown(f"{item.id} has no document {path}")
        return blob.text()

    async def page(self, item: WorkItem, ref: DocumentRef) -> Page:
        """``ref`` made ready for a page."""
        key = (item.project, ref.commit, f"{item.id}/{ref.path}")
        if key not in self._pages:
            blob = await self._blob(item, ref)
            self._pages[key] = _page(ref, blob)
            while len(self._pages) > KEPT:
                self._pages.popitem(last=False)
        self._pages.move_to_end(key)
        return self._pages[key]

    async def _blob(self, item: WorkItem, ref: DocumentRef) -> Blob | None:
        return await self.workspace.read(item.project, ref.commit, f"{artifact_dir(item.id)}/{ref.path}")


def _row(name: str) -> Artifact | None:
    return next((row for row in CATALOGUE if row.matches(name)), None)


def _page(ref: DocumentRef, blob: Blob | None) -> Page:
    if blob is None or len(blob.data) > SIZE_LIMIT or b"\0" in blob.data:
        return Page(ref, text="This document is too large, or no text: open it as it is.")
    text = blob.text()
    if not ref.path.endswith(".md"):
        return Page(ref, text=text)
    document = parse_document(text)
    return Page(ref, meta=document.meta, html=render(document.body))
