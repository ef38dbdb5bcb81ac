"""`orch item`: file work items, look at them, and take the decisions that only a person takes."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from orchestrator.cli import item_text
from orchestrator.cli.logs import logs
from orchestrator.cli.output import AsJson, Json, print_json, remark
from orchestrator.cli.session import By, perform, person
from orchestrator.errors import BadInput

if TYPE_CHECKING:
    from orchestrator.bootstrap import App
    from orchestrator.engine.intake import Accepted

app = typer.Typer(help="Work items: file, look at, decide.", no_args_is_help=True)

ItemId: TypeAlias = Annotated[str, typer.Argument(metavar="ID", help="The work item, such as ORCH-7.")]
Request: TypeAlias = "Callable[[App], Awaitable[Accepted]]"


@app.command()
def new(
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What is wanted, in at most 80 characters.")],
    *,
    project: Annotated[
        str | None, typer.Option("--project", "-p", help="Whose item it is; needed with several projects.")
    ] = None,
    description: Annotated[
        str, typer.Option("--description", "-d", metavar="TEXT|@FILE", help="The whole request.")
    ] = "",
    label: Annotated[list[str] | None, typer.Option("--label", help="A label; may be repeated.")] = None,
    blocked_by: Annotated[
        list[str] | None, typer.Option("--blocked-by", metavar="ID", help="It waits for this item.")
    ] = None,
    by: By = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on and print what happens to it.")] = False,
    json: AsJson = False,
) -> None:
    """File a work item and start it; works whether or not `orch serve` runs."""
    text, who = _description(description), person(by)

    async def file(app: "App") -> Json:
        accepted = await app.desk.file_item(
            project or await _only_project(app),
            title,
            text,
            labels=label or (),
            blocked_by=[number.upper() for number in blocked_by or ()],
            by=who,
        )
        return await _answered(app, accepted)

    view = perform(file)
    _print(view, json=json)
    if view["hold"] is not None:
        raise typer.Exit(1)
    _hint_at_server(json=json)
    if follow:
        _follow(str(view["work_item"]), json=json)


@app.command(name="list")
def show_all(
    *,
    project: Annotated[
        str | None, typer.Option("--project", "-p", help="Only items of this project.")
    ] = None,
    stage: Annotated[str | None, typer.Option("--stage", help="Only items in this stage.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Finished and cancelled items too.")] = False,
    json: AsJson = False,
) -> None:
    """List work items, the newest first."""
    from orchestrator.pipeline.stages import TERMINAL, Stage

    if stage is not None and stage not in set(Stage):
        raise BadInput(f"{stage} is no stage; the stages are {', '.join(Stage)}")

    async def read(app: "App") -> list[Json]:
        from orchestrator.engine.item_view import board_view

        name = project and (await _project(app, project))
        return await app.store.transact(lambda tx: board_view(tx, app.policy, app.clock.now(), name or None))

    rows = [
        row
        for row in perform(read)
        if (row["stage"] == stage if stage is not None else everything or row["stage"] not in TERMINAL)
    ]
    if json:
        print_json(rows)
    else:
        item_text.print_list(rows)


@app.command()
def show(item: ItemId, *, json: AsJson = False) -> None:
    """Show everything about one item."""
    view = perform(lambda app: _view(app, item))
    if json:
        print_json(view)
    else:
        item_text.print_item(view)


@app.command()
def explain(item: ItemId, *, json: AsJson = False) -> None:
    """Say why the item is where it is, since when, what happens next, and who can unblock it."""
    view = perform(lambda app: _view(app, item))
    if json:
        print_json(view["explanation"])
    else:
        item_text.print_explanation(view)


@app.command()
def approve(item: ItemId, *, by: By = None, json: AsJson = False) -> None:
    """Approve the analysis as it stands on the item's branch now."""
    who = person(by)
    _request(lambda app: app.desk.decide_analysis(item.upper(), granted=True, by=who), json=json)


@app.command()
def reject(
    item: ItemId,
    *,
    comment: Annotated[str, typer.Option("--comment", "-c", help="What is wrong with the analysis.")],
    by: By = None,
    json: AsJson = False,
) -> None:
    """Reject the analysis; the comment goes to the analyst."""
    who = person(by)
    if not comment.strip():
        raise BadInput("say with --comment what is wrong; the analyst has nothing else to go by")
    _request(
        lambda app: app.desk.decide_analysis(item.upper(), granted=False, by=who, comment=comment), json=json
    )


