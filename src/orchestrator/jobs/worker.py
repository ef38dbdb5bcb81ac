"""The worker: claims jobs, runs their handlers, and is the one place where an exception of a job ends."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from datetime import timedelta
from functools import partial
from typing import Final

import structlog

from orchestrator.errors import Conflict, Unavailable
from orchestrator.jobs.retry import Dead, Retry, after_failure
from orchestrator.ports.queue import WORK_KINDS, Done, Ending, Handler, Job, JobKind, Later, Queue, Settled

log = structlog.get_logger(__name__)

CONTROL_SLOTS: Final = 8
"""Looks, comments and alerts are short; they never wait for a slot that a long run occupies."""


class Worker:
    """Serves the queue with two lanes: ``max_concurrency`` slots for work, a few for everything else."""

    def __init__(
        self,
        *,
        queue: Queue,
        handlers: Mapping[JobKind, Handler],
        max_concurrency: int,
        poll: timedelta,
        raise_bugs: bool = False,
    ) -> None:
        self._queue = queue
        self._handlers = handlers
        self._poll = poll
        self._raise_bugs = raise_bugs
        self._lanes = {
            WORK_KINDS: _Lane(max_concurrency),
            frozenset(JobKind) - WORK_KINDS: _Lane(CONTROL_SLOTS),
        }
        self._stopping = False
        self._broken: BaseException | None = None
        self._room = asyncio.Event()

    @property
    def running(self) -> int:
        """How many jobs are being worked on."""
        return sum(len(lane.tasks) for lane in self._lanes.values())

    async def run(self) -> None:
        """Serve until ``stop``; raises what a handler raised when bugs are to be seen (tests)."""
        try:
            while not self._stopping:
                claimed = await self._claim_what_fits()
                if self._broken is not None:
                    raise self._broken
                if not claimed:
                    await self._idle(self._poll)
        finally:
            await self._hand_over()

    def stop(self) -> None:
        """Claim nothing more; ``run`` returns soon, running jobs are left to the next start."""
        self._stopping = True

    async def drain(self, deadline: timedelta) -> None:
        """Serve until nothing is due and nothing runs; raises ``TimeoutError`` after ``deadline``."""
        async with asyncio.timeout(deadline.total_seconds()):
            while True:
                claimed = await self._claim_what_fits()
                if self._broken is not None:
                    raise self._broken
                if not claimed and not self.running:
                    return
                if not claimed:
                    await self._idle(timedelta(milliseconds=20))

    async def _idle(self, longest: timedelta) -> None:
        """Wait for something new in the queue or a slot that became free, whichever is first."""
        self._room.clear()
        waiting = {
            asyncio.ensure_future(self._queue.wait(longest)),
            asyncio.ensure_future(self._room.wait()),
        }
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for future in waiting:
                future.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _claim_what_fits(self) -> bool:
        claimed = False
        for kinds, lane in self._lanes.items():
            while lane.has_room() and not self._stopping:
                job = await self._claim(kinds)
                if job is None:
                    break
                claimed = True
                lane.start(self._attempt(job), self._ended)
        return claimed

    async def _claim(self, kinds: frozenset[JobKind]) -> Job | None:
        try:
            return await self._queue.claim(kinds)
        except Unavailable as error:
            log.warning("nothing_claimed", reason=str(error))
            return None

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A slot is free; a task that broke (the queue did not take the job's end) ends the worker."""
        self._room.set()
        if not task.cancelled() and task.exception() is not None:
            self._broken = task.exception()

    async def _attempt(self, job: Job) -> None:
        """The error boundary: what a handler raises becomes a retry or the end of its job, logged once."""
        try:
            ending = await self._handlers[job.kind](job)
        except Exception as error:
            log.exception("job_failed", job=job.id, kind=job.kind, task=job.task_id, attempts=job.attempts)
            if self._raise_bugs:
                raise
            settle = partial(self._after_failure, job, error)
        else:
            settle = partial(self._settle, job, ending)
        await self._until_stored(job, settle)

    async def _until_stored(self, job: Job, settle: Callable[[], Awaitable[None]]) -> None:
        """A database that does not answer for a while must not cost what the handler has done."""
        while True:
            try:
                return await settle()
            except Conflict as error:
                # Somebody else was given the job, or ended it: what is stored of it stands.
                log.warning("job_taken_over", job=job.id, kind=job.kind, reason=str(error))
                return None
            except Unavailable as error:
                log.warning("job_not_settled", job=job.id, kind=job.kind, reason=str(error))
                await self._queue.wait(self._poll)

    async def _settle(self, job: Job, ending: Ending) -> None:
        match ending:
            case Done(result=result):
                await self._queue.finish(job, result)
            case Later(after=after, reason=reason):
                await self._queue.retry(job, after=after, error=reason, spend=False)
            case Settled():
                pass

    async def _after_failure(self, job: Job, error: Exception) -> None:
        match after_failure(error, attempts=job.attempts, max_attempts=job.max_attempts):
            case Retry(after=after, spend=spend):
                await self._queue.retry(job, after=after, error=_line(error), spend=spend)
            case Dead():
                await self._queue.fail(job, error=_line(error))

    async def _hand_over(self) -> None:
        """Leave running jobs as they are: their processes live on and the next start re-attaches."""
        tasks = [task for lane in self._lanes.values() for task in lane.tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Lane:
    """A bounded set of tasks."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self.tasks: set[asyncio.Task[None]] = set()

    def has_room(self) -> bool:
        return len(self.tasks) < self._slots

    def start(
        self, work: Coroutine[object, object, None], ended: Callable[[asyncio.Task[None]], None]
    ) -> None:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        task.add_done_callback(ended)


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:500]
