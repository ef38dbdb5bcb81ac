"""The driver of the demonstration: files the item, lets the real engine work, and takes a person's decisions.

It knows the installation from outside only, as a person does: the desk, the item as it is shown, and HTTP.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, Protocol

import httpx

from orchestrator.bootstrap import App, open_app
from orchestrator.bootstrap.serving import serve
from orchestrator.config.projects import make_project
from orchestrator.config.settings import Settings
from orchestrator.demo.results import (
    Json,
    Result,
    Step,
    is_over,
    problem_of,
    rows,
    steps_of,
    waits,
)
from orchestrator.demo.sandbox import PREFIX, PROJECT, Sandbox
from orchestrator.engine.item_view import item_view
from orchestrator.errors import OrchestratorError
from orchestrator.pipeline.items import Waiter
from orchestrator.pipeline.stages import Stage
from orchestrator.plumbing.git import Git
from orchestrator.plumbing.sockets import LOOPBACK, free_ports

DECIDER: Final = "the demo"
DEADLINE: Final = timedelta(seconds=110)
PATIENCE: Final = timedelta(minutes=45)
"""How long the whole road may take with a real agent."""
_LOOK: Final = timedelta(milliseconds=40)
_SETTLING: Final = timedelta(seconds=10)


class Interrupted(OrchestratorError):
    """The person ended the demonstration."""


class Witness(Protocol):
    """Who is told what happens, as it happens."""

    def opened(self, dashboard: str, home: str) -> None:
        """The dashboard answers."""
        ...

    def filed(self, item: str, title: str) -> None:
        """The work item is on the board."""
        ...

    def entered(self, stage: str, seconds: float) -> None:
        """The item is in another stage, so many seconds after it was filed."""
        ...

    def worked(self, step: Step) -> None:
        """A piece of work is finished."""
        ...

    def sent_back(self, gate: str, findings: Sequence[str]) -> None:
        """A gate opened another round, with what it demands word for word."""
        ...

    def decided(self, what: str) -> None:
        """The demo took a decision that belongs to a person."""
        ...

    def held(self, reason: str, who: str) -> None:
        """The item waits for a person and cannot go on by itself."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be shown: with which agent, where, for how long, and which failure."""

    settings: Settings
    fail: str = ""
    deadline: timedelta = DEADLINE
    stay: bool = False
    """Keep dashboard and services until the person ends them."""


async def demonstrate(
    sandbox: Sandbox, plan: Plan, witness: Witness, *, shown: Callable[[Result], None]
) -> Result:
    """Show the whole road; whatever happens, no process of it is left behind.

    ``shown`` is told the result before the stay, which only the person ends.

    Raises:
        Interrupted: the person ended it before its end.
        OrchestratorError: the installation could not be opened or used.
    """
    await sandbox.furnish(Git())
    try:
        result = await _on_stage(sandbox, plan, witness, shown)
    finally:
        left = sandbox.end_leftovers()
    if result.problem or result.stage != Stage.DONE:
        return result
    return replace(result, problem=_untidy(left, sandbox.worktrees()))


async def _on_stage(
    sandbox: Sandbox, plan: Plan, witness: Witness, shown: Callable[[Result], None]
) -> Result:
    production, staging = free_ports(2)
    variables = {
        "ORCH_DEMO_FAIL": plan.fail,
        "ORCH_PORT_PRODUCTION": str(production),
        "ORCH_PORT_STAGING": str(staging),
        "ORCH_STATE_DIR": str(plan.settings.state_dir / PROJECT),
    }
    project = make_project({"name": PROJECT, "prefix": PREFIX, "repo_url": str(sandbox.repository)})
    async with open_app(plan.settings, agent_variables=variables) as app:
        try:
            # A CLI that is not there is told before anything is done for it.
            await app.agents.version(plan.settings.agent_cli, plan.settings.agent_command)
            await app.projects.add(project, (production, staging))
            async with _served(app) as (server, dashboard):
                witness.opened(dashboard, str(sandbox.root))
                drive = _Drive(app, plan, witness, server=server)
                result = await drive.run(sandbox, dashboard, f"http://{LOOPBACK}:{production}/health")
                if plan.stay:
                    shown(result)
                    await server
                return result
        finally:
            await sandbox.stop_services(app.processes)


def _untidy(processes: Sequence[str], worktrees: Sequence[str]) -> str:
    if processes:
        return f"processes were left and had to be ended: {'; '.join(processes)}"
    return f"worktrees of the finished item are left: {', '.join(worktrees)}" if worktrees else ""


@asynccontextmanager
async def _served(app: App) -> AsyncIterator[tuple["asyncio.Task[None]", str]]:
    """The web server and the worker, in this process; the address of the dashboard."""
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def ready(where: str) -> None:
        address.set_result(where)

    server = asyncio.create_task(serve(app, app.settings.host, app.settings.port, ready=ready))
    try:
        first: set[asyncio.Future[Any]] = {server, address}
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if not address.done():
            await server
            raise Interrupted("the server ended before it was ready")
        yield server, address.result()
    finally:
        server.cancel()
        await asyncio.wait({server})
        broken = None if server.cancelled() else server.exception()
    if broken is not None:
        raise broken


