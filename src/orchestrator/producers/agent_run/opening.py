"""Opening a run: its row, the workspace as it has to be, and the task in writing. Done once for each run."""

from dataclasses import dataclass
from pathlib import Path

from orchestrator.config.settings import Settings
from orchestrator.delivery.files import make_directory, put_file
from orchestrator.errors import BadInput
from orchestrator.pipeline.artifacts import artifact_dir
from orchestrator.pipeline.ids import Commit, TaskId
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.rounds import Remark, task_file_name
from orchestrator.pipeline.untrusted import text_digest
from orchestrator.pipeline.wording import Language
from orchestrator.ports.agent import AgentTask
from orchestrator.ports.clock import Ids
from orchestrator.ports.producer import Assignment
from orchestrator.ports.projects import ProjectRegistry
from orchestrator.ports.store import Store, Transaction
from orchestrator.ports.workspace import Workspace
from orchestrator.producers.agent_run.briefing import Paper, papers
from orchestrator.producers.agent_run.role_prompts import role_prompt
from orchestrator.producers.agent_run.run_dirs import (
    Begun,
    RunDirs,
    note_begun,
    note_prompt,
    read_begun,
    read_prompt,
    settle,
)
from orchestrator.producers.agent_run.terms import Terms, terms_of


@dataclass(frozen=True, slots=True)
class Opened:
    """A run that may be started or re-attached to: what the CLI is told, and where its work starts."""

    task: AgentTask
    begun: Begun

    def settle(self) -> None:
        """Note that the run is over and its work is not wanted: what follows is another run."""
        settle(self.task.run_dir)


class Opening:
    """Prepares runs; a run that was prepared before is found again and nothing of it is touched."""

    def __init__(
        self,
        *,
        store: Store,
        projects: ProjectRegistry,
        workspace: Workspace,
        settings: Settings,
        runs_dir: Path,
        ids: Ids,
    ) -> None:
        self._store = store
        self._projects = projects
        self._workspace = workspace
        self._settings = settings
        self._dirs = RunDirs(runs_dir)
        self._ids = ids

    async def open(self, assignment: Assignment) -> Opened:
        """The run that the assignment leads to now.

        Raises:
            BadInput: nobody has let in the item's present text, or the repository's own prompt is of no use.
            Unavailable: store or workspace cannot be reached.
            Rejected: the project or the commit is unknown.
            Malformed: the note of a run is damaged.
        """
        run_dir = self._dirs.present(assignment)
        project = await self._projects.project(assignment.item.project)
        terms = terms_of(assignment.role, project, self._settings)
        begun = read_begun(run_dir) or await self._begin(assignment, run_dir, terms)
        return Opened(await self._task(assignment, run_dir, terms, begun), begun)

    async def _begin(self, assignment: Assignment, run_dir: Path, terms: Terms) -> Begun:
        """Stamp the run, put the workspace in order, write the task; a crash before the note repeats it."""
        _require_approved(assignment.item)
        prompt = await role_prompt(self._workspace, assignment.branch, assignment.role)
        remarks = await self._store.transact(lambda tx: _remarks(tx, assignment.item.task_id))
        paper = Paper(self._ids.new(), Language(self._settings.language), remarks)
        wanted = await self._start(assignment)
        run_id, start = await self._store.transact(
            lambda tx: tx.runs.start(
                assignment.job,
                role=assignment.role.value,
                model=terms.model,
                effort=terms.effort,
                log_path=str(run_dir / "output.log"),
                start_commit=wanted,
            )
        )
        worktree = await self._workspace.check_out(assignment.branch, start)
        make_directory(worktree, artifact_dir(assignment.item.id))
        run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        note_prompt(run_dir, prompt)
        for path, data in papers(assignment, paper).items():
            put_file(worktree, path, data)
            (run_dir / Path(path).name).write_bytes(data)
        begun = Begun(run_id, start)
        note_begun(run_dir, begun)
        return begun

    async def _start(self, assignment: Assignment) -> Commit:
        """Where the branch stands now: somebody may have moved it since the work was ordered."""
        head = await self._workspace.head(assignment.branch)
        return head.commit if head.exists else assignment.started_at

    async def _task(self, assignment: Assignment, run_dir: Path, terms: Terms, begun: Begun) -> AgentTask:
        item, branch = assignment.item, assignment.branch
        worktree = await self._workspace.location(branch)
        return AgentTask(
            role=assignment.role,
            work_item=item.id,
            project=item.project,
            title=item.title,
            workspace=worktree,
            task_file=worktree / task_file_name(assignment.role),
            artifact_dir=worktree / artifact_dir(item.id),
            branch=branch.name,
            base=branch.base,
            base_commit=await self._workspace.base_head(branch),
            round=len(assignment.rounds) + 1,
            run_id=begun.run_id,
            run_dir=run_dir,
            limit=terms.limit,
            grace=terms.grace,
            model=terms.model,
            effort=terms.effort,
            command=terms.command,
            cli=terms.cli,
            prompt=read_prompt(run_dir),
        )


def _require_approved(item: WorkItem) -> None:
    """No agent reads a text that was changed behind the backs of those who let it in."""
    if item.text_approved != text_digest(item.title, item.description):
        raise BadInput(
            f"the text of {item.id} is not one that was let in; read it (orch item show {item.id}), then "
            f"'orch item retry {item.id}' lets it in as it stands"
        )


def _remarks(tx: Transaction, task_id: TaskId) -> tuple[Remark, ...]:
    """What people said with the decisions that let the item go on; a rejection comes as a demand."""
    granted = [approval for approval in tx.facts.approvals(task_id) if approval.granted]
    return tuple(Remark(one.by, one.comment.strip(), one.at) for one in granted if one.comment.strip())
