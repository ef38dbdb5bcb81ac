"""Turning what was read into pages: the template environment, its filters, and the frame of every page."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Final

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from orchestrator.engine.messages import spell_count, spell_duration
from orchestrator.web.forms import remember, token_for
from orchestrator.web.services import services_of

_HERE: Final = Path(__file__).parent

_ANSWERS: Final[Mapping[str, str]] = {
    "passed": "check",
    "failed": "cross",
    "inconclusive": "question",
    "stale": "clock",
    "not asked": "dot",
}
"""The icon of each answer of a gate: nobody has to tell colours apart."""


def render(
    request: Request,
    template: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **facts: object,
) -> HTMLResponse:
    """The page ``template`` with ``facts``; its forms carry the browser's token."""
    services = services_of(request)
    token = token_for(request, services)
    frame = {
        "now": services.clock.now(),
        "version": services.version,
        "token": token,
        "path": request.url.path,
        "said": SAID.get(request.query_params.get("said", ""), ""),
    }
    page = _environment().get_template(template).render(frame | facts)
    response = HTMLResponse(page, status, headers=headers)
    remember(response, token, secure=request.url.scheme == "https")
    return response


SAID: Final[Mapping[str, str]] = {
    "filed": "Filed.",
    "approved": "Approved. The item goes on as soon as its gates have answered.",
    "rejected": "Sent back to the analyst with your comment.",
    "confirmed": "Confirmed. Production may change now.",
    "retried": "The hold is released; work begins again.",
    "stopped": "Stopped. What was done is kept.",
}
"""What a page says after a button was pressed; the address carries the key only."""


def error_page(
    request: Request, status: int, reason: str, *, headers: Mapping[str, str] | None = None
) -> HTMLResponse:
    """The page that tells a person what went wrong."""
    facts = {"code": status, "title": HTTPStatus(status).phrase, "reason": reason}
    parts = request.url.path.split("/")
    # A button's address is that of its page and one part more.
    back = "/".join(parts[:3]) if parts[1] == "items" and len(parts) > 3 else "/"
    return render(request, "error.html", status=status, headers=headers, back=back, **facts)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(asset=_asset, answer_icon=lambda answer: _ANSWERS.get(answer, "dot"))
    environment.filters.update(
        ago=ago,
        stamp=stamp,
        iso=lambda instant: instant.astimezone(UTC).isoformat(timespec="seconds"),
        seconds=lambda number: spell_duration(timedelta(seconds=number)),
        count=spell_count,
        usd=lambda cost: f"${cost:.2f}" if cost >= 0.01 or not cost else f"${cost:.4f}",
        short=lambda name: (name or "")[:8],
        words=lambda name: str(name).replace("-", " ").replace("_", " "),
    )
    return environment


@cache
def _asset(name: str) -> str:
    """The address of a static file, with a digest so that a new version is never confused with an old one."""
    digest = hashlib.sha256((_HERE / "static" / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def ago(instant: datetime, now: datetime) -> str:
    """How long ago, as people say it; the script of the pages says it the same way."""
    seconds = int((now - instant).total_seconds())
    if seconds < 10:
        return "just now"
    for length, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds // length} {unit} ago"
    return f"{seconds} s ago"


def stamp(instant: datetime) -> str:
    """Date and time in UTC, to the second."""
    return instant.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
