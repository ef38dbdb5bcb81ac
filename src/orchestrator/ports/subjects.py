"""What an approval of the analysis is bound to: the documents as a person saw them (architecture §2a)."""

import hashlib
from typing import Final

from orchestrator.pipeline.artifacts import artifact_path
from orchestrator.pipeline.ids import Commit, WorkItemId
from orchestrator.ports.workspace import Workspace

ANALYSIS_DOCUMENTS: Final = ("01", "02", "03", "04")
"""Numbers of the documents that the approval is about; whoever changes one asks for it again."""


async def analysis_subject(workspace: Workspace, project: str, commit: Commit, item_id: WorkItemId) -> str:
    """Digest of the analysis documents that are in ``commit``: the same blobs, the same subject.

    Raises the errors of ``Workspace.read``.
    """
    lines: list[str] = []
    for number in ANALYSIS_DOCUMENTS:
        path = artifact_path(item_id, number)
        blob = await workspace.read(project, commit, path)
        if blob is not None:
            lines.append(f"{path} {blob.id}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()
