"""A task in a workspace of its own."""

from dataclasses import replace
from datetime import timedelta

import pytest

from orchestrator.pipeline.stages import Role
from orchestrator.ports.agent import AgentTask
from tests.unit.agents.tasks import agent_task


@pytest.fixture
def task(tmp_path) -> AgentTask:
    made = agent_task(tmp_path, Role.REVIEWER)
    made.workspace.mkdir()
    return replace(
        made,
        title="Count 'twice'; $(really)\0\nnow",
        task_file=made.workspace / ".task-reviewer.md",
        round=2,
        limit=timedelta(seconds=20),
        grace=timedelta(milliseconds=300),
        model="some-model",
        effort="high",
        email="reviewer@orch.example",
    )
