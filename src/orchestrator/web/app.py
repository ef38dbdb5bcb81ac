"""The web application: routes for scripts, pages for people, one guard in front of both."""

from pathlib import Path
from typing import Final

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from orchestrator.web import errors
from orchestrator.web.api import actions, installation, items, ledger, runs
from orchestrator.web.dashboard import buttons, pages
from orchestrator.web.documents import Documents
from orchestrator.web.security import Guard
from orchestrator.web.services import WebServices

STATIC_FILES: Final = Path(__file__).parent / "dashboard" / "static"

_ABOUT: Final = (
    "Takes a work item from the tracker to watched production. Errors are answered as "
    '`{"error": "one line"}`: 400 for input that is of no use, 404 for what does not exist, 409 when '
    "somebody else was first, 503 when a neighbour does not answer."
)


def create_app(services: WebServices) -> FastAPI:
    """The application on ``services``; it holds no state of its own but a cache of documents."""
    app = FastAPI(
        title="orchestrator",
        version=services.version,
        description=_ABOUT,
        openapi_url="/api/v1/openapi.json",
        # The pages that FastAPI brings along load scripts from elsewhere; the schema itself is served.
        docs_url=None,
        redoc_url=None,
    )
    app.state.services = services
    app.state.documents = Documents(services.workspace)
    for router in (installation.router, items.router, actions.router, ledger.router, runs.router):
        app.include_router(router)
    for router in (pages.router, buttons.router):
        app.include_router(router, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC_FILES), name="static")
    errors.register(app)
    app.add_middleware(Guard, hosts=services.hosts)
    return app
