"""What a client is told when something goes wrong: JSON for scripts, a page for people."""

from collections.abc import Mapping
from typing import Final

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from orchestrator.errors import (
    AdapterError,
    BadInput,
    Conflict,
    Malformed,
    OrchestratorError,
    Rejected,
    Unavailable,
)
from orchestrator.web.dashboard.views import error_page
from orchestrator.web.forms import ForeignForm
from orchestrator.web.items import Unknown
from orchestrator.web.security import SECURITY_HEADERS
from orchestrator.web.services import services_of

STATUS_OF: Final[Mapping[type[OrchestratorError], int]] = {
    Unknown: 404,
    BadInput: 400,
    ForeignForm: 403,
    Unavailable: 503,
    Conflict: 409,
    Rejected: 422,
    Malformed: 502,
    AdapterError: 502,
    OrchestratorError: 500,
}
"""The status of each of our errors; the first class that fits counts."""

PAGES: Final = ("/items", "/dashboard")
"""Addresses below these are for people, as is the board itself; all others are for scripts."""

_log = structlog.get_logger(__name__)


def register(app: FastAPI) -> None:
    """Make ``app`` answer errors."""

    @app.exception_handler(OrchestratorError)
    async def refused(request: Request, error: OrchestratorError) -> Response:
        status = next(code for kind, code in STATUS_OF.items() if isinstance(error, kind))
        return answer(request, status, str(error))

    @app.exception_handler(HTTPException)
    async def unserved(request: Request, error: HTTPException) -> Response:
        reason = str(error.detail)
        if error.status_code == 404:
            reason = "there is nothing at this address"
        return answer(request, error.status_code, reason, headers=error.headers)

    @app.exception_handler(RequestValidationError)
    async def misspelled(request: Request, error: RequestValidationError) -> Response:
        problems = (
            f"{'.'.join(str(part) for part in fault['loc'][1:]) or fault['loc'][0]}: {fault['msg']}"
            for fault in error.errors()
        )
        return answer(request, 400, "; ".join(problems))

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        incident = services_of(request).ids.new()[:12]
        _log.error("request failed", path=request.url.path, incident=incident, exc_info=error)
        return answer(
            request, 500, f"a bug in the orchestrator; the log has it as {incident}", headers=SECURITY_HEADERS
        )


def answer(
    request: Request, status: int, reason: str, *, headers: Mapping[str, str] | None = None
) -> Response:
    """``reason`` in the form that the client of this address reads."""
    path = request.url.path
    if path == "/" or path.startswith(PAGES) or _is_stray(request):
        return error_page(request, status, reason, headers=headers)
    return JSONResponse({"error": reason}, status, headers=headers)


def _is_stray(request: Request) -> bool:
    """Whether a person came to an address that leads nowhere: a browser asks for HTML, outside the API."""
    wants_html = "text/html" in request.headers.get("accept", "")
    return wants_html and not request.url.path.startswith("/api")
