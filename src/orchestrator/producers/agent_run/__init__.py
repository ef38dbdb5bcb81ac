"""The agent as a producer: one row for each role at the end of the table, for whatever nobody else takes."""

from orchestrator.producers.agent_run.admission import Admission
from orchestrator.producers.agent_run.attempt import AgentRun
from orchestrator.producers.agent_run.furnishing import Furnishing
from orchestrator.producers.agent_run.opening import Opening
from orchestrator.producers.agent_run.places import Places
from orchestrator.producers.agent_run.reservation import Reservations

__all__ = ["Admission", "AgentRun", "Furnishing", "Opening", "Places", "Reservations"]
