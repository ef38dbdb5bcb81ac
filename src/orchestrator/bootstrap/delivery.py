"""What brings code to people, wired: contract commands, suites, merge, the gates' tools and the producers."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final

from orchestrator.bootstrap.foundation import Foundation
from orchestrator.config.projects import SELF_HOSTING_REPO
from orchestrator.delivery.attempts import Attempts
from orchestrator.delivery.clean_runs import CleanRuns
from orchestrator.delivery.commands import ContractCommands
from orchestrator.delivery.deploy import DeployHook
from orchestrator.delivery.measurement import Measurement
from orchestrator.delivery.merge import MergeService
from orchestrator.delivery.probe import HttpProbe
from orchestrator.delivery.rehearsal import Rehearsal
from orchestrator.delivery.reports import Reports
from orchestrator.delivery.retest import Suite
from orchestrator.delivery.rollback import Rollback
from orchestrator.delivery.scans import Scans
from orchestrator.delivery.smoke import SmokeTest
from orchestrator.delivery.sources import Sources
from orchestrator.delivery.verification import Verification
from orchestrator.delivery.watchman import Watchman
from orchestrator.gates.tools import GateTools, Limits, Scope
from orchestrator.pipeline.gates import GateName
from orchestrator.ports.producer import Producer
from orchestrator.producers.deploy_finalizer import DeployFinalizer
from orchestrator.producers.post_deploy_monitor import PostDeployMonitor
from orchestrator.producers.staging_runner import StagingRunner
from orchestrator.producers.test_runner import TestRunner

SHORTEST_GRACE: Final = timedelta(seconds=1)


class Delivery:
    """The services below gates and producers, made once for a ``Foundation``."""

    def __init__(self, app: Foundation) -> None:
        settings = app.settings
        self._app = app
        grace = max(timedelta(seconds=settings.agent_kill_grace_seconds), SHORTEST_GRACE)
        self.commands = ContractCommands(app.processes, app.surroundings, grace=grace)
        self.sources = Sources(app.workspace, app.git)
        self.runs = CleanRuns(app.workspace, self.commands, root=settings.runs_dir)
        self.measurement = Measurement(self.runs, limit=timedelta(seconds=settings.coverage_run_timeout_s))
        self.merging = MergeService(
            workspace=app.workspace,
            forge=app.forge,
            leases=app.leases,
            store=app.store,
            measurement=self.measurement,
        )
        self.reports = Reports(app.workspace, language=app.language, email_domain=settings.git_email_domain)
        self.watcher = self._monitor()

    def gate_tools(self) -> GateTools:
        """Everything that gates ask."""
        app = self._app
        return GateTools(
            workspace=app.workspace,
            forge=app.forge,
            projects=app.projects,
            store=app.store,
            suite=Suite(self.runs),
            merging=self.merging,
            measurement=self.measurement,
            scans=Scans(
                app.workspace, self.runs, limit=timedelta(seconds=app.settings.security_run_timeout_s)
            ),
            rehearsal=Rehearsal(
                app.workspace, self.commands, root=app.settings.runs_dir / "rehearsals", ids=app.ids
            ),
            limits=self._limits(),
        )

    def _limits(self) -> Limits:
        settings = self._app.settings
        return Limits(
            scopes={
                GateName.SECURITY: Scope(settings.security_gate_enabled, settings.security_gate_repos),
                GateName.BRANCH_MERGEABLE: Scope(settings.merge_gate_enabled, settings.merge_gate_repos),
                GateName.COVERAGE: Scope(settings.coverage_gate_enabled, settings.coverage_gate_repos),
                GateName.STAGING_IMAGE_FRESH: Scope(
                    settings.image_freshness_enabled, settings.image_freshness_repos
                ),
            },
            infra_delay=timedelta(seconds=settings.merge_retest_infra_retry_delay_s),
            coverage_epsilon=settings.coverage_epsilon,
            coverage_fail_closed=settings.coverage_tool_fail_closed,
        )

    def producers(self, agents: Iterable[Producer]) -> Sequence[Producer]:
        """The ordered table: deterministic code first, the agent CLI last, which takes whatever is left."""
        app, settings = self._app, self._app.settings
        attempts = Attempts(
            commands=self.commands,
            processes=app.processes,
            workspace=app.workspace,
            sources=self.sources,
            runs_dir=settings.runs_dir,
        )
        self.test_runner = TestRunner(
            attempts=attempts,
            reports=self.reports,
            smoke=SmokeTest(HttpProbe(), app.clock),
            settings=settings,
            self_hosting=SELF_HOSTING_REPO,
        )
        self.staging_runner = StagingRunner(
            attempts=attempts, reports=self.reports, settings=settings, self_hosting=SELF_HOSTING_REPO
        )
        return (
            self.test_runner,
            self.staging_runner,
            self._deploy_finalizer(),
            *agents,
        )

    def _deploy_finalizer(self) -> DeployFinalizer:
        app, settings = self._app, self._app.settings
        hook = DeployHook(
            commands=self.commands,
            processes=app.processes,
            sources=self.sources,
            clock=app.clock,
            state_dir=settings.state_dir,
            patience=timedelta(seconds=settings.self_deploy_result_timeout_s),
        )
        verification = Verification(
            hook=hook,
            probe=HttpProbe(),
            clock=app.clock,
            health_limit=timedelta(seconds=settings.self_deploy_health_timeout_s),
        )
        return DeployFinalizer(
            hook=hook,
            verification=verification,
            reports=self.reports,
            settings=settings,
            self_hosting=SELF_HOSTING_REPO,
        )

    def _monitor(self) -> PostDeployMonitor:
        app, settings = self._app, self._app.settings
        watchman = Watchman(
            probe=HttpProbe(),
            rollback=Rollback(commands=self.commands, sources=self.sources),
            clock=app.clock,
            settings=settings,
            state_dir=settings.state_dir,
        )
        return PostDeployMonitor(
            store=app.store,
            projects=app.projects,
            workspace=app.workspace,
            watchman=watchman,
            reports=self.reports,
            settings=settings,
        )
