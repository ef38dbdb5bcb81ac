"""The checks of `orch doctor`: each looks at one thing, changes nothing, and knows its mend."""

import os
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orchestrator
from orchestrator.cli.agent_checks import agent_checks, sandbox_check
from orchestrator.cli.checks import Check
from orchestrator.cli.ports import PortUse, is_loopback, port_use
from orchestrator.config.settings import Settings
from orchestrator.errors import AdapterError, BadInput, OrchestratorError
from orchestrator.forges.sources import local_path
from orchestrator.plumbing.clock import SystemClock
from orchestrator.plumbing.git import Git
from orchestrator.plumbing.git.refs import remote_refs
from orchestrator.store import schema

if TYPE_CHECKING:
    from orchestrator.bootstrap import App
    from orchestrator.config.projects import Project

MINIMUM_PYTHON: Final = (3, 11)
MINIMUM_GIT: Final = (2, 38)
"""`git merge-tree --write-tree` came with it; the local forge merges with that."""

CLOCK_TOLERANCE: Final = timedelta(minutes=2)
MEGABYTE: Final = 1_000_000


async def examine(settings: Settings) -> list[Check]:
    """Look at everything; a failure keeps only those checks from being made that need what failed."""
    checks = [
        _python(),
        await _git(),
        _home(settings.home),
        _disk(settings),
        _clock(),
        _access(settings),
        _port("ORCH_PORT", settings.host, settings.port),
        _port("ORCH_STAGING_PORT", settings.host, settings.staging_port),
        _database(settings),
    ]
    if checks[-1].ok and _exists(settings):
        checks.extend([check async for check in _projects(settings)])
    else:
        checks.extend([*await agent_checks(settings), sandbox_check(settings)])
    return checks


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    wanted = ".".join(map(str, MINIMUM_PYTHON))
    return Check("python", sys.version_info >= MINIMUM_PYTHON, version, f"install Python {wanted} or newer")


async def _git() -> Check:
    wanted = ".".join(map(str, MINIMUM_GIT))
    try:
        version = await Git().version()
    except AdapterError as error:
        return Check("git", False, str(error), f"install git {wanted} or newer and put it on PATH")
    return Check("git", version >= MINIMUM_GIT, ".".join(map(str, version)), f"install git {wanted} or newer")


def _home(home: Path) -> Check:
    """The nearest directory that exists decides: what is missing below it is made when it is needed."""
    existing = next(path for path in (home, *home.parents) if path.exists())
    writable = os.access(existing, os.W_OK | os.X_OK)
    detail = str(home) if existing == home else f"{home} (will be made)"
    if not writable:
        detail = f"{existing} is not writable"
    return Check("home", writable, detail, f"sudo chown -R $(id -u):$(id -g) {existing}, or set ORCH_HOME")


def _disk(settings: Settings) -> Check:
    home = settings.home
    existing = next(path for path in (home, *home.parents) if path.exists())
    free = shutil.disk_usage(existing).free // MEGABYTE
    enough = free >= settings.disk_min_free_mb
    mend = f"free some space, or set ORCH_DISK_MIN_FREE_MB lower than {settings.disk_min_free_mb}"
    return Check("disk", enough, f"{free} MB free at {existing}", mend)


def _clock() -> Check:
    now = SystemClock().now()
    installed = datetime.fromtimestamp(Path(orchestrator.__file__).stat().st_mtime, tz=UTC)
    return _after("clock", now, installed, "this program was installed")


def _after(name: str, now: datetime, earlier: datetime, event: str) -> Check:
    detail = f"{now:%Y-%m-%d %H:%M:%S} UTC"
    if now + CLOCK_TOLERANCE >= earlier:
        return Check(name, True, detail)
    return Check(
        name,
        False,
        f"{detail} is before {event} ({earlier:%Y-%m-%d %H:%M:%S})",
        "set the clock: sudo timedatectl set-ntp true",
    )


