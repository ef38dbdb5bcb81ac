"""The store, the queue and the leases of one process, on SQLite or PostgreSQL."""

from orchestrator.store.adapter import SqlStore
from orchestrator.store.backups import backup
from orchestrator.store.leases import SqlLeases
from orchestrator.store.owners import Owner, is_alive, this_process
from orchestrator.store.queue_sqlite import SqlQueue

__all__ = (
    "Owner",
    "SqlLeases",
    "SqlQueue",
    "SqlStore",
    "backup",
    "is_alive",
    "this_process",
)
