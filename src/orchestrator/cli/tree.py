"""The tree of commands below `orch`."""

from typing import Annotated, Final

import typer

from orchestrator import __version__
from orchestrator.cli import (
    config,
    costs,
    db,
    demo,
    doctor,
    events,
    gates,
    item,
    logs,
    project,
    queue,
    serve,
)
from orchestrator.cli.output import say

EPILOG: Final = (
    "Exit codes: 0 done; 1 the answer is no; 2 the request cannot be used; 3 a neighbour (git, tracker, "
    "database, agent) does not answer; 70 a bug of the orchestrator; 130 interrupted."
)

# Where Typer keeps the class depends on its version: it is the parent of every complaint about arguments.
UsageError: Final[type[Exception]] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="orch",
    help="Takes a work item from the tracker to reviewed, tested, merged, deployed and watched code.",
    epilog=EPILOG,
    pretty_exceptions_enable=False,
)
app.command()(demo.demo)
app.command()(serve.serve)
app.command()(doctor.doctor)
app.command()(queue.queue)
app.command()(costs.costs)
app.command()(logs.logs)
app.command(name="config")(config.show)
app.add_typer(item.app, name="item")
app.add_typer(project.app, name="project")
app.add_typer(gates.app, name="gates")
app.add_typer(db.app, name="db")
app.add_typer(events.app, name="events")


@app.callback(invoke_without_command=True)
def _orch(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    if version:
        say(f"orch {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        say(context.get_help())


def carry_out(arguments: list[str]) -> int:
    """Carry out a command line; the exit code that the command asks for.

    Raises:
        UsageError: the arguments do not fit the command.
        OrchestratorError: what the command raises.
    """
    ending = typer.main.get_command(app).main(args=arguments, prog_name="orch", standalone_mode=False)
    return ending if isinstance(ending, int) else 0
