"""What pages and the API show, read in a few queries without waiting for a writer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, Select, func, select

from orchestrator.pipeline.ids import Epoch, TaskId, WorkItemId
from orchestrator.pipeline.items import Hold
from orchestrator.pipeline.stages import TERMINAL, Stage, Track
from orchestrator.ports.queue import WORK_KINDS, Job, JobStatus
from orchestrator.ports.store import VerdictRow
from orchestrator.store.database import Database
from orchestrator.store.facts import hold_of
from orchestrator.store.jobs import OPEN, SqlJobs
from orchestrator.store.tables import holds, job_deps, jobs, rounds, tasks, transitions, verdicts
from orchestrator.store.unit import Unit
from orchestrator.store.verdict_rows import row_of


@dataclass(frozen=True, slots=True)
class OpenJob:
    """Work that is queued or running for an item; ``since`` when it was started, or else when it is due."""

    agent: str
    status: JobStatus
    since: datetime


@dataclass(frozen=True, slots=True)
class Card:
    """One item on the board; the last four fields are what an explanation of its waiting needs."""

    task_id: TaskId
    id: WorkItemId
    title: str
    project: str
    stage: Stage
    track: Track
    epoch: Epoch
    entered_at: datetime
    rounds: int = 0
    pull_request: int | None = None
    hold: Hold | None = None
    job: OpenJob | None = None
    verdict: VerdictRow | None = None
    blocked_by: tuple[WorkItemId, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueView:
    """The queue at a glance; ``due`` counts queued jobs that only wait for a free slot."""

    counts: Mapping[str, int]
    due: int
    running: Sequence[Job]
    recent: Sequence[Job]


@dataclass(frozen=True, slots=True)
class LeadTime:
    """How long an item took from its creation to done."""

    id: WorkItemId
    project: str
    track: Track
    done_at: datetime
    took: timedelta


class SqlViews:
    """Read models over the store's tables."""

    def __init__(self, database: Database) -> None:
        """Read from ``database``."""
        self._database = database

    async def board(self, *, finished: int = 20) -> list[Card]:
        """Every open item and the ``finished`` items that ended last, oldest first."""
        return await self._database.perform(lambda unit: _board(unit, finished), read=True)

    async def queue_view(self, *, limit: int = 20) -> QueueView:
        """Counts by status, what runs, and the newest ``limit`` jobs."""
        return await self._database.perform(lambda unit: _queue(unit, limit), read=True)

    async def lead_times(self, *, limit: int = 200) -> list[LeadTime]:
        """The ``limit`` items that were done last, the newest first."""
        return await self._database.perform(lambda unit: _lead_times(unit, limit), read=True)


def _board(unit: Unit, finished: int) -> list[Card]:
    ended = tasks.c.stage.in_(TERMINAL)
    shown = list(unit.rows(select(tasks).where(~ended)))
    shown += unit.rows(select(tasks).where(ended).order_by(tasks.c.entered_at.desc()).limit(finished))
    ids = [row.id for row in shown]
    open_holds = _by_item(unit, select(holds).where(holds.c.task_id.in_(ids), holds.c.released_at.is_(None)))
    work = (jobs.c.kind.in_(WORK_KINDS), jobs.c.status.in_(OPEN), jobs.c.task_id.in_(ids))
    open_jobs = _by_item(unit, select(jobs).where(*work).order_by(jobs.c.id))
    counted = select(rounds.c.task_id, func.count().label("trips")).where(rounds.c.task_id.in_(ids))
    trips = _by_item(unit, counted.group_by(rounds.c.task_id))
    answers = _by_item(unit, _newest_verdicts().where(verdicts.c.task_id.in_(ids)))
    blockers = _blockers(unit)
    return [
        Card(
            task_id=row.id,
            id=row.work_item_id,
            title=row.title,
            project=row.repo,
            stage=Stage(row.stage),
            track=Track(row.track),
            epoch=row.epoch,
            entered_at=row.entered_at,
            rounds=int(trips[row.id].trips) if row.id in trips else 0,
            pull_request=row.pull_request,
            hold=hold_of(open_holds[row.id]) if row.id in open_holds else None,
            job=_open_job(open_jobs[row.id]) if row.id in open_jobs else None,
            verdict=row_of(answers[row.id]) if row.id in answers else None,
            blocked_by=blockers.get(row.id, ()),
        )
        for row in sorted(shown, key=lambda row: int(row.id))
    ]


def _by_item(unit: Unit, query: Select[Any]) -> dict[int, Row[Any]]:
    """The last row of each item."""
    return {row.task_id: row for row in unit.rows(query)}


def _newest_verdicts() -> Select[Any]:
    """The newest answer of each item in its present epoch."""
    here = (verdicts.c.task_id == tasks.c.id, verdicts.c.epoch == tasks.c.epoch)
    newest = select(func.max(verdicts.c.id)).select_from(verdicts.join(tasks, here[0]))
    return select(verdicts).where(verdicts.c.id.in_(newest.where(here[1]).group_by(verdicts.c.task_id)))


def _open_job(row: Row[Any]) -> OpenJob:
    return OpenJob(row.agent, JobStatus(row.status), row.started_at or row.available_at)


def _blockers(unit: Unit) -> dict[int, tuple[WorkItemId, ...]]:
    needed = select(job_deps.c.task_id, tasks.c.work_item_id).join(
        tasks, tasks.c.id == job_deps.c.depends_on_id
    )
    found: dict[int, tuple[WorkItemId, ...]] = {}
    for row in unit.rows(needed.where(tasks.c.stage.not_in(TERMINAL)).order_by(tasks.c.id)):
        found[row.task_id] = (*found.get(row.task_id, ()), row.work_item_id)
    return found


def _queue(unit: Unit, limit: int) -> QueueView:
    of_jobs = SqlJobs(unit)
    due = (jobs.c.status == JobStatus.QUEUED, jobs.c.available_at <= unit.now())
    return QueueView(
        counts=of_jobs.counts(),
        due=int(unit.value(select(func.count()).select_from(jobs).where(*due))),
        running=of_jobs.running(),
        recent=of_jobs.recent(limit),
    )


def _lead_times(unit: Unit, limit: int) -> list[LeadTime]:
    ended = func.max(transitions.c.at).label("done_at")
    done = (
        select(tasks.c.work_item_id, tasks.c.repo, tasks.c.track, tasks.c.created_at, ended)
        .join(transitions, transitions.c.task_id == tasks.c.id)
        .where(tasks.c.stage == Stage.DONE, transitions.c.to_stage == Stage.DONE)
        .group_by(tasks.c.id)
        .order_by(ended.desc())
        .limit(limit)
    )
    return [
        LeadTime(row.work_item_id, row.repo, Track(row.track), row.done_at, row.done_at - row.created_at)
        for row in unit.rows(done)
    ]