def _access(settings: Settings) -> Check:
    if is_loopback(settings.host):
        return Check("access", True, f"{settings.host} is reachable from this machine only")
    detail = f"{settings.host} is reachable from other machines, and nobody has to log in"
    return Check("access", False, detail, "set ORCH_HOST=127.0.0.1")


def _port(name: str, host: str, port: int) -> Check:
    match port_use(host, port):
        case PortUse.FREE:
            return Check(f"port {port}", True, "free")
        case PortUse.OURS:
            return Check(f"port {port}", True, "an orchestrator answers")
        case PortUse.TAKEN:
            return Check(f"port {port}", False, "taken by another program", f"set {name} to a free port")
        case PortUse.FORBIDDEN:
            mend = f"set ORCH_HOST to an address of this machine and {name} to a port above 1023"
            return Check(f"port {port}", False, f"this user cannot listen on {host}:{port}", mend)


def _exists(settings: Settings) -> bool:
    url = settings.effective_database_url
    return not url.startswith("sqlite") or settings.db_path.is_file()


def _database(settings: Settings) -> Check:
    if not _exists(settings):
        return Check("database", True, f"{settings.db_path} (will be made)")
    url = settings.effective_database_url
    try:
        revision = schema.current(url)
        schema.check(url)
    except OrchestratorError as error:
        return Check("database", False, str(error), "see ORCH_DATABASE_URL and ORCH_DB_PATH in 'orch config'")
    detail = f"revision {revision or 'none'}, this program needs {schema.HEAD}"
    return Check("database", revision == schema.HEAD, detail, "orch db upgrade")


async def _projects(settings: Settings) -> AsyncIterator[Check]:
    from orchestrator.bootstrap import open_app

    async with open_app(settings) as app:
        newest = await app.store.transact(lambda tx: tx.events.recent(1))
        if newest:
            yield _after("clock and database", app.clock.now(), newest[0].received_at, "the newest event")
        projects: Sequence[Project] = await app.projects.all()
        if not projects:
            mend = "orch project add PATH --prefix ABC"
            yield Check("projects", False, "none is registered", mend)
        for project in projects:
            yield await _repository(project)
            yield await _contract(app, project)
            if project.agent_cli or project.agent_command:
                for check in await agent_checks(settings, project):
                    yield check
        if not projects or any(not (one.agent_cli or one.agent_command) for one in projects):
            for check in await agent_checks(settings):
                yield check
        yield sandbox_check(settings, projects)


async def _repository(project: "Project") -> Check:
    """The owner's repository answers and has the base branch."""
    name, base = f"{project.name}: repository", project.base_branch
    path = local_path(project.repo_url)
    if path is not None and not path.is_dir():
        mend = f"bring {path} back, or register the project again with 'orch project add'"
        return Check(name, False, f"{path} is not there", mend)
    try:
        found = await remote_refs(Git(), Path("/"), project.repo_url, [f"refs/heads/{base}"])
    except AdapterError as error:
        return Check(name, False, str(error), f"git ls-remote {project.repo_url} has to work for this user")
    if not found:
        return Check(name, False, f"no branch {base}", f"git branch {base}, or register with --base")
    return Check(name, True, f"{project.repo_url}, base branch {base}")


async def _contract(app: "App", project: "Project") -> Check:
    name = f"{project.name}: contract"
    try:
        contract = await app.projects.contract(project.name)
    except BadInput as error:
        return Check(name, False, str(error), f"correct it on {project.base_branch} and commit")
    except AdapterError as error:
        return Check(
            name, False, str(error), f"register the project again: orch project add {project.repo_url}"
        )
    if contract is None:
        return Check(name, True, "none; the agent does what a contract would say")
    missing = [section for section in ("test", "staging", "deploy") if not contract.declares(section)]
    return Check(name, True, f"valid; without {', '.join(missing)}" if missing else "valid")
