"""One process of the orchestrator, wired from settings."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

from orchestrator.bootstrap.agents import Agents
from orchestrator.bootstrap.delivery import Delivery
from orchestrator.bootstrap.engine import Engine
from orchestrator.bootstrap.foundation import Foundation
from orchestrator.config.settings import Settings
from orchestrator.engine.advance import Door
from orchestrator.engine.aftercare import Aftercare
from orchestrator.engine.authors import Authors
from orchestrator.engine.commitment import Commitment
from orchestrator.engine.costs import Costs
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
from orchestrator.producers.agent_run.admission import breaker_key
from orchestrator.store.projects import SqlProjects
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
        self._agents = Agents(self, agent_variables)
        self.agents = self._agents.transport
        self.transcripts: Transcripts = self.agents.transcript
        table = delivery.producers(self._agents.producers())
        self._table = producers(self) if producers is not None else table
        self._wire_engine(delivery, raise_bugs=raise_bugs)

    def _open_desk(self) -> None:
        authors = Authors(projects=self.projects, tracker=self.board)
        self.intake = Intake(store=self.store, clock=self.clock, authors=authors)
        self.desk = Desk(
            store=self.store,
            intake=self.intake,
            filing=self.board,
            workspace=self.workspace,
            projects=self.projects,
            ids=self.ids,
            clock=self.clock,
            authors=authors,
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
        self.costs = Costs(
            store=self.store,
            projects=self.projects,
            clock=self.clock,
            budgets=self.settings.budgets,
            zone=self.settings.zone,
        )
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
            runs=self._agents,
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
            "resilience": self._resilience,
        }

    def _resilience(self) -> Mapping[str, object]:
        """The breaker of the installation's own kind of CLI."""
        cli = self.settings.agent_cli
        kept = self.store.database.run(lambda unit: SqlProjects(unit).recall(breaker_key(cli)), read=True)
        return {"breaker": self._agents.admission.snapshot(cli, kept)}

    async def _resume(self) -> None:
        """What the last end left behind: checkouts that nobody uses, and suites that still run."""
        await self.workspace.sweep(self.processes.works_in)
        await self.forge.resume()

    def log_of(self, run_id: int) -> Path | None:
        """Where the log of an agent's run is; ``None`` for an unknown run."""
        found = self.store.database.run(lambda unit: SqlRuns(unit).log_path(RunId(run_id)), read=True)
        return Path(found) if found else None
