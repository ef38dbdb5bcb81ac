"""The local forge's CI: runs the contract's test command once for each head, in a clean clone.

A suite that cannot be started, runs out of time or is killed says nothing about the code (product §1): it is
run again ``RERUNS`` times, and then nobody gets an answer for ``PAUSE``.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from orchestrator.config.contract import Contract, Suite
from orchestrator.errors import AdapterError, BadInput, Unavailable
from orchestrator.forges.local.statuses import Status, Statuses
from orchestrator.pipeline.ids import Commit
from orchestrator.plumbing.git import Git
from orchestrator.plumbing.processes import (
    CommandSpec,
    ExitRecord,
    Processes,
    SupervisedRun,
    clean_environment,
    tail_text,
)
from orchestrator.plumbing.redaction import redact
from orchestrator.ports.clock import Clock
from orchestrator.ports.forge import CheckRun, Checks, CheckState

CONTEXT: Final = "ci/test"
RERUNS: Final = 2
PAUSE: Final = timedelta(minutes=5)
AT_ONCE: Final = 2
GRACE: Final = timedelta(seconds=5)
TAIL_CHARACTERS: Final = 4000
# Masking can shorten a text, and a character can take four bytes.
TAIL_BYTES: Final = 4 * TAIL_CHARACTERS

ContractFor = Callable[[str], Awaitable[Contract | None]]
"""Gives a project's contract as its base branch has it."""

Variables = Callable[[str, Commit], Mapping[str, str]]
"""What a contract command is told about a project's commit."""

OnEvent = Callable[[str, str, Commit], Awaitable[None]]
"""Is told of an event by its kind, project and commit."""


@dataclass(frozen=True, slots=True)
class Head:
    """A commit of a hosted project, and the bare repository that holds it."""

    project: str
    commit: Commit
    repository: Path


@dataclass(frozen=True, slots=True)
class Outside:
    """What the CI needs of the world: processes, time, the contract, and somebody to tell."""

    git: Git
    processes: Processes
    clock: Clock
    contract_for: ContractFor
    on_event: OnEvent
    variables: Variables


class Ci:
    """Runs suites in the background, at most ``AT_ONCE`` at a time, each found again after a restart."""

    def __init__(self, root: Path, statuses: Statuses, outside: Outside) -> None:
        self._root = root
        self._statuses = statuses
        self._outside = outside
        self._places = asyncio.Semaphore(AT_ONCE)
        self._running: dict[tuple[str, Commit], asyncio.Task[None]] = {}

    async def checks(self, head: Head) -> Checks:
        """What is known of the head; asking begins its suite when that was not done before.

        Raises:
            Unavailable: the suite could not be run, not even when tried again; later it is begun anew.
        """
        contract = await self._outside.contract_for(head.project)
        suite = None if contract is None else contract.test
        known = self._statuses.find(head.project, head.commit)
        if known is not None and known.decided:
            self._drop_ended(head)
            run = CheckRun(
                CONTEXT, known.state, known.description, str(self._directory(head)), known.log_tail
            )
            return Checks(known.state, (run,))
        if suite is None:
            return Checks(CheckState.NONE)
        if known is not None and known.gave_up and self._outside.clock.now() - known.changed_at < PAUSE:
            raise Unavailable(f"the suite cannot be run on {head.commit[:12]}: {known.description}")
        self._begin(head, suite)
        return Checks(CheckState.PENDING, (CheckRun(CONTEXT, CheckState.PENDING, "running"),))

    async def close(self) -> None:
        """Stop waiting; suites that run go on and are found again."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        self._running.clear()

    async def stop(self, project: str, commit: Commit) -> None:
        """End the commit's suite with everything it started; ended already is no change."""
        task = self._running.pop((project, commit), None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await self._outside.processes.stop_below(self._root / project / commit)

    def _begin(self, head: Head, suite: Suite) -> None:
        key = (head.project, head.commit)
        if key in self._running and not self._running[key].done():
            return
        ended = self._running.pop(key, None)
        if ended is not None:
            # A bug in the earlier attempt goes up to whoever asks again.
            ended.result()
        self._running[key] = asyncio.create_task(self._carry_out(head, suite))

    async def _carry_out(self, head: Head, suite: Suite) -> None:
        known = self._statuses.find(head.project, head.commit)
        if known is not None and known.gave_up:
            await asyncio.to_thread(shutil.rmtree, self._directory(head), ignore_errors=True)
            known = None
        first = 1 if known is None else known.attempt
        async with self._places:
            for attempt in range(first, RERUNS + 2):
                self._statuses.put(head.project, head.commit, CheckState.PENDING, attempt=attempt)
                status = await self._attempt(head, suite, attempt)
                if status.decided:
                    break
        await self._outside.on_event("status", head.project, head.commit)

    async def _attempt(self, head: Head, suite: Suite, attempt: int) -> Status:
        place = self._directory(head) / str(attempt)
        clone = self._directory(head) / f"clone-{attempt}"
        try:
            run = await self._outside.processes.attach(place)
            if run is None:
                run = await self._start(head, suite, place, clone)
            record = await run.wait()
        except (AdapterError, BadInput) as error:
            state, description, tail = CheckState.NONE, redact(str(error)), ""
        else:
            state, description = _state(record), _description(record)
            tail = redact(tail_text(run.log_path, TAIL_BYTES))[-TAIL_CHARACTERS:]
        await asyncio.to_thread(shutil.rmtree, clone, ignore_errors=True)
        return self._statuses.put(
            head.project, head.commit, state, attempt=attempt, description=description, log_tail=tail
        )

    async def _start(self, head: Head, suite: Suite, place: Path, clone: Path) -> SupervisedRun:
        git = self._outside.git
        await asyncio.to_thread(shutil.rmtree, clone, ignore_errors=True)
        clone.parent.mkdir(parents=True, exist_ok=True)
        # Shared objects: the clone costs nothing, and what the suite commits does not get into the forge.
        await git.run("clone", "--quiet", "--shared", "--no-checkout", "--", str(head.repository), str(clone))
        await git.run("remote", "remove", "origin", cwd=clone)
        await git.run("checkout", "--quiet", "--detach", head.commit, cwd=clone)
        env = _environment(self._outside.variables(head.project, head.commit))
        spec = CommandSpec(suite.run.argv_in(env), clone, env, limit=suite.timeout, grace=GRACE)
        return await self._outside.processes.start(place, spec)

    def _drop_ended(self, head: Head) -> None:
        key = (head.project, head.commit)
        if key in self._running and self._running[key].done():
            del self._running[key]

    def _directory(self, head: Head) -> Path:
        return self._root / head.project / head.commit


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The clean environment, with the tools that are installed beside this program found first."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    return clean_environment({**variables, "PATH": path, "CI": "true"})


def _state(record: ExitRecord) -> CheckState:
    if not record.ran or record.signal is not None:
        return CheckState.NONE
    return CheckState.SUCCESS if record.ok else CheckState.FAILURE


def _description(record: ExitRecord) -> str:
    lasted = "" if record.duration is None else f" after {record.duration.total_seconds():.1f} s"
    if record.error is not None:
        return record.error
    if record.timed_out:
        return f"time limit reached{lasted}"
    if record.signal is not None or record.stopped:
        return f"ended by {record.signal or 'a request to stop'}{lasted}"
    return f"exit code {record.exit_code}{lasted}"
