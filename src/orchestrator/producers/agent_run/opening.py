"""Opening a run: its row, the workspace as it has to be, and the task in writing. Done once for each run."""

from dataclasses import dataclass
from pathlib import Path

from orchestrator.config.settings import Settings
from orchestrator.delivery.files import make_directory, put_file
from orchestrator.pipeline.artifacts import artifact_dir
from orchestrator.pipeline.ids import Commit
from orchestrator.pipeline.rounds import task_file_name
from orchestrator.pipeline.wording import Language
from orchestrator.ports.agent import AgentTask
from orchestrator.ports.producer import Assignment
from orchestrator.ports.projects import ProjectRegistry
from orchestrator.ports.store import Store
from orchestrator.ports.workspace import Workspace
from orchestrator.producers.agent_run.briefing import papers
from orchestrator.producers.agent_run.run_dirs import Begun, RunDirs, note_begun, read_begun, settle
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
    ) -> None:
        self._store = store
        self._projects = projects
        self._workspace = workspace
        self._settings = settings
        self._dirs = RunDirs(runs_dir)

    async def open(self, assignment: Assignment) -> Opened:
        """The run that the assignment leads to now.

        Raises:
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
        for path, data in papers(assignment, Language(self._settings.language)).items():
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
        )
