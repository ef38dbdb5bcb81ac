"""Putting a workspace in order for a run: a clean checkout, the task in writing, a clone when it is lent."""

import uuid
from pathlib import Path

from orchestrator.delivery.files import make_directory, put_file
from orchestrator.errors import BadInput
from orchestrator.pipeline.artifacts import artifact_dir
from orchestrator.pipeline.ids import Commit, TaskId
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.rounds import Remark
from orchestrator.pipeline.untrusted import text_digest
from orchestrator.pipeline.wording import Language
from orchestrator.ports.clock import Ids
from orchestrator.ports.producer import Assignment
from orchestrator.ports.store import Store, Transaction
from orchestrator.ports.workspace import Workspace
from orchestrator.producers.agent_run.briefing import Paper, papers
from orchestrator.producers.agent_run.places import Places
from orchestrator.producers.agent_run.terms import Terms


class Furnishing:
    """Makes workspaces as a run has to find them."""

    def __init__(
        self, *, store: Store, workspace: Workspace, places: Places, ids: Ids, language: Language
    ) -> None:
        self._store = store
        self._workspace = workspace
        self._places = places
        self._ids = ids
        self._language = language

    async def furnish(self, assignment: Assignment, run_dir: Path, terms: Terms, start: Commit) -> str:
        """Put everything in its place; the id of the conversation that begins in it.

        Raises:
            Unavailable: store or workspace cannot be reached.
            Rejected: the commit is unknown.
        """
        remarks = await self._store.transact(lambda tx: _remarks(tx, assignment.item.task_id))
        paper = Paper(self._ids.new(), self._language, remarks)
        worktree = await self._workspace.check_out(assignment.branch, start)
        make_directory(worktree, artifact_dir(assignment.item.id))
        for path, data in papers(assignment, paper).items():
            put_file(worktree, path, data)
            (run_dir / Path(path).name).write_bytes(data)
        await self._places.lend(assignment, terms)
        return str(uuid.uuid5(uuid.NAMESPACE_OID, paper.nonce))


def require_approved(item: WorkItem) -> None:
    """No agent reads a text that was changed behind the backs of those who let it in.

    Raises:
        BadInput: the item's present text is not the one that was let in.
    """
    if item.text_approved != text_digest(item.title, item.description):
        raise BadInput(
            f"the text of {item.id} is not one that was let in; read it (orch item show {item.id}), then "
            f"'orch item retry {item.id}' lets it in as it stands"
        )


def _remarks(tx: Transaction, task_id: TaskId) -> tuple[Remark, ...]:
    """What people said with the decisions that let the item go on; a rejection comes as a demand."""
    granted = [approval for approval in tx.facts.approvals(task_id) if approval.granted]
    return tuple(Remark(one.by, one.comment.strip(), one.at) for one in granted if one.comment.strip())
