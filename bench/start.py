"""From an accepted event to the first instruction of the agent that it starts, the worktree included."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from figures import Figure, Part, median, p99
from ground import git, installation, make_repository, settings_below
from road import working
from spawn_latency import bare, stamp_command

from orchestrator.bootstrap import App
from orchestrator.pipeline.items import WorkItem
from orchestrator.ports.agent import RunView
from orchestrator.ports.queue import JobKind, JobStatus
from orchestrator.ports.tracker import Ticket

MEDIAN, P99 = 60.0, 150.0
BARE_EVERY, FILED_EVERY = 4, 10
DEADLINE = timedelta(seconds=20)
LOOK, TIDY_LOOK = 0.04, 0.01
BUDGET_S = 90.0
USUAL_ADD = 19.0
"""Milliseconds of `git worktree add` on the machine for which the aims were set."""
TITLE = "Answer the question of everything"


async def measure(root: Path, events: int) -> Part:
    """One fresh item after the other, each started by an event; beside it what the system charges."""
    upstream = make_repository(root / "upstream")
    stamp = stamp_command(root)
    settings = settings_below(root / "home", agent_command=stamp[0])
    started: list[Start] = []
    filed: list[float] = []
    added: list[float] = []
    spawned: list[float] = []
    async with installation(settings, {"start": upstream}) as app, working(app):
        until = time.monotonic() + BUDGET_S
        for number in range(-3, events):
            told = await _start(app, await _ticket(app))
            if number >= 0:
                started.append(told)
            if number >= 0 and number % BARE_EVERY == 0:
                added.append(await asyncio.to_thread(_worktree_add, app, root / f"bare-{number}"))
                spawned.append(await asyncio.to_thread(bare, stamp))
            if number >= 0 and number % FILED_EVERY == 0:
                filed.append((await _file(app)).from_event)
            if time.monotonic() > until:
                break
    return _part(started, filed, added=added, spawned=spawned)


@dataclass(frozen=True, slots=True)
class Start:
    """Milliseconds to the first instruction of an agent, from the event and from the claim of its job."""

    from_event: float
    from_claim: float


def _part(starts: list[Start], filed: list[float], *, added: list[float], spawned: list[float]) -> Part:
    started = [start.from_event for start in starts]
    claimed = [start.from_claim for start in starts]
    part = Part("Event → first instruction of the started agent, worktree included")
    part.notes.append(f"{len(started)} fresh items; the agent's first act is to write the monotonic time")
    bottom = median(added) + median(spawned)
    in_adds = median(added)
    rest = f"{median(started) - bottom:.0f} ms are ours beside worktree add and spawn ({bottom:.0f} ms)"
    part.add(Figure("event accepted → first instruction, median", median(started), "ms", MEDIAN, costs=rest))
    part.add(Figure("event accepted → first instruction, p99", p99(started), "ms", P99, costs=rest))
    part.add(
        Figure("the median in units of git worktree add", median(started) / in_adds, "", MEDIAN / USUAL_ADD)
    )
    part.add(Figure("the p99 in units of git worktree add", p99(started) / in_adds, "", P99 / USUAL_ADD))
    part.add(Figure("job claimed → first instruction, median", median(claimed), "ms"))
    part.add(Figure("job claimed → first instruction, p99", p99(claimed), "ms"))
    part.add(Figure("claim → exec in units of worktree add and spawn", median(claimed) / bottom, ""))
    part.add(Figure("ticket filed with us → first instruction, median", median(filed), "ms"))
    part.add(Figure("bare git worktree add, median", median(added), "ms"))
    part.add(Figure("bare spawn of the same agent, median", median(spawned), "ms"))
    return part


async def _ticket(app: App) -> Ticket:
    """A ticket that stands on the board already, as when a tracker tells of it."""
    return await app.board.file("start", TITLE, "", author="bench")


async def _start(app: App, ticket: Ticket) -> Start:
    began = time.monotonic_ns()
    accepted = await app.desk.start(ticket, source="bench")
    return await _first_instruction(app, accepted.item, began)


async def _file(app: App) -> Start:
    began = time.monotonic_ns()
    accepted = await app.desk.file_item("start", TITLE, by="bench")
    return await _first_instruction(app, accepted.item, began)


async def _first_instruction(app: App, item: WorkItem | None, began: int) -> Start:
    """Milliseconds until the agent's stamp; afterwards the item is stopped and what it left is gone."""
    if item is None:
        raise RuntimeError("the item was not started")
    async with asyncio.timeout(DEADLINE.total_seconds()):
        runs = await _ended_runs(app, item)
        first = int(Path(runs[-1].log_path).read_text().split()[0])
        claim = await _claimed_at(app, item)
        await app.desk.stop(item.id, by="bench")
        await _until_tidy(app, item)
    return Start(from_event=(first - began) / 1e6, from_claim=(first - claim) / 1e6)


async def _claimed_at(app: App, item: WorkItem) -> int:
    """When the job of the run was claimed, on the clock of the stamp."""
    jobs = await app.store.transact(lambda tx: tx.jobs.of_item(item.task_id))
    (claimed,) = [job.started_at for job in jobs if job.kind is JobKind.PRODUCE and job.started_at]
    return int(claimed.timestamp() * 1e9) - (time.time_ns() - time.monotonic_ns())


async def _ended_runs(app: App, item: WorkItem) -> Sequence[RunView]:
    """Looked for seldom, so that looking costs nothing of what is measured."""
    while True:
        await asyncio.sleep(LOOK)
        runs = await app.store.transact(lambda tx: tx.runs.of_item(item.task_id))
        if runs and all(run.finished_at is not None for run in runs):
            return runs


async def _until_tidy(app: App, item: WorkItem) -> None:
    while True:
        await asyncio.sleep(TIDY_LOOK)
        jobs = await app.store.transact(lambda tx: tx.jobs.of_item(item.task_id))
        ended = all(job.status not in (JobStatus.QUEUED, JobStatus.RUNNING) for job in jobs)
        if ended and any(job.kind is JobKind.CLEANUP for job in jobs):
            return


def _worktree_add(app: App, place: Path) -> float:
    """The same worktree by hand, from the same mirror."""
    mirror = app.settings.repos_dir / "start.git"
    commit = git("rev-parse", "refs/remotes/origin/main", cwd=mirror)
    began = time.perf_counter()
    git("worktree", "add", "--quiet", "--detach", str(place), commit, cwd=mirror)
    took = (time.perf_counter() - began) * 1000
    git("worktree", "remove", "--force", str(place), cwd=mirror)
    return took
