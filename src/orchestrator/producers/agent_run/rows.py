"""The rows of the producers' table in which agents stand: one for each role, each called by its role."""

from datetime import timedelta

from orchestrator.config.settings import Settings
from orchestrator.pipeline.stages import Role
from orchestrator.ports.agent import AgentTransport
from orchestrator.ports.clock import Clock
from orchestrator.ports.projects import ProjectRegistry
from orchestrator.ports.store import Store
from orchestrator.ports.workspace import Workspace
from orchestrator.producers.agent_run.attempt import AgentRun
from orchestrator.producers.agent_run.opening import Opening


def agent_rows(
    *,
    transport: AgentTransport,
    workspace: Workspace,
    store: Store,
    projects: ProjectRegistry,
    settings: Settings,
    clock: Clock,
) -> tuple[AgentRun, ...]:
    """The last rows of the table: together they take the work of every stage."""
    opening = Opening(
        store=store,
        projects=projects,
        workspace=workspace,
        settings=settings,
        runs_dir=settings.runs_dir,
    )
    return tuple(
        AgentRun(
            role,
            transport=transport,
            opening=opening,
            store=store,
            workspace=workspace,
            clock=clock,
            email_domain=settings.git_email_domain,
            limit_pause=timedelta(seconds=settings.breaker_delay_s),
        )
        for role in Role
    )
