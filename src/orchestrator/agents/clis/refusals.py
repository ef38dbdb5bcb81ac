"""What the provider of a model means by refusing to serve us."""

import re
from typing import Final

from orchestrator.ports.agent import LimitKind

_STATUS: Final = {
    401: LimitKind.AUTH,
    402: LimitKind.AUTH,
    403: LimitKind.AUTH,
    408: LimitKind.UNAVAILABLE,
    429: LimitKind.RATE,
    529: LimitKind.OVERLOAD,
}

_TEXTS: Final = (
    (
        LimitKind.AUTH,
        r"not logged in|please run /login|codex login|invalid (?:x-)?api.key|token (?:has )?expired"
        r"|failed to authenticate|authentication (?:error|failed)|credit balance is too low|quota exceeded"
        r"|exceeded your current quota|billing details|log ?in again",
    ),
    (LimitKind.RATE, r"usage limit|hit your .{0,40}limit|rate limit|limit reached|too many requests"),
    (LimitKind.OVERLOAD, r"overloaded|high demand|at capacity"),
    (
        LimitKind.UNAVAILABLE,
        r"\bE(?:CONN[A-Z]+|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH|PIPE)\b"
        r"|connection (?:refused|reset|error|closed|failed)|timed out|fetch failed|network error|socket"
        r"|error sending request|stream disconnected|unable to connect|internal server error|service unavailable|bad gateway",
    ),
)
_PATTERNS: Final = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _TEXTS)


def kind_of_status(status: int) -> LimitKind | None:
    """What an HTTP status of the model's API means; ``None`` when the request itself is at fault."""
    known = _STATUS.get(status)
    return LimitKind.UNAVAILABLE if known is None and 500 <= status <= 599 else known


def kind_of_text(said: str) -> LimitKind | None:
    """What an error means that names no status; ``None`` when it says nothing of the provider.

    Only for what a CLI says itself: a model may write any of these words.
    """
    return next((kind for kind, pattern in _PATTERNS if pattern.search(said)), None)
