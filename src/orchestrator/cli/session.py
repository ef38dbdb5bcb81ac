"""What every command that touches data does: read the settings, open the installation, do one thing."""

import getpass
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer

from orchestrator.cli.output import remark
from orchestrator.errors import BadInput

if TYPE_CHECKING:
    from orchestrator.bootstrap import App
    from orchestrator.config.loader import LoadedSettings
    from orchestrator.config.settings import Settings

Result = TypeVar("Result")

By: TypeAlias = Annotated[
    str | None, typer.Option("--by", metavar="NAME", help="Who asks for this; your user name by default.")
]


def loaded(**overrides: object) -> "LoadedSettings":
    """The settings with where they came from; what was put right is remarked on standard error.

    Raises:
        BadInput: a setting cannot be used.
    """
    from orchestrator.config.loader import load_settings

    found = load_settings(overrides)
    for warning in found.warnings:
        remark(warning)
    return found


def chosen_settings(**overrides: object) -> "Settings":
    """The settings alone.

    Raises:
        BadInput: as `loaded`.
    """
    return loaded(**overrides).settings


def perform(action: Callable[["App"], Awaitable[Result]]) -> Result:
    """Open the installation that the settings name, do ``action`` with it, and close it again.

    Raises:
        OrchestratorError: what opening it and ``action`` raise.
    """
    import asyncio

    from orchestrator.bootstrap import open_app
    from orchestrator.plumbing.logs import configure_logging

    settings = chosen_settings()
    # A command answers in its own words; only what goes wrong besides is told.
    configure_logging("warning", json=False, stream=sys.stderr)

    async def act() -> Result:
        async with open_app(settings) as app:
            return await action(app)

    return asyncio.run(act())


def run_until_told(work: Coroutine[Any, Any, Result]) -> Result | None:
    """Run ``work`` to its end; SIGTERM ends it in order, as Ctrl-C does, and then there is no result.

    The web server hands the signals that it saw on to whoever handled them before; unhandled, SIGTERM would
    end this process before anything is put away.
    """
    import asyncio
    import signal

    async def guarded() -> Result | None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        told = False

        def end() -> None:
            # It is told twice, by the system and by the web server: the putting away must not be cancelled.
            nonlocal told
            if not told and task is not None:
                task.cancel()
            told = True

        loop.add_signal_handler(signal.SIGTERM, end)
        try:
            return await work
        except asyncio.CancelledError:
            if told:
                return None
            raise
        finally:
            loop.remove_signal_handler(signal.SIGTERM)

    return asyncio.run(guarded())


def person(name: str | None) -> str:
    """Who asks: the name given, or that of the operating system's user.

    Raises:
        BadInput: neither is known.
    """
    if name and name.strip():
        return name.strip()
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError) as error:
        raise BadInput("this user has no name here; say who you are with --by NAME") from error
