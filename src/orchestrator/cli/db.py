"""`orch db`: bring the database up to date, and copy it while it is in use."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.output import AsJson, print_json, say
from orchestrator.cli.session import chosen_settings
from orchestrator.errors import BadInput

if TYPE_CHECKING:
    from orchestrator.config.settings import Settings

app = typer.Typer(help="The database: bring up to date, back up.", no_args_is_help=True)


@app.command()
def upgrade(*, json: AsJson = False) -> None:
    """Bring the database up to date; `orch serve` does it too when it starts."""
    from orchestrator.store import schema

    settings = chosen_settings()
    _make_home(settings)
    before = schema.current(settings.effective_database_url)
    schema.upgrade(settings.effective_database_url)
    if json:
        print_json({"ok": True, "before": before, "revision": schema.HEAD})
    elif before == schema.HEAD:
        say(f"the database is at revision {schema.HEAD} already")
    else:
        say(f"the database is at revision {schema.HEAD} now (before: {before or 'empty'})")


@app.command()
def backup(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The copy; below the home by default.")
    ] = None,
    *,
    json: AsJson = False,
) -> None:
    """Copy the database while it is in use; the built-in board and forge are copied beside it."""
    from orchestrator.plumbing.clock import SystemClock
    from orchestrator.store import backup as copy

    settings = chosen_settings()
    target = file
    if target is None:
        folder = settings.home / "backups"
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"orchestrator-{SystemClock().now():%Y%m%dT%H%M%SZ}.db"
    copies = {settings.effective_database_url: target}
    for name, path in (("board", settings.board_path), ("forge", settings.forge_dir / "forge.db")):
        if path.is_file():
            copies[f"sqlite:///{path}"] = target.with_name(f"{target.stem}.{name}{target.suffix}")
    if settings.effective_database_url.startswith("sqlite") and not settings.db_path.is_file():
        raise BadInput(f"there is no database at {settings.db_path} yet; 'orch serve' makes it")
    for url, path in copies.items():
        copy(url, path)
    files = [str(path) for path in copies.values()]
    if json:
        print_json({"ok": True, "files": files})
    else:
        say("\n".join(files))


def _make_home(settings: "Settings") -> None:
    try:
        settings.home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{settings.home} cannot be made: {error.strerror}; set ORCH_HOME") from error
