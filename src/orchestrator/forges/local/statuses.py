"""The ledger of commit statuses: what the forge's own CI found out about each head."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.dialects.sqlite import insert

from orchestrator.forges.local.tables import forge_statuses
from orchestrator.pipeline.ids import Commit
from orchestrator.plumbing.sqlite import SqliteFile
from orchestrator.ports.clock import Clock
from orchestrator.ports.forge import CheckState


@dataclass(frozen=True, slots=True)
class Status:
    """What is known of one commit; ``NONE`` when the newest attempt says nothing about the code."""

    attempt: int
    state: CheckState
    changed_at: datetime
    description: str = ""
    log_tail: str = ""

    @property
    def decided(self) -> bool:
        """The suite ran to its end, so the code has its answer."""
        return self.state in {CheckState.SUCCESS, CheckState.FAILURE}

    @property
    def gave_up(self) -> bool:
        """No attempt could say anything about the code, and none is going on."""
        return self.state is CheckState.NONE


class Statuses:
    """One status for each commit of each hosted project."""

    def __init__(self, database: SqliteFile, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def find(self, project: str, commit: Commit) -> Status | None:
        """What is known of the commit; None when its suite was never begun."""
        table = forge_statuses.c
        wanted = select(forge_statuses).where(table.project == project, table.commit_id == commit)
        with self._database.transaction() as connection:
            row = connection.execute(wanted).one_or_none()
        return None if row is None else _status(row)

    def unfinished(self) -> list[tuple[str, Commit]]:
        """The commits whose suite was begun and has no answer yet."""
        pending = select(forge_statuses).where(forge_statuses.c.state == CheckState.PENDING)
        with self._database.transaction() as connection:
            return [(row.project, Commit(row.commit_id)) for row in connection.execute(pending)]

    def put(
        self,
        project: str,
        commit: Commit,
        state: CheckState,
        *,
        attempt: int,
        description: str = "",
        log_tail: str = "",
    ) -> Status:
        """Write down what is known of the commit now."""
        now = self._clock.now()
        known = {
            "attempt": attempt,
            "state": state,
            "description": description,
            "log_tail": log_tail,
            "changed_at": now,
        }
        written = insert(forge_statuses).values(project=project, commit_id=commit, **known)
        with self._database.transaction() as connection:
            connection.execute(
                written.on_conflict_do_update(index_elements=["project", "commit_id"], set_=known)
            )
        return Status(attempt, state, now, description, log_tail)


def _status(row: Row[Any]) -> Status:
    return Status(row.attempt, CheckState(row.state), row.changed_at, row.description, row.log_tail)
