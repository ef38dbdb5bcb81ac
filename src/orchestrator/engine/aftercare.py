"""Aftercare: the production verdict closes the loop (ORCH-021, product §4 "Deploy FAILED")."""

from collections.abc import Mapping

from orchestrator.engine.cases import load_case
from orchestrator.engine.commitment import Commitment
from orchestrator.engine.orders import cleanup
from orchestrator.pipeline.decisions import SendBack
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.stages import Stage
from orchestrator.pipeline.verdicts import Evidence, Failed
from orchestrator.ports.clock import Clock
from orchestrator.ports.queue import Done, Ending, Handler, Job
from orchestrator.ports.store import Store, Transaction

DEMAND = (
    "Production was degraded by this change and was rolled back. "
    "Repair it and add a regression test: {reason}"
)


class Aftercare:
    """Lets the post-deploy monitor tick, and re-opens an item whose deploy had to be rolled back."""

    def __init__(self, *, monitor: Handler, store: Store, commitment: Commitment, clock: Clock) -> None:
        self._monitor = monitor
        self._store = store
        self._commitment = commitment
        self._clock = clock

    async def watch(self, job: Job) -> Ending:
        """One tick of the monitor; its last word may send the item back to development."""
        ending = await self._monitor(job)
        if isinstance(ending, Done):
            result = ending.result
            await self._store.transact(lambda tx: self._conclude(tx, job, result))
        return ending

    def _conclude(self, tx: Transaction, job: Job, result: Mapping[str, object]) -> None:
        """The worktree stays until the monitor's report is written, and while a re-opened item needs it."""
        item = tx.items.get(job.task_id) if job.task_id is not None else None
        if item is None:
            return
        if result.get("reopen"):
            self._reopen(tx, job, str(result.get("reason") or "degraded"))
        else:
            tx.jobs.enqueue(cleanup(item))

    def _reopen(self, tx: Transaction, job: Job, reason: str) -> None:
        """A new branch is cut from the base, and the evidence goes to the developer word for word."""
        now = self._clock.now()
        case = load_case(tx, job.task_id, now) if job.task_id is not None else None
        if case is None or case.item.stage is not Stage.DONE:
            return
        if case.item.code is None or case.item.head is None:
            return
        failed = Failed(
            code=case.item.code,
            commit=case.item.head,
            reason=reason,
            findings=(DEMAND.format(reason=reason),),
            evidence=Evidence(source="16-post-deploy-log.md", producer="post-deploy-monitor"),
        )
        back = SendBack(Stage.DEVELOPMENT, GateName.DEPLOY_STATUS, failed)
        self._commitment.apply(tx, case, back, now=now, trigger="post-deploy-monitor")
