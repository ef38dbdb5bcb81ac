"""Alerts to the log: the default, and what remains when nothing else is set up."""

import structlog

log = structlog.get_logger(__name__)


class LogNotifier:
    """Writes each alert as one warning."""

    async def notify(self, text: str) -> None:
        """Log ``text``."""
        log.warning("alert", text=text)
