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

_WORDS: Final = {
    LimitKind.AUTH: (
        "not logged in",
        "please run /login",
        "codex login",
        "log ?in again",
        "invalid (?:x-)?api.key",
        "token (?:has )?expired",
        "failed to authenticate",
        "authentication (?:error|failed)",
        "credit balance is too low",
        "quota exceeded",
        "exceeded your current quota",
        "billing details",
    ),
    LimitKind.RATE: (
        "usage limit",
        "hit your .{0,40}limit",
        "rate limit",
        "limit reached",
        "too many requests",
    ),
    LimitKind.OVERLOAD: ("overloaded", "high demand", "at capacity"),
    LimitKind.UNAVAILABLE: (
        r"\bE(?:CONN[A-Z]+|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH|PIPE)\b",
        "connection (?:refused|reset|error|closed|failed)",
        "unable to connect",
        "timed out",
        "fetch failed",
        "network error",
        "socket",
        "error sending request",
        "stream disconnected",
        "internal server error",
        "service unavailable",
        "bad gateway",
    ),
}
_PATTERNS: Final = {kind: re.compile("|".join(words), re.IGNORECASE) for kind, words in _WORDS.items()}
"""Looked through in this order."""


def kind_of_status(status: int) -> LimitKind | None:
    """What an HTTP status of the model's API means; ``None`` when the request itself is at fault."""
    known = _STATUS.get(status)
    return LimitKind.UNAVAILABLE if known is None and 500 <= status <= 599 else known


def kind_of_text(said: str) -> LimitKind | None:
    """What an error means that names no status; ``None`` when it says nothing of the provider.

    Only for what a CLI says itself: a model may write any of these words.
    """
    return next((kind for kind, pattern in _PATTERNS.items() if pattern.search(said)), None)
