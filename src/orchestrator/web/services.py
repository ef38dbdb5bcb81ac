"""What the web pages and the API are given by the composition root."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

from fastapi import Depends, Request

from orchestrator.engine.costs import Costs
from orchestrator.engine.desk import Desk
from orchestrator.engine.overview import Overview
from orchestrator.pipeline.decisions import Policy
from orchestrator.ports.agent import Transcripts
from orchestrator.ports.clock import Clock, Ids
from orchestrator.ports.projects import ProjectRegistry
from orchestrator.ports.store import Store
from orchestrator.ports.workspace import Workspace


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class WebServices:
    """Everything that a page reads or does goes through these.

    ``secret`` signs form tokens and is fresh for each process. ``log_of`` finds the log of a run by its id,
    ``transcripts`` gives the way to read the logs of a kind of agent CLI, ``redact`` masks secrets in text
    that is shown, ``changed`` gives a number that differs when another process has changed the database.
    ``hosts`` are the names, besides those of this machine's loopback, under which the server may be
    addressed, ``person`` is who presses the buttons of the dashboard, ``closing`` says that the server shuts
    down, so that streams end.
    """

    desk: Desk
    store: Store
    overview: Overview
    costs: Costs
    workspace: Workspace
    projects: ProjectRegistry
    policy: Policy
    clock: Clock
    ids: Ids
    version: str
    secret: bytes
    log_of: Callable[[int], Path | None]
    transcripts: Transcripts
    redact: Callable[[str], str]
    changed: Callable[[], int]
    hosts: frozenset[str] = frozenset()
    person: str = "dashboard"
    closing: Callable[[], bool] = _never


def services_of(request: Request) -> WebServices:
    """The services of the application that serves ``request``."""
    services: WebServices = request.app.state.services
    return services


Given: TypeAlias = Annotated[WebServices, Depends(services_of)]
"""A route's parameter that receives the services."""
