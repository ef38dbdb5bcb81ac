"""Alerts to people: one message per condition."""

from typing import Protocol


class Notifier(Protocol):
    """Sends a short text to whoever watches the installation."""

    async def notify(self, text: str) -> None:
        """Send ``text``; raises ``Unavailable`` or ``Rejected``."""
        ...
