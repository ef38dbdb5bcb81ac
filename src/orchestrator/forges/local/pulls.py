"""The ledger of pull requests and approvals; where heads stand is asked of git, not of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, update

from orchestrator.errors import Rejected
from orchestrator.forges.local.tables import forge_approvals, forge_pulls
from orchestrator.pipeline.ids import Commit
from orchestrator.plumbing.sqlite import SqliteFile
from orchestrator.ports.clock import Clock
from orchestrator.ports.forge import PullRequest, PullState


class Pulls:
    """Pull requests of all hosted projects, numbered within their project."""

    def __init__(self, database: SqliteFile, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def ensure(self, project: str, wanted: PullRequest, body: str) -> PullRequest:
        """The open or merged pull request of the branch, made with the next number if there is none.

        Raises:
            Rejected: the branch has an open one into another base.
        """
        with self._database.transaction() as connection:
            row = connection.execute(
                select(forge_pulls).where(
                    forge_pulls.c.project == project,
                    forge_pulls.c.branch == wanted.branch,
                    forge_pulls.c.state != PullState.CLOSED,
                )
            ).one_or_none()
            if row is None:
                return self._open(connection, project, wanted, body)
        found = _pull(row)
        if found.base != wanted.base:
            raise Rejected(f"{wanted.branch} has pull request {found.number} into {found.base} already")
        return found

    def find(self, project: str, number: int) -> PullRequest:
        """The pull request as it was last written down.

        Raises:
            Rejected: there is none.
        """
        mine = (forge_pulls.c.project == project) & (forge_pulls.c.number == number)
        with self._database.transaction() as connection:
            row = connection.execute(select(forge_pulls).where(mine)).one_or_none()
        if row is None:
            raise Rejected(f"{project} has no pull request {number}")
        return _pull(row)

    def end(self, project: str, ended: PullRequest) -> PullRequest:
        """Write an open pull request down as merged or closed; one that has ended already stays as it is."""
        mine = (forge_pulls.c.project == project) & (forge_pulls.c.number == ended.number)
        with self._database.transaction() as connection:
            connection.execute(
                update(forge_pulls)
                .where(mine, forge_pulls.c.state == PullState.OPEN)
                .values(
                    state=ended.state,
                    head=ended.head,
                    merged_as=ended.merged_as,
                    ended_at=self._clock.now(),
                )
            )
        return self.find(project, ended.number)

    def approve(self, project: str, number: int, *, head: Commit, who: str) -> None:
        """Write down that ``who`` approved exactly ``head``; again is no change."""
        vote = {"project": project, "number": number, "head": head, "who": who}
        with self._database.transaction() as connection:
            if who not in _approvers(connection, project, number, head):
                connection.execute(insert(forge_approvals).values(**vote, at=self._clock.now()))

    def approvals(self, project: str, number: int, head: Commit) -> Sequence[str]:
        """Who approved exactly ``head``, first come first."""
        with self._database.transaction() as connection:
            return _approvers(connection, project, number, head)

    def _open(self, connection: Connection, project: str, wanted: PullRequest, body: str) -> PullRequest:
        highest = select(func.max(forge_pulls.c.number)).where(forge_pulls.c.project == project)
        number = (connection.execute(highest).scalar_one() or 0) + 1
        connection.execute(
            insert(forge_pulls).values(
                project=project,
                number=number,
                branch=wanted.branch,
                base=wanted.base,
                head=wanted.head,
                state=PullState.OPEN,
                title=wanted.title,
                body=body,
                opened_at=self._clock.now(),
            )
        )
        return replace(wanted, number=number)


def _approvers(connection: Connection, project: str, number: int, head: Commit) -> list[str]:
    votes = forge_approvals.c
    wanted = select(votes.who).where(votes.project == project, votes.number == number, votes.head == head)
    return list(connection.execute(wanted.order_by(votes.at, votes.who)).scalars())


def _pull(row: Row[Any]) -> PullRequest:
    return PullRequest(
        number=row.number,
        branch=row.branch,
        base=row.base,
        head=Commit(row.head),
        state=PullState(row.state),
        title=row.title,
        merged_as=None if row.merged_as is None else Commit(row.merged_as),
    )
