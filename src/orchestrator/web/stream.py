"""The event stream: tells pages that something changed, so that they read themselves again."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Final

from orchestrator.web.services import WebServices

TICK: Final = timedelta(milliseconds=200)
TICKS_PER_LOOK: Final = 5
"""Other processes are looked for once a second: that costs a statement, a look at ourselves does not."""

TICKS_PER_HEARTBEAT: Final = 75
"""A comment each 15 s keeps proxies from closing the stream."""


async def changes(services: WebServices) -> AsyncGenerator[str, None]:
    """``hello`` first, then ``changed`` after each change of the store, until the server closes."""
    version, elsewhere = services.store.version(), services.changed()
    yield f"retry: 1000\nevent: hello\ndata: {version}\n\n"
    ticks = 0
    while not services.closing():
        await services.clock.sleep(TICK)
        ticks += 1
        seen = services.store.version(), elsewhere
        if ticks % TICKS_PER_LOOK == 0:
            seen = seen[0], services.changed()
        if seen != (version, elsewhere):
            version, elsewhere = seen
            yield f"event: changed\ndata: {version}\n\n"
        elif ticks % TICKS_PER_HEARTBEAT == 0:
            yield ": still here\n\n"