class _Drive:
    """Looks at the item again and again, tells what is new, and decides when a person is waited for."""

    def __init__(self, app: App, plan: Plan, witness: Witness, *, server: "asyncio.Task[None]") -> None:
        self._app = app
        self._plan = plan
        self._witness = witness
        self._server = server
        self._stage = ""
        self._told: set[int] = set()
        self._rounds = 0
        self._decided: set[tuple[object, object]] = set()

    async def run(self, sandbox: Sandbox, dashboard: str, health: str) -> Result:
        """File the item and go along with it until it is done and watched, or cannot go on."""
        began = self._app.clock.monotonic()
        request = sandbox.request()
        accepted = await self._app.desk.file_item(PROJECT, request.title, request.description, by=DECIDER)
        assert accepted.item is not None, accepted.outcome
        item = accepted.item.id
        self._witness.filed(item, request.title)
        view = await self._to_its_end(item, began)
        if view["stage"] == Stage.DONE:
            await self._settled()
        revision = await _revision(health)
        steps = steps_of(view)
        seconds = round(self._app.clock.monotonic() - began, 1)
        problem = problem_of(view, steps, revision)
        if seconds >= self._plan.deadline.total_seconds():
            problem = (
                f"not at its end after {self._plan.deadline.total_seconds():g} s; {problem}{waits(view)}"
            )
        hold = view["hold"]
        return Result(
            work_item=item,
            steps=steps,
            rounds=len(rows(view["rounds"])),
            merged_commit=str(view["merged"]) if view["merged"] else None,
            production_revision=revision,
            events=await self._app.store.transact(lambda tx: tx.events.count()),
            dashboard=dashboard,
            seconds=seconds,
            problem=problem,
            hold=hold if isinstance(hold, dict) else None,
            stage=str(view["stage"]),
            cost_usd=float(str(view["cost"])),
        )

    async def _to_its_end(self, item: str, began: float) -> Json:
        last = began + self._plan.deadline.total_seconds()
        while True:
            view = await self._look(item)
            self._tell(view, self._app.clock.monotonic() - began)
            hold = view["hold"]
            if isinstance(hold, dict):
                self._witness.held(str(hold["reason"]), str(hold["who_can_unblock"]))
                return view
            if is_over(view) or self._app.clock.monotonic() > last:
                return view
            await self._decide(item, view)
            await self._pause()

    async def _look(self, item: str) -> Json:
        app = self._app
        return await app.store.transact(lambda tx: item_view(tx, item, app.policy, app.clock.now()))

    async def _pause(self) -> None:
        """Raises ``Interrupted`` when the server was told to end, and what it ended with otherwise."""
        await self._app.clock.sleep(_LOOK)
        if self._server.done():
            await self._server
            raise Interrupted("the demo was ended")

    def _tell(self, view: Json, seconds: float) -> None:
        """What is new since the last look, in the order in which it happened."""
        for step in steps_of(view):
            if step.job not in self._told:
                self._told.add(step.job)
                self._witness.worked(step)
        rounds = rows(view["rounds"])
        for round_ in rounds[self._rounds :]:
            self._witness.sent_back(str(round_["gate"]), _findings(round_))
        self._rounds = len(rounds)
        if view["stage"] != self._stage:
            self._stage = str(view["stage"])
            self._witness.entered(self._stage, seconds)

    async def _decide(self, item: str, view: Json) -> None:
        """The two decisions that belong to a person, each once for what it is about."""
        explanation = view["explanation"]
        waits = isinstance(explanation, dict) and explanation["waits_for"] == Waiter.PERSON
        about = (view["stage"], view["epoch"])
        if not waits or about in self._decided:
            return
        match view["stage"]:
            case Stage.ANALYSIS:
                await self._app.desk.decide_analysis(item, granted=True, by=DECIDER)
                self._witness.decided("the demo approves the analysis on your behalf")
            case Stage.DEPLOY:
                await self._app.desk.confirm_deploy(item, by=DECIDER)
                self._witness.decided(
                    f"the demo confirms the deploy of {str(view['merged'])[:10]} on your behalf"
                )
        self._decided.add(about)

    async def _settled(self) -> None:
        """Wait until nothing is queued or running any more: comments are written, the worktree is gone."""
        app = self._app
        last = app.clock.monotonic() + _SETTLING.total_seconds()
        while app.clock.monotonic() < last:
            counts: Mapping[str, int] = await app.store.transact(lambda tx: tx.jobs.counts())
            if not counts.get("queued") and not counts.get("running"):
                return
            await self._pause()


async def _revision(health: str) -> str | None:
    """What the production service itself says over HTTP; ``None`` when it does not answer."""
    async with httpx.AsyncClient(timeout=2, trust_env=False) as client:
        try:
            said = json.loads((await client.get(health)).content)
        except (httpx.HTTPError, ValueError):
            return None
    revision = said.get("revision") if isinstance(said, dict) else None
    return str(revision) if revision else None


def _findings(round_: Json) -> list[str]:
    findings = round_["findings"]
    told = [str(finding) for finding in findings] if isinstance(findings, list) else []
    return told or [str(round_["reason"])]
