"""What the forge tells by itself: the item that a commit belongs to is looked at at once."""

from orchestrator.engine.orders import look_at
from orchestrator.pipeline.ids import Commit
from orchestrator.ports.store import Store, Transaction


class ForgeSignals:
    """Turns the forge's events into looks; a signal that is lost is made up for by the gate's own delay."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def __call__(self, kind: str, project: str, commit: Commit) -> None:
        """A status of ``commit`` has changed, or its pull request was merged."""

        def ask(tx: Transaction) -> None:
            for item in tx.items.open(project):
                if item.head == commit:
                    tx.jobs.enqueue(look_at(item.task_id, trigger=f"forge:{kind}"))

        await self._store.transact(ask)
