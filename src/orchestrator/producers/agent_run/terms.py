"""The terms of a run: model, effort, limits and command, by the ladders of project and settings."""

from dataclasses import dataclass
from datetime import timedelta, tzinfo

import structlog

from orchestrator.config.projects import Project
from orchestrator.config.settings import Settings
from orchestrator.pipeline.budgets import Limits, limits_of
from orchestrator.pipeline.policies import is_valid_model, resolve_effort, resolve_model
from orchestrator.pipeline.stages import Role

log = structlog.get_logger(__name__)

BUBBLEWRAP = "bubblewrap"
CLAUDE = "claude"
SCRIPT = "script"
"""The kind of CLI that is no model: it gets neither model nor effort, and nothing is recorded for it."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What one run is given; an empty ``command`` leaves the executable to the CLI's own settings.

    ``budgets`` are those in force, whose days begin at midnight in ``zone``. Runs that are ``locked_in``
    reach the ``network`` or not; each of their processes has ``memory_mb`` (0: no limit).
    """

    model: str | None
    effort: str | None
    limit: timedelta
    grace: timedelta
    cli: str
    budgets: Limits
    zone: tzinfo
    command: str = ""
    fallback_model: str | None = None
    locked_in: bool = False
    network: bool = True
    memory_mb: int = 0


def terms_of(role: Role, project: Project, settings: Settings) -> Terms:
    """The terms of ``role`` in ``project`` (ORCH-41, ORCH-081, ORCH-109)."""
    kind = project.agent_cli or settings.agent_cli
    network = project.sandbox_network
    model, effort = (None, None) if kind == SCRIPT else _model_and_effort(role, project, settings, kind)
    return Terms(
        model=model,
        effort=effort,
        limit=settings.agent_timeout(role.value),
        grace=timedelta(seconds=settings.agent_kill_grace_seconds),
        cli=kind,
        budgets=limits_of(settings.budgets, project.limits),
        zone=project.zone or settings.zone,
        command=project.agent_command or _command(kind, settings),
        fallback_model=None if kind == SCRIPT else _fallback(kind, settings),
        locked_in=(project.sandbox or settings.agent_sandbox) == BUBBLEWRAP,
        network=settings.agent_sandbox_network if network is None else network,
        memory_mb=settings.agent_memory_mb,
    )


def _command(kind: str, settings: Settings) -> str:
    """The installation's executable, for the kind of CLI that it is meant for."""
    return settings.agent_command if kind == settings.agent_cli else ""


def _fallback(kind: str, settings: Settings) -> str | None:
    """The model that the CLI may switch to; a name that is none is dropped, as in the ladder (ORCH-74)."""
    wanted = settings.agent_fallback_model.strip()
    if not wanted or is_valid_model(wanted, kind):
        return wanted or None
    log.warning("agent_terms", problem=f"agent_fallback_model: {wanted!r:.60} is not known; ignored")
    return None


def _default_model(kind: str, settings: Settings) -> str | None:
    """The default is a model of Claude unless a person named another one."""
    ours = kind == CLAUDE or "agent_model_default" in settings.model_fields_set
    return settings.agent_model_default if ours else None


def _model_and_effort(
    role: Role, project: Project, settings: Settings, kind: str
) -> tuple[str | None, str | None]:
    model = resolve_model(
        project=project.agent_models.get(role.value),
        setting=getattr(settings, f"agent_model_{role.value}"),
        default=_default_model(kind, settings),
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
