"""Opening a run: its row, the workspace as it has to be, and the task in writing. Done once for each run."""

from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

from orchestrator.errors import BadInput, Rejected
from orchestrator.pipeline.artifacts import artifact_dir
from orchestrator.pipeline.budgets import Bound, Ceiling
from orchestrator.pipeline.ids import Commit
from orchestrator.pipeline.rounds import task_file_name
from orchestrator.ports.agent import AgentTask, Session
from orchestrator.ports.producer import Assignment
from orchestrator.ports.store import StartedRun
from orchestrator.ports.workspace import Workspace
from orchestrator.producers.agent_run.admission import Admission, Held
from orchestrator.producers.agent_run.furnishing import Furnishing, require_approved
from orchestrator.producers.agent_run.places import Places
from orchestrator.producers.agent_run.reservation import Refused, Reservations
from orchestrator.producers.agent_run.role_prompts import RolePrompts
from orchestrator.producers.agent_run.run_dirs import (
    Begun,
    Interrupted,
    RunDirs,
    note_begun,
    note_interrupted,
    note_prompt,
    read_begun,
    read_prompt,
    settle,
)
from orchestrator.producers.agent_run.terms import Terms

TurnedAway: TypeAlias = Refused | Held
"""Why no run may start now."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A run that may be started or re-attached to: what the CLI is told, and where its work starts."""

    task: AgentTask
    begun: Begun

    def settle(self, session: Session | None = None) -> None:
        """Note that the run is over and its work is not wanted: what follows is another run.

        With ``session`` that run goes on with the conversation of this one, in the workspace as it is.
        """
        if session is not None:
            begun = self.begun
            note_interrupted(self.task.run_dir, Interrupted(session, begun.start, begun.cli, begun.locked_in))
        settle(self.task.run_dir)


