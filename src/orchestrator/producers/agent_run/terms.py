"""The terms of a run: model, effort, limits and command, by the ladders of project and settings."""

from dataclasses import dataclass
from datetime import timedelta, tzinfo

import structlog

from orchestrator.config.projects import Project
from orchestrator.config.settings import Settings
from orchestrator.pipeline.budgets import Limits, limits_of
from orchestrator.pipeline.policies import resolve_effort, resolve_model
from orchestrator.pipeline.stages import Role

log = structlog.get_logger(__name__)

SCRIPT = "script"
"""The kind of CLI that is no model: it gets neither model nor effort, and nothing is recorded for it."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What one run is given; an empty ``command`` leaves the executable to the CLI's own settings.

    ``budgets`` are those in force, whose days begin at midnight in ``zone``.
    """

    model: str | None
    effort: str | None
    limit: timedelta
    grace: timedelta
    cli: str
    budgets: Limits
    zone: tzinfo
    command: str = ""


def terms_of(role: Role, project: Project, settings: Settings) -> Terms:
    """The terms of ``role`` in ``project`` (ORCH-41, ORCH-081, ORCH-109)."""
    kind = project.agent_cli or settings.agent_cli
    model, effort = (None, None) if kind == SCRIPT else _model_and_effort(role, project, settings, kind)
    return Terms(
        model=model,
        effort=effort,
        limit=settings.agent_timeout(role.value),
        grace=timedelta(seconds=settings.agent_kill_grace_seconds),
        cli=kind,
        budgets=limits_of(settings.budgets, project.limits),
        zone=project.zone or settings.zone,
        command=project.agent_command or settings.agent_command,
    )


def _model_and_effort(
    role: Role, project: Project, settings: Settings, kind: str
) -> tuple[str | None, str | None]:
    model = resolve_model(
        project=project.agent_models.get(role.value),
        setting=getattr(settings, f"agent_model_{role.value}"),
        default=settings.agent_model_default,
        cli=kind,
    )
    name = f"agent_effort_{role.value}"
    effort = resolve_effort(
        role,
        project=project.agent_efforts.get(role.value),
        setting=getattr(settings, name) if name in settings.model_fields_set else None,
        default=settings.agent_effort_default,
    )
    for warning in (*model.warnings, *effort.warnings):
        log.warning("agent_terms", role=role.value, project=project.name, problem=warning)
    return model.value, effort.value