@app.command(name="confirm-deploy")
def confirm_deploy(item: ItemId, *, by: By = None, json: AsJson = False) -> None:
    """Allow production to change to the item's merged commit."""
    who = person(by)
    _request(lambda app: app.desk.confirm_deploy(item.upper(), by=who), json=json)


@app.command()
def edit(
    item: ItemId,
    *,
    title: Annotated[str | None, typer.Option("--title", help="The new title.")] = None,
    description: Annotated[
        str | None, typer.Option("--description", "-d", metavar="TEXT", help="The new text, or @FILE.")
    ] = None,
    by: By = None,
    json: AsJson = False,
) -> None:
    """Change title or description, before work on the item begins."""
    who = person(by)
    if title is None and description is None:
        raise BadInput("say with --title or --description what shall be changed")
    text = None if description is None else _description(description)
    _request(lambda app: app.desk.edit_item(item.upper(), title=title, description=text, by=who), json=json)


@app.command()
def retry(item: ItemId, *, by: By = None, json: AsJson = False) -> None:
    """Release the item's hold and try again."""
    who = person(by)
    _request(lambda app: app.desk.retry(item.upper(), by=who), json=json)


@app.command()
def stop(
    item: ItemId,
    *,
    reason: Annotated[str, typer.Option("--reason", help="Why; it stays in the item's history.")] = "",
    by: By = None,
    json: AsJson = False,
) -> None:
    """Cancel the item: its processes end, its work is kept, nothing of it moves again."""
    who = person(by)
    _request(lambda app: app.desk.stop(item.upper(), by=who, reason=reason), json=json)


app.command()(logs)


@app.command()
def follow(item: ItemId, *, json: AsJson = False) -> None:
    """Print what happens to the item, as it happens, until it is done (exit code 0) or cancelled (1)."""
    _follow(item.upper(), json=json)


def _follow(item: str, *, json: bool) -> None:
    from orchestrator.cli import following

    if not perform(lambda app: following.follow_item(app, item, json=json)):
        raise typer.Exit(1)


def _request(ask: Request, *, json: bool) -> None:
    """Carry out a request of a person and print the item as it is then."""

    async def act(app: "App") -> Json:
        return await _answered(app, await ask(app))

    _print(perform(act), json=json)
    _hint_at_server(json=json)


async def _answered(app: "App", accepted: "Accepted") -> Json:
    if accepted.item is None:
        raise BadInput(f"nothing came of it: {accepted.outcome}")
    view = await _view(app, accepted.item.id)
    return {"ok": view["hold"] is None, "outcome": accepted.outcome, **view}


async def _view(app: "App", item: str) -> Json:
    from orchestrator.engine.item_view import item_view

    return await app.store.transact(lambda tx: item_view(tx, item.upper(), app.policy, app.clock.now()))


async def _only_project(app: "App") -> str:
    names = [project.name for project in await app.projects.all()]
    if len(names) == 1:
        return names[0]
    if not names:
        raise BadInput("no project is registered; add one with 'orch project add PATH --prefix ABC'")
    raise BadInput(f"say with --project whose item it is: {', '.join(names)}")


async def _project(app: "App", name: str) -> str:
    names = [project.name for project in await app.projects.all()]
    if name not in names:
        raise BadInput(f"unknown project {name}; 'orch project list' shows the registered ones")
    return name


def _description(text: str) -> str:
    if not text.startswith("@"):
        return text
    path = Path(text[1:])
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 text") from error


def _print(view: Json, *, json: bool) -> None:
    if json:
        print_json(view)
    else:
        item_text.print_outcome(view)


def _hint_at_server(*, json: bool) -> None:
    """Nothing moves without a server; a program that reads JSON is left alone."""
    from orchestrator.cli.ports import address, is_orchestrator
    from orchestrator.cli.session import chosen_settings

    if json:
        return
    settings = chosen_settings()
    if not is_orchestrator(settings.host, settings.port):
        where = address(settings.host, settings.port)
        remark(f"no server is seen on {where}; the item moves once 'orch serve' runs")
