"""`orch demo`: the whole road of a work item in one process, on a sample service, in under a minute."""

import json as json_module
import sys
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.output import AsJson, print_json, remark
from orchestrator.cli.session import chosen_settings, run_until_told
from orchestrator.errors import BadInput

if TYPE_CHECKING:
    from orchestrator.cli.demo_screen import Screen
    from orchestrator.config.settings import Settings
    from orchestrator.demo.driver import Plan
    from orchestrator.demo.results import Result
    from orchestrator.demo.sandbox import Sandbox


DEMO_BUDGET_USD = 5.0
"""What a real agent may cost in the demo, unless ORCH_BUDGETS_JSON says otherwise."""


class Failing(StrEnum):
    """Where a demonstration may fail."""

    TESTS = "tests"
    STAGING = "staging"
    DEPLOY = "deploy"
    REVIEW = "review"


class Agent(StrEnum):
    """Who does the work of the roles."""

    SCRIPT = "script"
    CLAUDE = "claude"
    CODEX = "codex"


def demo(
    *,
    fail: Annotated[Failing | None, typer.Option("--fail", help="Show a failure and its path.")] = None,
    hold: Annotated[bool, typer.Option("--hold", help="Keep dashboard and services until Ctrl-C.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the demo's directory.")] = False,
    home: Annotated[
        Path | None, typer.Option("--home", metavar="DIR", help="A new directory to use, and keep.")
    ] = None,
    agent: Annotated[
        Agent, typer.Option("--agent", help="The scripted agent, or a real CLI (it costs money).")
    ] = Agent.SCRIPT,
    port: Annotated[
        int | None, typer.Option("--port", min=1, max=65535, help="Port of the dashboard; else a free one.")
    ] = None,
    deadline: Annotated[
        int | None, typer.Option("--deadline", min=1, metavar="SECONDS", help="When to give up.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Drive a sample work item from created to done: reviewed, tested, merged, deployed and watched."""
    from orchestrator.cli.demo_screen import Screen
    from orchestrator.demo.driver import Plan
    from orchestrator.demo.sandbox import Sandbox

    _refuse_taken(port)
    if fail is not None and agent is not Agent.SCRIPT:
        raise BadInput(f"only the scripted agent fails on demand; leave out --fail {fail} or --agent {agent}")
    sandbox = Sandbox.made(home)
    kept = keep or hold or home is not None
    try:
        settings = _settings(sandbox, port, agent)
        plan = Plan(settings, fail=fail or "", deadline=_deadline(deadline, agent), stay=hold)
        result = _demonstrate(sandbox, plan, Screen(sys.stderr if json else sys.stdout), json=json)
    finally:
        if kept:
            remark(f"everything of the demo is kept in {sandbox.root}")
        else:
            sandbox.remove()
    if not result.ok:
        raise typer.Exit(1)


def _demonstrate(sandbox: "Sandbox", plan: "Plan", screen: "Screen", *, json: bool) -> "Result":
    """Run it and print the result once: before the stay when there is one, else when all is put away."""
    from orchestrator.demo.driver import Interrupted, demonstrate
    from orchestrator.plumbing.logs import configure_logging

    shown: list[Result] = []

    def show(result: "Result") -> None:
        shown.append(result)
        screen.summed_up(result)
        if json:
            print_json(result.as_json())
            sys.stdout.flush()
        if plan.stay and len(shown) == 1:
            screen.said("dashboard and services stay until Ctrl-C")

    # The screen tells what happens; the log only what went wrong.
    configure_logging("error", json=False, stream=sys.stderr)
    try:
        result = run_until_told(demonstrate(sandbox, plan, screen, shown=show))
    except Interrupted as error:
        raise KeyboardInterrupt from error
    if result is None:
        raise KeyboardInterrupt
    if not shown:
        show(result)
    return result


def _settings(sandbox: "Sandbox", port: int | None, agent: Agent) -> "Settings":
    """Settings of the demo alone; of the person's own only how to reach a real agent and what it may cost."""
    from orchestrator.config.settings import Settings
    from orchestrator.plumbing.sockets import free_ports

    own, staging = free_ports(2)
    values: dict[str, object] = {
        "home": sandbox.home,
        "port": port or own,
        "staging_port": staging,
        "poll_interval": 0.2,
    }
    if agent is Agent.SCRIPT:
        own_agent = {"agent_cli": "script", "agent_command": str(sandbox.agent)}
        return Settings.model_validate({**values, **own_agent})
    given = chosen_settings()
    theirs = {
        name: getattr(given, name)
        for name in given.model_fields_set
        if name.startswith(("agent_", "budgets_", "breaker_"))
    }
    if given.agent_cli != agent.value:
        # The executable that is named for another kind of CLI is not this one.
        theirs["agent_command"] = ""
    budgets = given.budgets_json or json_module.dumps({"item": {"cost_usd": DEMO_BUDGET_USD}})
    return Settings.model_validate({**values, **theirs, "agent_cli": agent.value, "budgets_json": budgets})


def _deadline(seconds: int | None, agent: Agent) -> timedelta:
    from orchestrator.demo.driver import DEADLINE, PATIENCE

    if seconds is not None:
        return timedelta(seconds=seconds)
    return DEADLINE if agent is Agent.SCRIPT else PATIENCE


def _refuse_taken(port: int | None) -> None:
    from orchestrator.cli.serve import refuse_taken_port

    if port is not None:
        refuse_taken_port("127.0.0.1", port)
