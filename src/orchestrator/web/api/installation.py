"""Routes about the whole installation (inventory §13): health, status, queue, metrics, projects, gates."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from orchestrator.pipeline.gates import EXIT_GATES, GateName
from orchestrator.ports.store import ProjectState, Transaction
from orchestrator.web.services import Given
from orchestrator.web.shapes import GateDetails, GateList, Health, ProjectDetails, ProjectList

router = APIRouter()

_RUN_FIGURES: Final[Mapping[str, str]] = {
    "runs": "Runs of agents",
    "input_tokens": "Tokens that agents read",
    "output_tokens": "Tokens that agents wrote",
    "cost_usd": "Cost of runs in US dollars",
    "seconds": "Duration of runs in seconds",
}


@router.get("/health", tags=["installation"])
async def health(services: Given) -> Health:
    """The service is up."""
    return Health(version=services.version)


@router.get("/status", tags=["installation"])
async def status(services: Given) -> dict[str, Any]:
    """Active items with what they wait for."""
    return await services.overview.status()


@router.get("/queue", tags=["installation"])
async def queue(services: Given) -> dict[str, Any]:
    """The twenty-four blocks: jobs, leases, and the state of each mechanism."""
    return await services.overview.queue()


@router.get("/metrics", tags=["installation"], response_class=PlainTextResponse)
async def metrics(request: Request, services: Given) -> Response:
    """Telemetry as Prometheus text; as JSON with ``Accept: application/json``."""
    figures = await services.overview.metrics()
    if "application/json" in request.headers.get("accept", ""):
        return JSONResponse({**figures, "budgets": await services.costs.budgets()})
    return Response(_exposition(figures), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})


@router.get("/api/v1/projects", tags=["installation"])
async def projects(services: Given) -> ProjectList:
    """All registered projects and their state."""

    def read(tx: Transaction) -> dict[str, ProjectState]:
        return {state.name: state for state in tx.projects.all()}

    registered = await services.projects.all()
    states = await services.store.transact(read)
    rows = []
    for project in registered:
        state = states.get(project.name)
        rows.append(
            ProjectDetails(
                name=project.name,
                prefix=project.prefix,
                repository=project.repository,
                base_branch=project.base_branch,
                tracker=project.tracker,
                forge=project.forge,
                self_hosting=project.self_hosting,
                frozen=state.frozen if state else None,
                coverage_baseline=state.coverage_baseline if state else None,
            )
        )
    return ProjectList(projects=rows)


@router.get("/api/v1/gates", tags=["installation"])
async def gates() -> GateList:
    """All gates with the stage whose exit they guard, in the order in which they are asked."""
    rows = [
        GateDetails(name=gate, stage=stage, order=order)
        for stage, names in EXIT_GATES.items()
        for order, gate in enumerate(names, start=1)
    ]
    asked = {row.name for row in rows}
    rows += [GateDetails(name=gate, stage=None, order=None) for gate in GateName if gate not in asked]
    return GateList(gates=rows)


def _exposition(figures: Mapping[str, Any]) -> bytes:
    registry = CollectorRegistry()
    _by_run(registry, figures.get("runs", ()))
    items = Gauge("orchestrator_items", "Work items by stage", labelnames=("stage",), registry=registry)
    jobs = Gauge("orchestrator_jobs", "Jobs by status", labelnames=("status",), registry=registry)
    _by_label(items, figures.get("items_by_stage", {}))
    _by_label(jobs, figures.get("jobs", {}))
    _single(registry, "holds", "Open items that wait for a person", figures.get("holds", 0))
    _single(registry, "events", "Facts that arrived from outside", figures.get("events", 0))
    return generate_latest(registry)


def _by_run(registry: CollectorRegistry, rows: Sequence[Mapping[str, Any]]) -> None:
    for figure, meaning in _RUN_FIGURES.items():
        gauge = Gauge(
            f"orchestrator_agent_{figure}", meaning, labelnames=("role", "model"), registry=registry
        )
        for row in rows:
            gauge.labels(role=str(row["role"]), model=str(row["model"] or "")).set(row[figure] or 0)


def _by_label(gauge: Gauge, values: Mapping[str, float]) -> None:
    for key, value in values.items():
        gauge.labels(str(key)).set(value)


def _single(registry: CollectorRegistry, name: str, meaning: str, value: float) -> None:
    Gauge(f"orchestrator_{name}", meaning, registry=registry).set(value)
