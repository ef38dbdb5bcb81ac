"""Who does the work of stages: a scripted agent CLI, and a scripted producer."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

from orchestrator.config.contract import Contract
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import Stage
from orchestrator.ports.agent import AgentFailed, AgentOutcome, AgentTask, Finished, Progress, Usage
from orchestrator.ports.clock import Clock
from orchestrator.ports.producer import Assignment, Outcome, Produced
from orchestrator.ports.workspace import Author, Workspace

Run: TypeAlias = Callable[[AgentTask], Awaitable[AgentOutcome | None]]
"""What an agent does in its workspace; ``None`` says that it finished in the usual way."""

Work: TypeAlias = Outcome | BaseException | Callable[[Assignment], Awaitable[Outcome]]
"""An outcome to report, an error to raise, or a function that works."""


class ScriptedAgent:
    """The port ``AgentTransport``: runs ``script`` instead of a CLI.

    ``tasks`` lists every attempt, ``stopped`` the directory of each run that was to end. A run directory is
    one attempt: starting in it again waits for the run that is there, or answers what it came to. A script
    that raises ends nothing: the error goes up, and the attempt can be started again.
    """

    def __init__(self, script: Run, clock: Clock, *, takes: timedelta = timedelta(minutes=1)) -> None:
        """Each run says that it took ``takes`` and used a little."""
        self.tasks: list[AgentTask] = []
        self.stopped: list[Path] = []
        self.usage = Usage(input_tokens=1000, output_tokens=100, cost_usd=0.01)
        self._script = script
        self._clock = clock
        self._takes = takes
        self._runs: dict[Path, asyncio.Task[AgentOutcome]] = {}

    async def run(self, task: AgentTask, progress: Progress | None = None) -> AgentOutcome:
        """Run (or re-attach to) the attempt and wait for its end; cancelling leaves the script at work."""
        running = self._runs.get(task.run_dir)
        if running is None or _raised(running):
            self.tasks.append(task)
            running = self._runs[task.run_dir] = asyncio.create_task(self._work(task))
        await asyncio.wait([running])
        return AgentFailed(Usage(), "it was stopped", None) if running.cancelled() else running.result()

    async def version(self, cli: str, command: str = "") -> str:
        """A script names none."""
        return ""

    async def stop(self, run_dir: Path) -> None:
        """End the run in ``run_dir``; ended already is no change."""
        self.stopped.append(run_dir)
        running = self._runs.get(run_dir)
        if running is not None:
            running.cancel()
            await asyncio.wait([running])

    async def _work(self, task: AgentTask) -> AgentOutcome:
        began = self._clock.now()
        outcome = await self._script(task)
        return outcome or Finished(self.usage, began, began + self._takes)


def _raised(run: asyncio.Task[AgentOutcome]) -> bool:
    return run.done() and not run.cancelled() and run.exception() is not None


class ScriptedProducer:
    """The port ``Producer``: takes every kind of work, or that of ``stages`` only.

    What was not scripted writes one file in the item's worktree and saves it; development changes the code,
    every other stage writes a document of the item.
    """

    def __init__(
        self, workspace: Workspace, name: str = "script", *, stages: Iterable[Stage] | None = None
    ) -> None:
        """Work in ``workspace`` under ``name``."""
        self.assignments: list[Assignment] = []
        self._name = name
        self._workspace = workspace
        self._stages = None if stages is None else frozenset(stages)
        self._next: list[Work] = []

    @property
    def name(self) -> str:
        """What is written as ``author_agent``."""
        return self._name

    def then(self, *outcomes: Work) -> None:
        """The next pieces of work come to this, one after the other."""
        self._next.extend(outcomes)

    def applies(self, item: WorkItem, stage: Stage, contract: Contract | None) -> bool:
        """Whether the stage is one of ours."""
        return self._stages is None or stage in self._stages

    async def produce(self, assignment: Assignment) -> Outcome:
        """Do what is next in the script."""
        self.assignments.append(assignment)
        work = self._next.pop(0) if self._next else self.deliver
        if isinstance(work, BaseException):
            raise work
        return await work(assignment) if callable(work) else work

    async def deliver(self, assignment: Assignment) -> Outcome:
        """Write something in the worktree, save it, and report it."""
        directory = await self._workspace.check_out(assignment.branch, assignment.started_at)
        item, stage = assignment.item, assignment.stage
        document = f"docs/work-items/{item.id}/{stage}.md"
        path = f"{item.id}.txt" if stage is Stage.DEVELOPMENT else document
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"{stage}, round {len(assignment.rounds) + 1}, job {assignment.job.id}\n")
        delivered = await self._workspace.save(
            assignment.branch,
            author=Author(self._name, f"{self._name}@localhost"),
            message=f"{item.id}: {stage}",
            started_at=assignment.started_at,
            epoch=item.epoch,
        )
        return Produced(delivered, artifact=path, summary=f"{stage} is done")
