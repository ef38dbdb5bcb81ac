"""What the service answers to which request, without a socket."""

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from tally.scores import highest, total
from tally.settings import Settings

MOST_POINTS = 1_000_000_000


@dataclass(frozen=True)
class Reply:
    """One answer: an HTTP status and a body that is sent as JSON."""

    status: HTTPStatus
    body: dict[str, object]


class Tally:
    """The results recorded since the service started, and what it was started as."""

    def __init__(self, settings: Settings, revision: str) -> None:
        self.settings = settings
        self.revision = revision
        self.requests = 0
        self.errors = 0
        # Handlers run on one thread per request. Appending to a bounded deque and copying it are atomic.
        self.recorded: deque[float] = deque(maxlen=settings.kept)

    @property
    def points(self) -> list[float]:
        """A copy of the recorded results, oldest first."""
        return list(self.recorded)

    def answer(self, method: str, path: str, body: bytes) -> Reply:
        """Answer one request; unknown paths and methods get a 404 or 405."""
        handler = ROUTES.get((method, path))
        if handler is not None:
            return handler(self, body)
        if any(path == known for _, known in ROUTES):
            return Reply(HTTPStatus.METHOD_NOT_ALLOWED, {"error": f"{path} does not take {method}"})
        return Reply(HTTPStatus.NOT_FOUND, {"error": f"there is no {path}"})


def _index(_tally: Tally, _body: bytes) -> Reply:
    return Reply(HTTPStatus.OK, {"endpoints": [f"{method} {path}" for method, path in ROUTES]})


def _health(tally: Tally, _body: bytes) -> Reply:
    return Reply(HTTPStatus.OK, {"status": "ok", "service": "tally", "revision": tally.revision})


def _status(tally: Tally, _body: bytes) -> Reply:
    counts = {"recorded": len(tally.recorded), "requests": tally.requests, "errors": tally.errors}
    return Reply(HTTPStatus.OK, {"status": "ok", "environment": tally.settings.environment, **counts})


def _record(tally: Tally, body: bytes) -> Reply:
    try:
        sent = json.loads(body)
    except ValueError:
        return Reply(HTTPStatus.BAD_REQUEST, {"error": "the body is not JSON"})
    points = sent.get("points") if isinstance(sent, dict) else None
    # The comparison also turns away NaN, the infinities and integers too large for a float.
    if isinstance(points, bool) or not isinstance(points, int | float) or not abs(points) <= MOST_POINTS:
        return Reply(HTTPStatus.BAD_REQUEST, {"error": f'send {{"points": <number up to {MOST_POINTS}>}}'})
    tally.recorded.append(float(points))
    return Reply(HTTPStatus.CREATED, {"recorded": len(tally.recorded)})


def _total(tally: Tally, _body: bytes) -> Reply:
    return Reply(HTTPStatus.OK, {"total": total(tally.points)})


def _highest(tally: Tally, _body: bytes) -> Reply:
    return Reply(HTTPStatus.OK, {"highest": highest(tally.points)})


ROUTES: dict[tuple[str, str], Callable[[Tally, bytes], Reply]] = {
    ("GET", "/"): _index,
    ("GET", "/health"): _health,
    ("GET", "/status"): _status,
    ("POST", "/points"): _record,
    ("GET", "/total"): _total,
    ("GET", "/highest"): _highest,
}
