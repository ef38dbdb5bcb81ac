"""Alerts through Apprise: Telegram and a hundred others, each given by a URL."""

import asyncio
from collections.abc import Sequence

from apprise import Apprise

from orchestrator.errors import BadInput, Unavailable


class AppriseNotifier:
    """Sends each alert to every configured target; the extra ``notify`` brings the library."""

    def __init__(self, urls: Sequence[str]) -> None:
        """Raises ``BadInput`` when a URL is of no kind that Apprise knows; the URL itself is a secret."""
        self._targets = Apprise()
        for position, url in enumerate(urls, start=1):
            if not self._targets.add(url):
                raise BadInput(f"ORCH_NOTIFY_URLS: entry {position} is no address that Apprise knows")

    async def notify(self, text: str) -> None:
        """Send ``text``; ``Unavailable`` when a target did not take it."""
        sent = await asyncio.to_thread(self._targets.notify, body=text)
        if not sent:
            raise Unavailable("an alert could not be delivered to every target")
