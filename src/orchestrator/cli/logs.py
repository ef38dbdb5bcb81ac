"""`orch logs`: watching agents at work, run by run, or reading what they did."""

from typing import Annotated

import typer

from orchestrator.cli.output import AsJson
from orchestrator.cli.session import perform
from orchestrator.errors import BadInput


def logs(
    item: Annotated[
        str | None,
        typer.Argument(metavar="[ITEM]", help="The work item; else the one that an agent worked on last."),
    ] = None,
    *,
    follow: Annotated[
        bool,
        typer.Option("--follow", "-f", help="Go on until the item (with --run: the run) ends, or Ctrl-C."),
    ] = False,
    run: Annotated[
        int | None, typer.Option("--run", metavar="N", help="Id of the run; else the newest.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Show all of every event's detail.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Print the log as the agent CLI wrote it.")] = False,
    json: AsJson = False,
) -> None:
    """Print what an agent did, event by event, with secrets masked."""
    from orchestrator.cli import following
    from orchestrator.cli.event_text import AsObjects, AsText

    if raw and json:
        raise BadInput("--raw prints the log as it is, --json its events: choose one of them")

    if raw:
        perform(lambda app: following.print_raw(app, item, run, follow=follow))
    else:
        shown = AsObjects() if json else AsText(full=full)
        perform(lambda app: following.print_events(app, shown, item, run, follow=follow))
