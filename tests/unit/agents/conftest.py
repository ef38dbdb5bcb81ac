"""A task in a workspace of its own."""

from datetime import timedelta

import pytest

from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.stages import Role
from orchestrator.ports.agent import AgentTask


@pytest.fixture
def task(tmp_path) -> AgentTask:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return AgentTask(
        role=Role.REVIEWER,
        work_item=WorkItemId("SHOP-1"),
        project="shop",
        title="Count 'twice'; $(really)\0\nnow",
        workspace=workspace,
        task_file=workspace / ".task-reviewer.md",
        artifact_dir=workspace / "docs" / "work-items" / "SHOP-1",
        branch="feature/SHOP-1-count",
        base="main",
        base_commit=None,
        round=2,
        run_id=41,
        run_dir=tmp_path / "runs" / "one",
        limit=timedelta(seconds=20),
        grace=timedelta(milliseconds=300),
        model="some-model",
        effort="high",
    )
