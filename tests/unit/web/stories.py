"""Telling the store what happened to an item, moment by moment, as the engine would have told it."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Self

from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.ids import CodeId, Epoch, WorkItemId
from orchestrator.pipeline.items import Hold, WorkItem
from orchestrator.pipeline.rounds import Round
from orchestrator.pipeline.stages import Role, Stage, role_in
from orchestrator.pipeline.verdicts import Evidence, Failed, FailureClass, Inconclusive, Passed, WaitsFor
from orchestrator.ports.agent import Usage
from orchestrator.ports.queue import Job, JobKind, NewJob
from orchestrator.ports.store import NewRun, TransitionRow, VerdictRow
from tests.unit.web.house import House


class Story:
    """One item; each telling takes ``step`` of time, so that the past has an order."""

    def __init__(self, house: House, item: WorkItem, started: timedelta) -> None:
        self.house, self.item, self.behind = house, item, started
        self.run = 0

    @classmethod
    async def begin(
        cls,
        house: House,
        title: str,
        *,
        project: str = "sample",
        description: str = "",
        labels: Sequence[str] = (),
        started: timedelta = timedelta(minutes=30),
        blocked_by: Sequence[str] = (),
    ) -> Self:
        house.clock.behind = started
        accepted = await house.services.desk.file_item(
            project, title, description, labels=labels, blocked_by=blocked_by, by="anna"
        )
        house.clock.behind = timedelta()
        assert accepted.item is not None
        return cls(house, accepted.item, started)

    @property
    def id(self) -> WorkItemId:
        return self.item.id

    async def pass_time(self, step: timedelta) -> None:
        self.behind = max(self.behind - step, timedelta())

    async def tell(self, action):
        self.house.clock.behind = self.behind
        result = await self.house.store.transact(action)
        item = await self.house.store.transact(lambda tx: tx.items.by_id(self.item.id))
        assert item is not None
        self.item = item
        self.house.clock.behind = timedelta()
        return result

    async def commit(self, files: Mapping[str, str]) -> None:
        """Documents below the item's directory, or other files when the path begins with a slash."""
        below = f"docs/work-items/{self.id}"
        paths = {
            path[1:] if path.startswith("/") else f"{below}/{path}": text for path, text in files.items()
        }
        head = self.house.shelf.put(self.item.branch, paths)
        changed = any(path.startswith("/") for path in files)
        code = CodeId(f"code-{head[:8]}") if changed or self.item.code is None else self.item.code
        await self.tell(lambda tx: tx.items.note_head(self.item.task_id, head=head, code=code))

    async def order(self, producer: str = "") -> Job:
        """Queue the work of the stage and begin it."""
        role = producer or role_in(self.item.stage) or ""
        await self.tell(
            lambda tx: tx.jobs.enqueue(
                NewJob(
                    kind=JobKind.PRODUCE,
                    task_id=self.item.task_id,
                    project=self.item.project,
                    agent=role,
                    stage=self.item.stage,
                    epoch=self.item.epoch,
                    commit=self.item.head,
                )
            )
        )
        self.house.clock.behind = self.behind
        job = await self.house.queue.claim([JobKind.PRODUCE])
        self.house.clock.behind = timedelta()
        assert job is not None
        assert job.task_id == self.item.task_id
        return job

    async def start_run(self, job: Job, log: str = "", model: str = "claude-opus-4") -> int:
        head = self.item.head or self.house.shelf.heads["main"]
        new = NewRun(role=job.agent, model=model, effort="high", log_path="", start_commit=head)
        run = await self.tell(lambda tx: tx.runs.start(job, new))
        (self.house.logs / f"{run.id}.log").write_text(log)
        return int(run.id)

    async def work(
        self,
        took: timedelta,
        *,
        producer: str = "",
        summary: str = "",
        files: Mapping[str, str] | None = None,
        usage: Usage | None = None,
        verdict: str = "",
    ) -> None:
        """Order the work, let it take its time, and deliver ``files``."""
        job = await self.order(producer)
        run = await self.start_run(job, "thinking …\nwriting files\ndone\n") if usage else None
        await self.pass_time(took)
        if files:
            await self.commit(files)
        result: dict[str, object] = {
            "producer": producer or job.agent,
            "summary": summary,
            "verdict": verdict,
            "delivered": self.item.head or "",
            "code": self.item.code or "",
        }
        await self.tell(lambda tx: tx.jobs.finish(job, result))
        if run is not None and usage is not None:
            await self.tell(lambda tx: tx.runs.end(run, exit_code=0, outcome="finished", usage=usage))

    async def passed(self, gate: GateName, detail: str, source: str = "") -> None:
        head, code = self.item.head, self.item.code
        assert head is not None
        assert code is not None
        await self._verdict(gate, Passed(code, head, Evidence(source, detail=detail)))

    async def failed(
        self, gate: GateName, reason: str, findings: Sequence[str] = (), source: str = ""
    ) -> None:
        head, code = self.item.head, self.item.code
        assert head is not None
        assert code is not None
        await self._verdict(gate, Failed(code, head, reason, tuple(findings), evidence=Evidence(source)))

    async def unclear(
        self, gate: GateName, reason: str, waits_for: WaitsFor = WaitsFor.TIME, times: int = 1
    ) -> None:
        for _ in range(times):
            await self._verdict(gate, Inconclusive(reason, timedelta(seconds=30), waits_for))
            await self.pass_time(timedelta(seconds=5))

    async def _verdict(self, gate: GateName, verdict) -> None:
        now = self.house.clock.now() - self.behind
        row = VerdictRow(gate, verdict, self.item.epoch, self.item.stage, now)
        await self.tell(lambda tx: tx.facts.add_verdict(self.item.task_id, row))

    async def advance(
        self, to: Stage, *, evidence: Mapping[str, str] | None = None, by: str = "gates"
    ) -> None:
        await self._move(to, "advance", f"to {to}", self.item.epoch, evidence or {}, by)

    async def send_back(self, gate: GateName, reason: str, findings: Sequence[str], link: str = "") -> None:
        number = len(await self.tell(lambda tx: tx.facts.rounds(self.item.task_id))) + 1
        sent = Round(
            number,
            gate,
            Role.DEVELOPER,
            reason,
            tuple(findings),
            ("P3: name the fixture after what it holds",),
            link,
            self.item.code,
            f"mark-{number}",
        )
        await self.tell(lambda tx: tx.facts.add_round(self.item.task_id, sent))
        epoch = Epoch(self.item.epoch + 1)
        await self._move(Stage.DEVELOPMENT, "send_back", f"{gate}: {reason}", epoch, {}, "gates")

    async def hold(self, reason: str, failure: FailureClass | None = None) -> None:
        now = self.house.clock.now() - self.behind
        hold = Hold(reason, now, "an operator (orch item retry, or stop)", failure)
        await self.tell(lambda tx: tx.facts.put_on_hold(self.item.task_id, hold))

    async def merge(self, files: Mapping[str, str] | None = None) -> None:
        commit = self.house.shelf.put("main", files or {f"merged-{self.id}": "yes"})
        await self.tell(lambda tx: tx.items.note_merged(self.item.task_id, commit))

    async def _move(
        self, to: Stage, kind: str, reason: str, epoch: Epoch, evidence: Mapping[str, str], by: str
    ) -> None:
        now = self.house.clock.now() - self.behind
        row = TransitionRow(now, self.item.stage, to, epoch, kind, reason, by, self.item.head, dict(evidence))

        def move(tx):
            tx.items.move(self.item, to=to, epoch=epoch)
            tx.facts.add_transition(self.item.task_id, row)

        await self.tell(move)
