"""Opening an installation for as long as a block lasts."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from orchestrator.bootstrap.app import App, ProducerTable
from orchestrator.config.settings import Settings


@asynccontextmanager
async def open_app(
    settings: Settings,
    *,
    agent_variables: Mapping[str, str] | None = None,
    producers: ProducerTable | None = None,
    raise_bugs: bool = False,
) -> AsyncIterator[App]:
    """Open the installation that ``settings`` describe; nothing runs until it is asked to.

    Raises ``BadInput`` with one clear line when it cannot be opened: a database that is newer than this
    program, a directory that cannot be written, a setting that is of no use.
    """
    app = App(settings, agent_variables=agent_variables or {}, producers=producers, raise_bugs=raise_bugs)
    try:
        await app.projects.all()
        yield app
    finally:
        await app.close()
