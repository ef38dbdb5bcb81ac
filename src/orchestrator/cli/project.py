"""`orch project`: which repositories the orchestrator works for."""

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from orchestrator.cli.output import AsJson, Json, print_json, print_table, say
from orchestrator.cli.session import perform
from orchestrator.errors import BadInput

if TYPE_CHECKING:
    from orchestrator.bootstrap import App
    from orchestrator.config.contract import Contract
    from orchestrator.config.projects import Project

app = typer.Typer(help="Projects: the repositories that the orchestrator works for.", no_args_is_help=True)

SECTIONS: Final = ("test", "smoke", "coverage", "security", "staging", "deploy", "post_deploy", "merge")


class Sandbox(StrEnum):
    """How agents may be locked in."""

    NONE = "none"
    BUBBLEWRAP = "bubblewrap"


Kind: TypeAlias = Annotated[
    str | None, typer.Option("--agent-cli", metavar="KIND", help="claude, codex or script.")
]
Budget: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--budget", metavar="SCOPE.LIMIT=N", help="A limit, such as item.cost_usd=20; again for each."
    ),
]
Author: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--author", metavar="NAME", help="Whose items start unread; again for each person."),
]
LockedIn: TypeAlias = Annotated[
    Sandbox | None, typer.Option("--sandbox", help="How agents are locked in; else ORCH_AGENT_SANDBOX.")
]
Network: TypeAlias = Annotated[
    bool | None,
    typer.Option("--network/--no-network", help="Whether agents that are locked in reach the network."),
]


@app.command()
def add(
    repository: Annotated[str, typer.Argument(metavar="PATH_OR_URL", help="The git repository.")],
    *,
    prefix: Annotated[str, typer.Option("--prefix", metavar="ABC", help="Items are called ABC-1, ABC-2, …")],
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the project; that of its directory by default.")
    ] = None,
    base: Annotated[str, typer.Option("--base", help="The branch that changes are merged into.")] = "main",
    agent_command: Annotated[
        str | None, typer.Option("--agent-command", metavar="CMD", help="The agent's executable.")
    ] = None,
    agent_cli: Kind = None,
    author: Author = None,
    sandbox: LockedIn = None,
    network: Network = None,
    budget: Budget = None,
    json: AsJson = False,
) -> None:
    """Register a repository; its contract `.orchestrator.yml` is read from the base branch."""
    from orchestrator.config.projects import make_project

    source = _source(repository)
    project = make_project(
        {
            "name": name or _name_of(source),
            "prefix": prefix,
            "repo_url": source,
            "base_branch": base,
            "agent_command": _executable(agent_command),
            # Naming an executable without a kind means the protocol that any executable can speak.
            "agent_cli": agent_cli or ("script" if agent_command else None),
            "authors": tuple(author or ()),
            "sandbox": sandbox.value if sandbox is not None else None,
            "sandbox_network": network,
            "budgets": _budgets(budget or ()),
        }
    )

    async def register(app: "App") -> Json:
        added = await app.projects.add(project)
        return {"ok": True, **_shown(added.project, added.contract), "notes": list(added.notes)}

    row = perform(register)
    if json:
        print_json(row)
        return
    say(f"{row['name']} is registered; its items are called {prefix}-1, {prefix}-2, …")
    for note in project_notes(row):
        say(f"  {note}")


@app.command(name="list")
def show(*, json: AsJson = False) -> None:
    """List the registered projects."""

    async def read(app: "App") -> list[Json]:
        states = await app.store.transact(lambda tx: {state.name: state for state in tx.projects.all()})
        rows = []
        for project in await app.projects.all():
            state = states.get(project.name)
            try:
                row = _shown(project, await app.projects.contract(project.name))
            except BadInput as error:
                row = {**_shown(project, None), "problem": str(error)}
            row["frozen"] = state.frozen if state is not None else None
            row["coverage_baseline"] = state.coverage_baseline if state is not None else None
            rows.append(row)
        return rows

    rows = perform(read)
    if json:
        print_json(rows)
        return
    print_table(
        ("Project", "Prefix", "Base", "Contract", "Frozen", "Repository"),
        [
            (
                row["name"],
                row["prefix"],
                row["base_branch"],
                _contract_cell(row),
                row["frozen"],
                row["repo_url"],
            )
            for row in rows
        ],
        empty="no projects; add one with 'orch project add PATH --prefix ABC'",
    )


@app.command()
def freeze(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    *,
    reason: Annotated[str, typer.Option("--reason", help="Why; it is shown to whoever waits.")] = "",
    json: AsJson = False,
) -> None:
    """Let no new item of the project start; what is under way goes on."""
    _set_frozen(name, reason or "frozen by a person", json=json)


@app.command()
def thaw(name: Annotated[str, typer.Argument(metavar="NAME")], *, json: AsJson = False) -> None:
    """Let items of the project start again."""
    _set_frozen(name, None, json=json)


def project_notes(row: Json) -> list[str]:
    """What the owner of a project should know: what its contract declares, and remarks on it."""
    declared, notes = row["contract"], row["notes"]
    lines = (
        [f"the contract declares: {', '.join(declared)}"] if isinstance(declared, list) and declared else []
    )
    return [*lines, *(map(str, notes) if isinstance(notes, list) else ())]


def _set_frozen(name: str, reason: str | None, *, json: bool) -> None:
    perform(lambda app: app.desk.freeze(name, reason))
    if json:
        print_json({"ok": True, "name": name, "frozen": reason})
    else:
        say(f"{name} is {'thawed' if reason is None else f'frozen: {reason}'}")


def _shown(project: "Project", contract: "Contract | None") -> Json:
    declared = None if contract is None else [name for name in SECTIONS if contract.declares(name)]
    return {**project.model_dump(mode="json"), "contract": declared}


def _contract_cell(row: Json) -> str:
    if "problem" in row:
        return str(row["problem"])
    declared = row["contract"]
    return ", ".join(declared) if isinstance(declared, list) else "none"


def _budgets(given: Iterable[str]) -> dict[str, dict[str, str]]:
    """Limits by scope; whether they are possible is said where the project is made."""
    budgets: dict[str, dict[str, str]] = {}
    for limit in given:
        name, _, amount = limit.partition("=")
        scope, _, measure = name.strip().partition(".")
        if not (scope and measure and amount.strip()):
            raise BadInput(f"{limit} is no budget; give one such as --budget item.cost_usd=20")
        budgets.setdefault(scope, {})[measure] = amount.strip()
    return budgets


def _source(repository: str) -> str:
    """A local path as a whole path, because the server may run in another directory; an address as it is."""
    from orchestrator.forges.sources import local_path

    path = local_path(repository)
    return repository if path is None else str(path.expanduser().resolve())


def _name_of(source: str) -> str:
    last = re.split(r"[/:]", source.rstrip("/"))[-1].removesuffix(".git")
    return re.sub(r"[^a-z0-9._-]+", "-", last.lower()).strip("-._")


def _executable(command: str | None) -> str | None:
    """A path to an executable as a whole path; the name of a program is looked up when it is started."""
    if command is None or "/" not in command:
        return command
    return str(Path(command).expanduser().absolute())
