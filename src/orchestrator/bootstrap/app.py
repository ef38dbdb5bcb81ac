"""One process of the orchestrator, wired from settings."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

from orchestrator.agents.clis.script import ScriptCli
from orchestrator.agents.transport import CliTransport
from orchestrator.bootstrap.delivery import Delivery
from orchestrator.bootstrap.engine import Engine
from orchestrator.bootstrap.foundation import Foundation
from orchestrator.bootstrap.projects import Projects
from orchestrator.config.settings import Settings
from orchestrator.engine.advance import Door
from orchestrator.engine.aftercare import Aftercare
from orchestrator.engine.commitment import Commitment
from orchestrator.engine.desk import Desk
from orchestrator.engine.dispatch import Dispatch
from orchestrator.engine.evaluation import Evaluation
from orchestrator.engine.intake import Intake
from orchestrator.engine.messages import Messages
from orchestrator.engine.outward import Outward
from orchestrator.engine.overview import Block, Limits, Overview
from orchestrator.engine.recovery import Recovery
from orchestrator.engine.sweeps import Sweeps
from orchestrator.engine.tracker_poll import TrackerPoll
from orchestrator.gates import bind
from orchestrator.jobs.worker import Worker
from orchestrator.pipeline.ids import RunId
from orchestrator.ports.agent import Transcripts
from orchestrator.ports.producer import Producer
from orchestrator.ports.queue import Handler, JobKind
from orchestrator.store.runs import SqlRuns

ProducerTable: TypeAlias = Callable[["App"], Sequence[Producer]]
"""Gives the ordered table of producers; a bench or a test may put others in the place of the real ones."""


class App(Foundation):
    """One process of the orchestrator: everything wired, nothing running until it is asked to."""

    def __init__(
        self,
        settings: Settings,
        *,
        agent_variables: Mapping[str, str],
        producers: ProducerTable | None,
        raise_bugs: bool,
    ) -> None:
        super().__init__(settings)
        self.messages = Messages(self.language)
        self._open_desk()
        delivery = Delivery(self)
        agents = self._agents(agent_variables)
        self.transcripts: Transcripts = agents.transcript
        table = delivery.producers(agents)
        self._table = producers(self) if producers is not None else table
        self._wire_engine(delivery, raise_bugs=raise_bugs)

    def _open_desk(self) -> None:
        self.intake = Intake(store=self.store, clock=self.clock)
        self.desk = Desk(
            store=self.store,
            intake=self.intake,
            filing=self.board,
            workspace=self.workspace,
            projects=self.projects,
            ids=self.ids,
        )
        self.recovery = Recovery(
            store=self.store,
            queue=self.queue,
            leases=self.leases,
            clock=self.clock,
            policy=self.policy,
        )
        poll = TrackerPoll(
            tracker=self.board,
            store=self.store,
            intake=self.intake,
            desk=self.desk,
            projects=self.projects,
        )
        self.sweeps = Sweeps(
            recovery=self.recovery,
            tracker_poll=poll,
            clock=self.clock,
            interval=timedelta(seconds=self.settings.reconcile_interval_s),
            grace=timedelta(seconds=self.settings.reconcile_grace_s),
        )

    def _agents(self, variables: Mapping[str, str]) -> CliTransport:
        command = self.settings.agent_command or ""
        script = ScriptCli(self.clock, home=self.settings.home, command=command, extra=variables)
        kinds = _AgentKinds(self.projects, self.settings.agent_cli)
        return CliTransport(self.processes, {"script": script}, "script", self.clock, kinds=kinds)

    def _wire_engine(self, delivery: Delivery, *, raise_bugs: bool) -> None:
        poll = timedelta(seconds=self.settings.poll_interval)
        self.worker = Worker(
            queue=self.queue,
            handlers=self._handlers(delivery),
            max_concurrency=self.settings.max_concurrency,
            poll=poll,
            raise_bugs=raise_bugs,
        )
        self.engine = Engine(self.worker, self.sweeps, resume=self._resume)
        self.overview = Overview(
            store=self.store,
            leases=self.leases,
            clock=self.clock,
            policy=self.policy,
            limits=Limits(self.settings.max_concurrency, poll),
            blocks=self._blocks(delivery),
        )

    def _handlers(self, delivery: Delivery) -> Mapping[JobKind, Handler]:
        commitment = Commitment(self.policy)
        dispatch = Dispatch(
            store=self.store,
            queue=self.queue,
            door=self._door(delivery, commitment),
            producers=self._table,
            workspace=self.workspace,
            forge=self.forge,
            projects=self.projects,
            messages=self.messages,
            clock=self.clock,
        )
        outward = self._outward(delivery)
        aftercare = Aftercare(
            monitor=delivery.watcher, store=self.store, commitment=commitment, clock=self.clock
        )
        return {
            JobKind.LOOK: dispatch.look,
            JobKind.PRODUCE: dispatch.produce,
            JobKind.WATCH: aftercare.watch,
            JobKind.TRACKER: outward.tell_tracker,
            JobKind.NOTIFY: outward.alert,
            JobKind.CLEANUP: outward.clean_up,
        }

    def _door(self, delivery: Delivery, commitment: Commitment) -> Door:
        return Door(
            store=self.store,
            leases=self.leases,
            workspace=self.workspace,
            projects=self.projects,
            evaluation=Evaluation(bind(delivery.gate_tools())),
            merger=delivery.merging,
            commitment=commitment,
            clock=self.clock,
            policy=self.policy,
            owner=f"{self.store.database.owner.pid}",
        )

    def _outward(self, delivery: Delivery) -> Outward:
        return Outward(
            store=self.store,
            tracker=self.board,
            forge=self.forge,
            workspace=self.workspace,
            leases=self.leases,
            merger=delivery.merging,
            stop_runs=lambda item_id: self.processes.stop_below(self.settings.runs_dir / item_id),
            notifier=self.notifier,
            messages=self.messages,
            policy=self.policy,
            clock=self.clock,
        )

    def _blocks(self, delivery: Delivery) -> Mapping[str, Block]:
        settings = self.settings
        return {
            "test_runner": delivery.test_runner.snapshot,
            "staging_runner": delivery.staging_runner.snapshot,
            "post_deploy": delivery.watcher.snapshot,
            "merge_gate": lambda: {
                "enabled": settings.merge_gate_enabled,
                "repos": settings.merge_gate_repos,
            },
            "coverage": lambda: {
                "enabled": settings.coverage_gate_enabled,
                "repos": settings.coverage_gate_repos,
                "epsilon": settings.coverage_epsilon,
            },
            "checkout_hygiene": lambda: {"enabled": True, "when": "before every run"},
            "reconcile": lambda: {
                "enabled": settings.reconcile_enabled,
                "interval_s": settings.reconcile_interval_s,
                "last_run": self.sweeps.last_run,
                "asked_total": self.sweeps.asked,
                "gestures_total": self.sweeps.gestures,
            },
            "reaper": lambda: {
                "enabled": True,
                "when": "at start: jobs and leases of dead owners are taken back",
                "last_start": self.sweeps.recovered,
            },
            "resilience": lambda: {"breaker": {"enabled": False, "state": "not part of this version"}},
        }

    async def _resume(self) -> None:
        """What the last end left behind: checkouts that nobody uses, and suites that still run."""
        await self.workspace.sweep(self.processes.works_in)
        await self.forge.resume()

    def log_of(self, run_id: int) -> Path | None:
        """Where the log of an agent's run is; ``None`` for an unknown run."""
        found = self.store.database.run(lambda unit: SqlRuns(unit).log_path(RunId(run_id)), read=True)
        return Path(found) if found else None


class _AgentKinds(Mapping[str, str]):
    """The kind of agent CLI of each project: its own, or the installation's."""

    def __init__(self, projects: Projects, default: str) -> None:
        self._projects = projects
        self._default = default

    def __getitem__(self, project: str) -> str:
        return self._projects.agent_cli(project) or self._default

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0
