"""Tasks of agents, and recordings of what real CLIs printed."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from orchestrator.agents.clis import Reader
from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.stages import Role
from orchestrator.plumbing.processes import ExitRecord
from orchestrator.ports.agent import AgentTask

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
STARTED = datetime(2026, 12, 1, 1, 50, tzinfo=UTC)
ENDED = datetime(2026, 12, 1, 2, 0, tzinfo=UTC)


def agent_task(home: Path, role: Role = Role.DEVELOPER) -> AgentTask:
    """A task in a workspace below ``home`` that need not be there."""
    workspace = home / "shop"
    return AgentTask(
        role=role,
        work_item=WorkItemId("SHOP-1"),
        project="shop",
        title="Count visits",
        workspace=workspace,
        task_file=workspace / ".task-dev.md",
        artifact_dir=workspace / "docs" / "work-items" / "SHOP-1",
        branch="feature/SHOP-1-count",
        base="main",
        base_commit=None,
        round=1,
        run_id=41,
        run_dir=home / "runs" / "one",
        limit=timedelta(seconds=60),
        grace=timedelta(seconds=2),
    )


def recorded(kind: str, name: str) -> list[str]:
    """The lines of a recording."""
    return (FIXTURES / kind / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()


def exited(code: int | None, **rest: object) -> ExitRecord:
    """The record of a process that ended with this exit code."""
    return ExitRecord(exit_code=code, started=STARTED, ended=ENDED, **rest)  # type: ignore[arg-type]


def fed(reader: Reader, lines: list[str]) -> None:
    """Let a reader read lines."""
    for line in lines:
        reader.feed(line)
