"""`orch serve`: the service itself, until it is told to end."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.output import remark, say
from orchestrator.cli.session import chosen_settings, run_until_told
from orchestrator.errors import BadInput

if TYPE_CHECKING:
    from orchestrator.config.settings import Settings


def serve(
    *,
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on (ORCH_HOST).")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port to listen on (ORCH_PORT).")] = None,
    log_json: Annotated[bool, typer.Option("--log-json", help="Log as JSON, one line an event.")] = False,
) -> None:
    """Run the orchestrator: dashboard, API and worker, until Ctrl-C or SIGTERM."""
    from orchestrator.plumbing.logs import configure_logging

    settings = chosen_settings(host=host, port=port)
    refuse_open_door(settings)
    refuse_taken_port(settings.host, settings.port)
    configure_logging(settings.log_level, json=log_json, stream=sys.stderr)
    run_until_told(_serve(settings))


async def _serve(settings: "Settings") -> None:
    from orchestrator.bootstrap import open_app
    from orchestrator.bootstrap.serving import serve as serve_until_told

    def ready(where: str) -> None:
        say(f"orchestrator is ready: {where}")
        sys.stdout.flush()

    async with open_app(settings) as app:
        if not await app.projects.all():
            remark("no project is registered yet; add one with 'orch project add PATH --prefix ABC'")
        await serve_until_told(app, settings.host, settings.port, ready=ready)


def refuse_open_door(settings: "Settings") -> None:
    """Nobody but this machine gets in: this version asks nobody for a login.

    Raises:
        BadInput: the address is reachable from elsewhere.
    """
    from orchestrator.cli.ports import is_loopback

    if is_loopback(settings.host):
        return
    raise BadInput(
        f"{settings.host} is reachable from other machines and nobody would have to log in: listen on "
        "127.0.0.1 and put a proxy that asks for a login before it"
    )


def refuse_taken_port(host: str, port: int) -> None:
    """A second server would share the first one's port or data.

    Raises:
        BadInput: the port cannot be had.
    """
    from orchestrator.cli.ports import PortUse, address, port_use

    match port_use(host, port):
        case PortUse.OURS:
            raise BadInput(f"an orchestrator runs on {address(host, port)} already; use --port or ORCH_PORT")
        case PortUse.TAKEN:
            raise BadInput(f"port {port} is taken by another program; use --port or ORCH_PORT")
        case PortUse.FORBIDDEN:
            raise BadInput(f"{host}:{port} is no address to listen on here; use --host and --port")
