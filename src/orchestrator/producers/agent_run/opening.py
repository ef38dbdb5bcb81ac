"""Opening a run: its row, the workspace as it has to be, and the task in writing. Done once for each run."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from orchestrator.config.settings import Settings
from orchestrator.delivery.files import make_directory, put_file
from orchestrator.pipeline.artifacts import artifact_dir
from orchestrator.pipeline.ids import Commit
from orchestrator.pipeline.rounds import task_file_name
from orchestrator.pipeline.wording import Language
from orchestrator.ports.agent import AgentTask
from orchestrator.ports.producer import Assignment
from orchestrator.ports.store import StartedRun
from orchestrator.ports.workspace import Workspace
from orchestrator.producers.agent_run.briefing import papers
from orchestrator.producers.agent_run.reservation import Refused, Reservations
from orchestrator.producers.agent_run.run_dirs import Begun, RunDirs, note_begun, read_begun, settle
from orchestrator.producers.agent_run.terms import Terms


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
        reservations: Reservations,
        workspace: Workspace,
        settings: Settings,
        runs_dir: Path,
    ) -> None:
        self._reservations = reservations
        self._workspace = workspace
        self._settings = settings
        self._dirs = RunDirs(runs_dir)

    async def open(self, assignment: Assignment) -> Opened | Refused:
        """The run that the assignment leads to now, or why the budgets allow none.

        Raises:
            Unavailable: store or workspace cannot be reached.
            Rejected: the project or the commit is unknown, or the CLI cannot tell its version.
            Malformed: the note of a run is damaged.
        """
        run_dir = self._dirs.present(assignment)
        terms = await self._reservations.terms(assignment)
        begun = read_begun(run_dir)
        if begun is not None:
            run = await self._reservations.found(begun.run_id)
            return Opened(await self._task(assignment, run_dir, terms, run), begun)
        run_or_refusal = await self._reservations.start(
            assignment,
            terms,
            start_commit=await self._start(assignment),
            log_path=str(run_dir / "output.log"),
        )
        if not isinstance(run_or_refusal, StartedRun):
            return run_or_refusal
        begun = await self._begin(assignment, run_dir, run_or_refusal)
        return Opened(await self._task(assignment, run_dir, terms, run_or_refusal), begun)

    async def _begin(self, assignment: Assignment, run_dir: Path, run: StartedRun) -> Begun:
        """Put the workspace in order, write the task; a crash before the note repeats it."""
        worktree = await self._workspace.check_out(assignment.branch, run.start_commit)
        make_directory(worktree, artifact_dir(assignment.item.id))
        run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path, data in papers(assignment, Language(self._settings.language)).items():
            put_file(worktree, path, data)
            (run_dir / Path(path).name).write_bytes(data)
        begun = Begun(run.id, run.start_commit)
        note_begun(run_dir, begun)
        return begun

    async def _start(self, assignment: Assignment) -> Commit:
        """Where the branch stands now: somebody may have moved it since the work was ordered."""
        head = await self._workspace.head(assignment.branch)
        return head.commit if head.exists else assignment.started_at

    async def _task(self, assignment: Assignment, run_dir: Path, terms: Terms, run: StartedRun) -> AgentTask:
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
            run_id=run.id,
            run_dir=run_dir,
            limit=_limit(terms, run),
            grace=terms.grace,
            model=terms.model,
            effort=terms.effort,
            command=terms.command,
            ceiling=run.ceiling,
        )


def _limit(terms: Terms, run: StartedRun) -> timedelta:
    """How long the run may take: its role's limit, or the budget that comes before it."""
    wall = run.ceiling.wall_s
    return terms.limit if wall is None else min(terms.limit, timedelta(seconds=wall.amount))
