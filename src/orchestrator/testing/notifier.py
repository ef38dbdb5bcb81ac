"""A notifier that remembers what it was told."""

from orchestrator.errors import AdapterError


class MemoryNotifier:
    """The port ``Notifier``: ``sent`` holds every text, oldest first; ``outage`` is raised while set."""

    def __init__(self) -> None:
        """Nothing was sent."""
        self.outage: AdapterError | None = None
        self.sent: list[str] = []

    async def notify(self, text: str) -> None:
        """Remember ``text``."""
        if self.outage is not None:
            raise self.outage
        self.sent.append(text)
