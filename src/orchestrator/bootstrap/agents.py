"""What has to do with agents, wired: the transport with its kinds of CLI, and the producers of the roles."""

import os
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

from orchestrator.agents.attendance import Care
from orchestrator.agents.clis import Cli
from orchestrator.agents.clis.claude import ClaudeCli, ClaudeOptions
from orchestrator.agents.clis.codex import CodexCli, CodexOptions
from orchestrator.agents.clis.script import ScriptCli
from orchestrator.agents.transport import CliTransport, Kinds
from orchestrator.agents.versions import Versions
from orchestrator.bootstrap.foundation import Foundation
from orchestrator.config.settings import Settings
from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.stages import Role
from orchestrator.plumbing.processes import Processes
from orchestrator.plumbing.redaction import PROCESS, is_secret_name
from orchestrator.ports.clock import Clock
from orchestrator.ports.workspace import Branch
from orchestrator.producers.agent_run import Admission, AgentRun, Furnishing, Opening, Places, Reservations

LIMIT_PAUSE: Final = timedelta(minutes=1)
"""How long an agent that reached a limit waits when its provider names no time (product §4, resilience)."""


def make_transport(
    settings: Settings, processes: Processes, clock: Clock, variables: Mapping[str, str]
) -> CliTransport:
    """The one transport, with every kind of CLI; ``variables`` are passed on to agents."""
    return CliTransport(
        processes,
        Kinds(_clis(settings, clock, variables), settings.agent_cli),
        clock,
        versions=Versions(processes, settings.runs_dir / "versions"),
        care=Care(
            result_grace=timedelta(seconds=settings.agent_result_grace_s),
            stall=timedelta(seconds=settings.agent_stall_s),
            memory_mb=settings.agent_memory_mb,
        ),
    )


def _clis(settings: Settings, clock: Clock, variables: Mapping[str, str]) -> Mapping[str, Cli]:
    # The installation's executable is that of its own kind of CLI.
    commands = {settings.agent_cli: settings.agent_command}
    home, handed = settings.home, names_in(settings.agent_env)
    PROCESS.know(os.environ[name] for name in handed if name in os.environ and is_secret_name(name))
    claude = ClaudeOptions(
        command=commands.get("claude") or "claude",
        base_url=settings.agent_base_url,
        api_key=settings.agent_api_key.get_secret_value(),
        passthrough=handed,
        agent_home=settings.agent_home_dir,
        max_retries=settings.agent_max_retries,
        api_timeout=timedelta(seconds=settings.agent_api_timeout_s),
    )
    codex = CodexOptions(
        command=commands.get("codex") or "codex",
        base_url=settings.agent_base_url,
        api_key=settings.agent_api_key.get_secret_value(),
        passthrough=handed,
        agent_home=settings.agent_home_dir,
        max_retries=settings.agent_max_retries,
    )
    return {
        "claude": ClaudeCli(clock, home=home, options=claude, extra=variables),
        "codex": CodexCli(clock, home=home, options=codex, extra=variables),
        "script": ScriptCli(clock, home=home, command=commands.get("script", ""), extra=variables),
    }


def names_in(csv: str) -> tuple[str, ...]:
    """The names of variables in a setting."""
    return tuple(name for part in csv.split(",") if (name := part.strip()))


class Agents:
    """The producers of the roles and what they share, made once for a ``Foundation``."""

    def __init__(self, app: Foundation, variables: Mapping[str, str]) -> None:
        self._app = app
        self.transport = make_transport(app.settings, app.processes, app.clock, variables)
        self._places = Places(app.workspace, app.settings.home / "lent")
        self.admission = Admission(store=app.store, clock=app.clock, settings=app.settings)

    async def stop(self, branch: Branch) -> None:
        """End everything that runs for the item."""
        await self._app.processes.stop_below(self._app.settings.runs_dir / branch.item)

    async def bring_home(self, branch: Branch) -> None:
        """Bring what its agents left in a place of their own into the item's worktree."""
        await self._places.bring_home(branch)

    async def clear(self, item: WorkItemId) -> None:
        """Remove what its agents were lent; the records and logs of its runs stay."""
        await self._places.clear(item)

    def producers(self) -> Iterator[AgentRun]:
        """One row for each role."""
        app, settings = self._app, self._app.settings
        places = self._places
        reservations = Reservations(
            store=app.store,
            projects=app.projects,
            settings=settings,
            clock=app.clock,
            cli_version=self.transport.version,
        )
        furnishing = Furnishing(
            store=app.store, workspace=app.workspace, places=places, ids=app.ids, language=app.language
        )
        opening = Opening(
            reservations=reservations,
            admission=self.admission,
            furnishing=furnishing,
            places=places,
            workspace=app.workspace,
            runs_dir=settings.runs_dir,
            email_domain=settings.git_email_domain,
            most_turns=settings.agent_max_turns,
        )
        for role in Role:
            yield AgentRun(
                role,
                transport=self.transport,
                opening=opening,
                admission=self.admission,
                places=places,
                store=app.store,
                workspace=app.workspace,
                clock=app.clock,
                limit_pause=LIMIT_PAUSE,
            )
