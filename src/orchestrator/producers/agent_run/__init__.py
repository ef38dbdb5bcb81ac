"""The agent as a producer: the last rows of the table, which take whatever nobody else takes."""

from orchestrator.producers.agent_run.attempt import AgentRun
from orchestrator.producers.agent_run.rows import agent_rows

__all__ = ["AgentRun", "agent_rows"]
