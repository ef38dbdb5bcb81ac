"""What everything else stands on: settings, clock, database, neighbours and the registry of projects."""

from collections.abc import Mapping, Sequence

import structlog

from orchestrator.bootstrap.projects import Projects
from orchestrator.config.contract import Contract
from orchestrator.config.settings import Settings
from orchestrator.delivery.commands import Surroundings
from orchestrator.engine.signals import ForgeSignals
from orchestrator.errors import BadInput, Conflict, Rejected
from orchestrator.forges.local import PublishingForge
from orchestrator.forges.mirror import Remote
from orchestrator.forges.worktrees import MirrorWorkspace, Places
from orchestrator.notify.log import LogNotifier
from orchestrator.pipeline.decisions import Policy
from orchestrator.pipeline.ids import Commit
from orchestrator.pipeline.wording import Language
from orchestrator.plumbing.clock import RandomIds, SystemClock
from orchestrator.plumbing.git import Git
from orchestrator.plumbing.processes import Processes
from orchestrator.plumbing.redaction import PROCESS
from orchestrator.ports.notifier import Notifier
from orchestrator.store import SqlLeases, SqlQueue, SqlStore, this_process
from orchestrator.trackers.board import BoardTracker

log = structlog.get_logger(__name__)


class Foundation:
    """One process's neighbours, opened; nothing of the engine yet.

    Raises ``BadInput`` with one clear line when something cannot be opened.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        # From here on no log, page or message of this process shows a secret of its own settings.
        PROCESS.know(settings.secrets())
        self.clock = SystemClock()
        self.ids = RandomIds()
        self.policy = Policy(confirm_deploy=settings.deploy_require_manual_approve)
        self.language = Language(settings.language)
        _make_directories(settings)
        self.store = SqlStore(settings.effective_database_url, self.clock, this_process(self.ids))
        self.queue = SqlQueue(self.store.database)
        self.leases = SqlLeases(self.store.database)
        self.processes = Processes()
        self.git = Git()
        self.forge = PublishingForge(
            settings.forge_dir,
            git=self.git,
            clock=self.clock,
            processes=self.processes,
            contract_for=self._contract_of,
            on_event=ForgeSignals(self.store),
            variables=self._told_to_ci,
        )
        self.workspace = MirrorWorkspace(
            Places(settings.repos_dir, settings.worktrees_dir, settings.checkouts_dir),
            lambda project: Remote(str(self.forge.path(project))),
            self.git,
            follow=self._follow,
        )
        self.board = BoardTracker(f"sqlite:///{settings.board_path}", self.clock)
        self.notifier: Notifier = LogNotifier()
        if settings.notify_targets:
            self.notifier = _apprise(settings.notify_targets)
        self.projects = Projects(
            store=self.store, workspace=self.workspace, forge=self.forge, board=self.board
        )
        self.surroundings = Surroundings(state_root=settings.state_dir, ports_of=self.projects.ports)

    async def _follow(self, project: str) -> None:
        """What the owner committed to the base comes in first, so that it is in what is merged and published.

        Raises ``Rejected`` when both went on, which only the owner can mend.
        """
        try:
            await self.forge.follow(project)
        except Conflict as error:
            raise Rejected(str(error)) from error
        except Rejected as error:
            log.warning("upstream_not_followed", project=project, reason=str(error))

    def _told_to_ci(self, project: str, commit: Commit) -> Mapping[str, str]:
        return self.surroundings.variables(project, revision=commit, work_item="", environment="test")

    async def _contract_of(self, project: str) -> Contract | None:
        return await self.projects.contract(project)

    async def close(self) -> None:
        """Close what is open; runs under supervisors go on by themselves."""
        await self.forge.aclose()
        self.board.close()
        self.store.close()


def _make_directories(settings: Settings) -> None:
    """The data directory and what is always in it, for nobody else to read."""
    for place in (settings.home, settings.runs_dir, settings.state_dir, settings.forge_dir):
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(
                f"cannot use {place}: {error.strerror}; set ORCH_HOME to a directory that you may write"
            ) from error


def _apprise(urls: Sequence[str]) -> Notifier:
    """Apprise is an extra: without it a configured address is a mistake that is told at once."""
    try:
        from orchestrator.notify.apprise import AppriseNotifier  # noqa: PLC0415 - only when it is configured
    except ModuleNotFoundError as error:
        raise BadInput(
            "ORCH_NOTIFY_URLS needs the extra 'notify': pip install 'orchestrator[notify]'"
        ) from error
    return AppriseNotifier(urls)