class Opening:
    """Prepares runs; a run that was prepared before is found again and nothing of it is touched."""

    def __init__(
        self,
        *,
        reservations: Reservations,
        admission: Admission,
        furnishing: Furnishing,
        places: Places,
        workspace: Workspace,
        runs_dir: Path,
        email_domain: str,
        most_turns: int = 0,
    ) -> None:
        self._reservations = reservations
        self._admission = admission
        self._furnishing = furnishing
        self._places = places
        self._workspace = workspace
        self._prompts = RolePrompts(workspace)
        self._email_domain = email_domain
        self._turns = most_turns
        self._dirs = RunDirs(runs_dir)

    async def open(self, assignment: Assignment) -> Opened | TurnedAway:
        """The run that the assignment leads to now, or why none may start.

        Raises:
            BadInput: nobody has let in the item's present text, or the repository's own prompt is of no use.
            Unavailable: store or workspace cannot be reached.
            Rejected: the project or the commit is unknown, or the CLI cannot tell its version.
            Malformed: the note of a run is damaged.
        """
        run_dir = self._dirs.present(assignment)
        terms = await self._reservations.terms(assignment)
        begun = read_begun(run_dir)
        if begun is not None:
            run = await self._reservations.found(begun.run_id)
            if begun.cli:
                terms = replace(terms, cli=begun.cli, locked_in=begun.locked_in)
            return Opened(await self._task(assignment, run_dir, terms, run=run, begun=begun), begun)
        require_approved(assignment.item)
        prompt = await self._prompts.of(assignment.branch, assignment.role)
        run_or_reason = await self._stamped(assignment, run_dir, terms)
        if not isinstance(run_or_reason, StartedRun):
            return run_or_reason
        try:
            begun = await self._begin(assignment, run_dir, terms, run=run_or_reason, prompt=prompt)
            task = await self._task(assignment, run_dir, terms, run=run_or_reason, begun=begun)
        except (BadInput, Rejected):
            # Nothing comes of this run: it reserves nothing any more, and says nothing of the provider.
            await self._reservations.withdraw(run_or_reason.id)
            await self._admission.report(assignment, terms.cli, None)
            raise
        return Opened(task, begun)

    async def withdraw(self, assignment: Assignment, opened: Opened) -> None:
        """Take back a run that was opened and is not wanted any more."""
        await self._reservations.withdraw(opened.begun.run_id)
        await self._admission.report(assignment, opened.task.cli, None)
        opened.settle()

    async def _stamped(self, assignment: Assignment, run_dir: Path, terms: Terms) -> StartedRun | TurnedAway:
        """The run's row, once machine, provider and budgets allow it."""
        held = await self._admission.ask(assignment, terms.cli, terms.limit)
        if held is not None:
            return held
        run: StartedRun | TurnedAway | None = None
        try:
            run = await self._reservations.start(
                assignment,
                terms,
                start_commit=await self._start(assignment),
                log_path=str(run_dir / "output.log"),
            )
        finally:
            if not isinstance(run, StartedRun):
                await self._admission.report(assignment, terms.cli, None)
        return run

    async def _begin(
        self, assignment: Assignment, run_dir: Path, terms: Terms, *, run: StartedRun, prompt: str
    ) -> Begun:
        """Put the workspace in order, write the task; a crash before the note repeats it."""
        run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        note_prompt(run_dir, prompt)
        resume = await self._resumable(assignment, terms, run.start_commit)
        session = ""
        if resume is None:
            session = await self._furnishing.furnish(assignment, run_dir, terms, run.start_commit)
        begun = Begun(run.id, run.start_commit, session, resume, terms.cli, terms.locked_in)
        note_begun(run_dir, begun)
        return begun

    async def _resumable(self, assignment: Assignment, terms: Terms, start: Commit) -> Session | None:
        """The conversation that goes on, if nothing but time has passed since a limit ended it."""
        interrupted = self._dirs.interrupted(assignment)
        if interrupted is None:
            return None
        place = await self._places.of(assignment, terms)
        with_the_same = (interrupted.cli, interrupted.locked_in) == (terms.cli, terms.locked_in)
        if with_the_same and interrupted.start == start and (place / ".git").exists():
            return interrupted.session
        await self._places.keep(assignment.branch, f"job-{assignment.job.id}")
        return None

    async def _start(self, assignment: Assignment) -> Commit:
        """Where the branch stands now: somebody may have moved it since the work was ordered."""
        head = await self._workspace.head(assignment.branch)
        return head.commit if head.exists else assignment.started_at

    async def _task(
        self, assignment: Assignment, run_dir: Path, terms: Terms, *, run: StartedRun, begun: Begun
    ) -> AgentTask:
        item, branch = assignment.item, assignment.branch
        place = await self._places.of(assignment, terms)
        return AgentTask(
            role=assignment.role,
            work_item=item.id,
            project=item.project,
            title=item.title,
            workspace=place,
            task_file=place / task_file_name(assignment.role),
            artifact_dir=place / artifact_dir(item.id),
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
            cli=terms.cli,
            fallback_model=terms.fallback_model,
            prompt=read_prompt(run_dir),
            session=begun.session,
            resume=begun.resume,
            ceiling=self._ceiling(run),
            email=f"{assignment.role.value}@{self._email_domain}",
            confinement=self._places.confinement(assignment, terms),
        )

    def _ceiling(self, run: StartedRun) -> Ceiling:
        """What the budgets grant, and the turns that any run may take (0: not limited)."""
        if not self._turns:
            return run.ceiling
        most = Bound(self._turns, f"the limit of {self._turns} turns (ORCH_AGENT_MAX_TURNS)")
        return replace(run.ceiling, turns=most)


def _limit(terms: Terms, run: StartedRun) -> timedelta:
    """How long the run may take: its role's limit, or the budget that comes before it."""
    wall = run.ceiling.wall_s
    return terms.limit if wall is None else min(terms.limit, timedelta(seconds=wall.amount))
