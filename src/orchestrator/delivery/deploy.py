"""Changing production: one start for one confirm, and the same answer whenever it is asked for (ORCH-036).

The sentinel directory of a deployment is named by the merged commit and the epoch. ``initiated`` says that
the hook may have been started, ``hook-<n>`` is the directory of its run, ``result`` holds its exit code. A
hook that hands the work to another host may write ``result`` itself: its path is in ``ORCH_DEPLOY_RESULT``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final

from orchestrator.config.contract import Deploy
from orchestrator.delivery.commands import CommandResult, ContractCommands
from orchestrator.delivery.sources import Sources
from orchestrator.delivery.steps import Steps, Surround, not_run
from orchestrator.errors import Unavailable
from orchestrator.pipeline.ids import Commit, Epoch, WorkItemId
from orchestrator.plumbing.processes import ExitRecord, Processes, was_begun
from orchestrator.ports.clock import Clock

RESULT_VARIABLE: Final = "ORCH_DEPLOY_RESULT"


class Status(StrEnum):
    """The two verdicts of a command; every runner's own words are translations of them."""

    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


def map_exit_code_to_status(code: object) -> Status:
    """The one mapping: 0 is SUCCESS; every other code, and none at all, is FAILED (ORCH-115 D4)."""
    is_zero = isinstance(code, int) and not isinstance(code, bool) and code == 0
    return Status.SUCCESS if is_zero else Status.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployOrder:
    """What a person confirmed: this merged commit, in this epoch."""

    project: str
    work_item: WorkItemId
    epoch: Epoch
    merged: Commit
    deploy: Deploy
    limit: timedelta


class HookState(StrEnum):
    """How far the hook got."""

    ENDED = "ended"
    PENDING = "pending"
    NOT_STARTED = "not started"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class HookEnd:
    """What is known of the hook; only an ended one has an exit code."""

    state: HookState
    exit_code: int | None = None
    output: str = ""
    reason: str = ""
    duration: timedelta = timedelta()


class DeployHook:
    """Starts the hook of a contract once, and finds out how it ended."""

    def __init__(
        self,
        *,
        commands: ContractCommands,
        processes: Processes,
        sources: Sources,
        clock: Clock,
        state_dir: Path,
        patience: timedelta,
    ) -> None:
        self._commands = commands
        self._processes = processes
        self._sources = sources
        self._clock = clock
        self._state_dir = state_dir
        self._patience = patience

    def sentinel(self, order: DeployOrder) -> Path:
        """The directory of this deployment."""
        place = self._state_dir / f".deploy-state-{order.project}" / order.work_item
        return place / f"{order.merged}-e{order.epoch}"

    def variables(self, order: DeployOrder) -> dict[str, str]:
        """What the commands of this deployment are told."""
        known = self._commands.variables(
            order.project, revision=order.merged, work_item=order.work_item, environment="production"
        )
        return {**known, RESULT_VARIABLE: str(self.sentinel(order) / "result")}

    async def steps(self, order: DeployOrder) -> Steps:
        """Runs further commands of this deployment, in a clean checkout of the merged commit.

        Raises:
            Unavailable: the checkout cannot be made.
        """
        sentinel = self.sentinel(order)
        cwd = await self._sources.provide(order.project, order.merged, sentinel / "checkout")
        return Steps(self._commands, Surround(sentinel, cwd, order.limit, self.variables(order)))

    async def clear(self, order: DeployOrder) -> None:
        """Remove the checkout when nothing works in it any more; the sentinels stay."""
        await self._sources.remove(self.sentinel(order) / "checkout")

    async def carry_out(self, order: DeployOrder) -> HookEnd:
        """Start the hook unless it was started, and wait for its end (phases B and C).

        Cancelling leaves the hook at work. Raises:
            Malformed: its run directory is damaged.
        """
        sentinel = self.sentinel(order)
        place = _present_run(sentinel)
        known = _code_in(sentinel / "result")
        if known is not None:
            # What the log says is read again through the run itself, which has ended.
            told = await self._result_of(order, place) if was_begun(place) else not_run("")
            return HookEnd(HookState.ENDED, known, told.output, duration=told.duration)
        result = await self._result_of(order, place)
        if result.ran:
            _write(sentinel / "result", f"{result.exit_code}\n")
            return HookEnd(HookState.ENDED, result.exit_code, result.output, duration=result.duration)
        record = await self._record(place)
        if record is None or _was_never_started(record):
            _void(place, record)
            return HookEnd(HookState.NOT_STARTED, reason=result.reason)
        if record.lost and self._may_still_report(sentinel):
            return HookEnd(HookState.PENDING, reason="the hook has left no result yet")
        return HookEnd(HookState.UNKNOWN, output=result.output, reason=result.reason)

    async def _result_of(self, order: DeployOrder, place: Path) -> CommandResult:
        """Start the hook in its run directory, or find it there."""
        sentinel = self.sentinel(order)
        cwd = sentinel / "checkout"
        if await self._processes.attach(place) is None:
            try:
                cwd = await self._sources.provide(order.project, order.merged, cwd)
            except Unavailable as error:
                return not_run(str(error))
            self._note_start(sentinel)
        steps = Steps(self._commands, Surround(sentinel, cwd, order.limit, self.variables(order)))
        return await steps.run(place.name, order.deploy.run, keep_children=True)

    async def _record(self, place: Path) -> ExitRecord | None:
        run = await self._processes.attach(place)
        return None if run is None else await run.wait()

    def _note_start(self, sentinel: Path) -> None:
        initiated = sentinel / "initiated"
        if not initiated.exists():
            _write(initiated, json.dumps({"at": self._clock.now().isoformat()}) + "\n")

    def _may_still_report(self, sentinel: Path) -> bool:
        since = _instant_in(sentinel / "initiated")
        return since is not None and self._clock.now() - since < self._patience


def sentinel_facts(path: Path) -> Mapping[str, object]:
    """The JSON object in a sentinel file; empty when there is none."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def _present_run(sentinel: Path) -> Path:
    """The run directory that counts: those before it hold starts that are known to have failed."""
    number = 1
    while (sentinel / f"hook-{number}" / "void").exists():
        number += 1
    return sentinel / f"hook-{number}"


def _void(place: Path, record: ExitRecord | None) -> None:
    if record is not None:
        (place / "void").touch()


def _was_never_started(record: ExitRecord) -> bool:
    """Whether the system refused to execute the hook, so that production cannot have changed."""
    ended = record.exit_code is not None or record.timed_out or record.stopped
    return not ended and not record.lost


def _code_in(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="utf-8").strip())
    except (FileNotFoundError, ValueError):
        return None


def _instant_in(path: Path) -> datetime | None:
    try:
        return datetime.fromisoformat(str(sentinel_facts(path)["at"]))
    except (KeyError, ValueError):
        return None


def _write(path: Path, text: str) -> None:
    """Write a sentinel so that a reader sees all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
