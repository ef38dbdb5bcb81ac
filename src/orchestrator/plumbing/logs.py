"""The log: one line for each event, with its time, its context, and no secrets, whoever wrote it.

Modules of this program use `structlog.get_logger()`; libraries use the standard `logging`. Both end in the
same handler, so both are masked and look the same.
"""

import logging
from collections.abc import Mapping
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from orchestrator.plumbing.redaction import MASK, PROCESS, Redactor, is_secret_name

# These tell every request at the level INFO; what they asked is in our own events.
_TALKATIVE = ("httpx", "httpcore", "asyncio", "alembic.runtime.plugins")
_DEPTH_LIMIT = 8


class Redaction:
    """A structlog processor that masks secrets in everything an event carries, tracebacks included."""

    def __init__(self, redactor: Redactor) -> None:
        """Masks with the given redactor."""
        self._redactor = redactor

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        """The event without secrets; what is no plain value becomes its masked text."""
        return {
            name: value if name.startswith("_") else self._named(name, value) for name, value in event.items()
        }

    def _named(self, name: str, value: object, depth: int = 0) -> object:
        if value is not None and not isinstance(value, bool) and is_secret_name(name):
            return MASK
        return self._masked(value, depth)

    def _masked(self, value: object, depth: int) -> object:
        match value:
            case None | bool() | int() | float():
                return value
            case str():
                return self._redactor.redact(value)
            case Mapping() if depth < _DEPTH_LIMIT:
                return {str(name): self._named(str(name), inner, depth + 1) for name, inner in value.items()}
            case list() | tuple() | set() | frozenset() if depth < _DEPTH_LIMIT:
                return [self._masked(inner, depth + 1) for inner in value]
        return self._redactor.redact(str(value))


def configure_logging(level: str, *, json: bool, stream: TextIO, redactor: Redactor | None = None) -> None:
    """Sends every event of this process from `level` upwards to `stream`, as JSON or as text for a person.

    May be called again; the last call counts.

    Raises: ValueError for a level that logging does not know.
    """
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ValueError(f"{level!r} is no log level")
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.PositionalArgumentsFormatter(),
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                Redaction(redactor or PROCESS),
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _renderer(stream, json=json),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(number)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(max(number, logging.WARNING))


def _renderer(stream: TextIO, *, json: bool) -> Processor:
    if json:
        return structlog.processors.JSONRenderer(ensure_ascii=False)
    plain = structlog.dev.plain_traceback
    return structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=plain)
