"""Producers that take no time of their own: they write a stage's documents and save them for real."""

from pathlib import Path

from orchestrator.bootstrap import App
from orchestrator.config.contract import Contract
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import Stage
from orchestrator.ports.producer import Assignment, Produced
from orchestrator.ports.tracker import TrackerState
from orchestrator.ports.workspace import Author

DAY = "2024-01-31"
_KEYS = {
    Stage.REVIEW: ("12-review.md", "verdict: APPROVED"),
    Stage.TESTING: ("13-test-report.md", "result: PASS"),
    Stage.DEPLOY_STAGING: ("15-staging-log.md", "staging_status: SUCCESS"),
    Stage.DEPLOY: ("14-deploy-log.md", "deploy_status: SUCCESS"),
}
_NAMES = {
    Stage.ANALYSIS: ("01-brd.md", "02-trz.md", "03-acceptance-criteria.md", "04-test-plan.yaml"),
    Stage.ARCHITECTURE: ("06-adr/ADR-001.md", "10-tech-risks.md"),
}
AUTHOR = Author("Bench", "bench@orchestrator.invalid")


def documents(item: str, stage: Stage) -> dict[str, str]:
    """What is left in a stage: text by path from the top of the repository."""
    if stage is Stage.DEVELOPMENT:
        return {f"src/{item}.py": "answer = 42\n"}
    below = f"docs/work-items/{item}"
    if stage in _KEYS:
        name, key = _KEYS[stage]
        return {f"{below}/{name}": _document(item, stage, name, key)}
    return {f"{below}/{name}": _document(item, stage, name) for name in _NAMES[stage]}


def write(directory: Path, texts: dict[str, str]) -> None:
    """Put the texts where they belong."""
    for path, text in texts.items():
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def _document(item: str, stage: Stage, name: str, key: str = "") -> str:
    keys = f"work_item: {item}\nstage: {stage}\nauthor_agent: bench\nstatus: final\ncreated_at: {DAY}\n"
    keys += "model_used: none\n" + (f"{key}\n" if key else "")
    return keys if name.endswith(".yaml") else f"---\n{keys}---\n\n# {name}\n\nEverything is fine.\n"


class InstantProducer:
    """Stands in for whoever works in any stage."""

    def __init__(self, app: App) -> None:
        self._app = app

    @property
    def name(self) -> str:
        """What is shown as producer."""
        return "bench"

    def applies(self, item: WorkItem, stage: Stage, contract: Contract | None) -> bool:
        """Everywhere."""
        return True

    async def produce(self, assignment: Assignment) -> Produced:
        """Write the documents of the stage into the item's worktree and save them."""
        workspace, stage = self._app.workspace, assignment.stage
        worktree = await workspace.check_out(assignment.branch, assignment.started_at)
        write(worktree, documents(assignment.item.id, stage))
        delivered = await workspace.save(
            assignment.branch,
            author=AUTHOR,
            message=f"{stage}({assignment.item.id}): instant",
            started_at=assignment.started_at,
            epoch=assignment.item.epoch,
        )
        return Produced(delivered)


def instant_producers(app: App) -> tuple[InstantProducer, ...]:
    """The whole table, and a person who approves every analysis as soon as the board asks for it."""
    tell = app.board.set_state

    async def approve(ref: str, state: TrackerState) -> None:
        await tell(ref, state)
        if state is TrackerState.NEEDS_APPROVAL:
            await app.desk.decide_analysis(ref, granted=True, by="bench")

    app.board.set_state = approve
    return (InstantProducer(app),)
