"""What `orch doctor` looks at about agents: the CLI, its version, its login, and the sandbox."""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from orchestrator.agents.sandbox import available
from orchestrator.bootstrap.agents import make_transport
from orchestrator.cli.checks import Check
from orchestrator.config.settings import Settings
from orchestrator.errors import AdapterError
from orchestrator.plumbing.clock import SystemClock
from orchestrator.plumbing.processes import Processes

if TYPE_CHECKING:
    from orchestrator.config.projects import Project

SCRIPT: Final = "script"
BUBBLEWRAP: Final = "bubblewrap"


async def agent_checks(settings: Settings, project: "Project | None" = None) -> list[Check]:
    """The CLI of the installation, or of a project that has one of its own; and its login."""
    kind = (project.agent_cli if project is not None else None) or settings.agent_cli
    own = (project.agent_command if project is not None else None) or ""
    name = "agent" if project is None else f"{project.name}: agent"
    if kind == SCRIPT:
        return [_script(name, settings.home, own or settings.agent_command)]
    transport = make_transport(settings, Processes(), SystemClock(), {})
    try:
        version = await transport.version(kind, own)
        login = transport.login_problem(kind)
    except AdapterError as error:
        cause, _, mend = str(error).partition("; ")
        return [Check(name, False, cause, mend or "set ORCH_AGENT_COMMAND to its path")]
    if login is not None:
        cause, _, mend = login.partition(": ")
        return [Check(name, True, f"{kind}: {version}"), Check(f"{name} login", False, cause, mend)]
    return [Check(name, True, f"{kind}: {version}"), Check(f"{name} login", True, "there is one")]


def _script(name: str, home: Path, command: str) -> Check:
    mend = "set ORCH_AGENT_COMMAND to the executable of your agent"
    if not command:
        return Check(name, False, "the agent CLI `script` has no command", mend)
    # As when it is started: a path is below the home, a name on PATH with our interpreter's programs first.
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    found = shutil.which(str(home / command) if os.sep in command else command, path=programs)
    if found is None:
        return Check(name, False, f"{command} is not there or not executable", mend)
    return Check(name, True, f"{SCRIPT}: {found}")


def sandbox_check(settings: Settings, projects: "Sequence[Project]" = ()) -> Check:
    """Whether agents can be locked in; a failure only where they are to be."""
    wanted = [project.name for project in projects if project.sandbox == BUBBLEWRAP]
    if settings.agent_sandbox == BUBBLEWRAP:
        wanted.insert(0, "the installation")
    found = available()
    if found.ok:
        use = f"locks in the agents of {', '.join(wanted)}" if wanted else "available, and not asked for"
        return Check("sandbox", True, f"bubblewrap {found.version}: {use}")
    if wanted:
        return Check("sandbox", False, f"{found.problem}; asked for by {', '.join(wanted)}", found.mend)
    return Check("sandbox", True, f"none: {found.problem} (not asked for)")
