"""The built-in board: a tracker in one SQLite file, and what people do on it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, insert, select, update

from orchestrator.errors import Malformed, Rejected
from orchestrator.plumbing.sqlite import SqliteFile
from orchestrator.ports.clock import Clock
from orchestrator.ports.tracker import Comment, Ticket, TrackerState
from orchestrator.trackers.board.changes import Change, ChangeKind, Edit, Worth, find, record
from orchestrator.trackers.board.tables import (
    SCHEMA,
    board_changes,
    board_comments,
    board_items,
    board_projects,
)


class BoardTracker:
    """The port ``Tracker`` on the built-in board, and the gestures of the people who use it.

    Writes through the port are the actor's; the others carry the name of the person (``by``, ``author``), and
    both stand in the ledger of changes. An item's ``ref`` is its number.
    """

    def __init__(self, url: str, clock: Clock, actor: str = "orchestrator") -> None:
        """Open the board at ``url`` (SQLAlchemy, SQLite).

        Raises:
            BadInput: the file was written by a newer version, or is no database.
        """
        self._database = SqliteFile(url, SCHEMA)
        self._clock = clock
        self.actor = actor

    def close(self) -> None:
        """Close the board's file."""
        self._database.close()

    # What people do on a board.

    async def create_project(self, name: str, prefix: str) -> None:
        """Make a project whose items are numbered ``<prefix>-1``, …; the same again is no change.

        Raises:
            Rejected: the name or the prefix is taken by another.
        """
        if not name or not prefix:
            raise Rejected("a project needs a name and a prefix")
        with self._database.transaction() as connection:
            clash = board_projects.c.name == name
            rows = connection.execute(
                select(board_projects).where(clash | (board_projects.c.prefix == prefix))
            )
            taken = {(row.name, row.prefix) for row in rows}
            if not taken:
                connection.execute(
                    insert(board_projects).values(name=name, prefix=prefix, created_at=self._clock.now())
                )
            elif taken != {(name, prefix)}:
                owners = ", ".join(f"{owner} ({used})" for owner, used in sorted(taken))
                raise Rejected(f"project {name} ({prefix}) clashes with {owners}")

    async def file(
        self,
        project: str,
        title: str,
        description: str = "",
        *,
        author: str,
        labels: Sequence[str] = (),
        state: TrackerState = TrackerState.TODO,
        blocked_by: Sequence[str] = (),
    ) -> Ticket:
        """File a new item under the project's next number.

        Raises:
            Rejected: the project or an item that it is blocked by does not exist, or the title is empty.
        """
        if not title.strip():
            raise Rejected("an item needs a title")
        now = self._clock.now()
        with self._database.transaction() as connection:
            for other in blocked_by:
                _row(connection, other)
            ref = _next_number(connection, project)
            connection.execute(
                insert(board_items).values(
                    ref=ref,
                    project=project,
                    title=title.strip(),
                    description=description,
                    state=state,
                    labels=_unique(labels),
                    blocked_by=_unique(blocked_by),
                    author=author,
                    created_at=now,
                    updated_at=now,
                )
            )
            record(connection, ref, Edit(ChangeKind.FILED, "", state, author, now))
            return _ticket(_row(connection, ref))

    async def move(self, ref: str, state: TrackerState, by: str) -> None:
        """A person puts the item into another state."""
        self._set(ref, ChangeKind.STATE, state.value, by)

    async def edit(self, ref: str, *, title: str, description: str, by: str) -> Ticket:
        """A person changes what the item asks for.

        Raises:
            Rejected: there is no such item, or the title is empty.
        """
        if not title.strip():
            raise Rejected("an item needs a title")
        self._set(ref, ChangeKind.TITLE, title.strip(), by)
        self._set(ref, ChangeKind.DESCRIPTION, description, by)
        return await self.ticket(ref)

    async def comment(self, ref: str, author: str, text: str) -> Comment:
        """A person writes a comment; the item counts as changed."""
        now = self._clock.now()
        with self._database.transaction() as connection:
            _row(connection, ref)
            values = {"ref": ref, "author": author, "text": text, "at": now}
            connection.execute(insert(board_comments).values(values))
            record(connection, ref, Edit(ChangeKind.COMMENT, "", text, author, now))
            newest = select(board_comments).where(board_comments.c.ref == ref)
            return _comment(connection.execute(newest.order_by(board_comments.c.id.desc()).limit(1)).one())

    async def changes(self, project: str, after: int = 0) -> Sequence[Change]:
        """Changes of the project's items with an id above ``after``, oldest first; ours carry the actor."""
        with self._database.transaction() as connection:
            return find(connection, board_items.c.project == project, board_changes.c.id > after)

    # The port.

    async def ticket(self, ref: str) -> Ticket:
        """The item as it is now; ``Rejected`` when there is none."""
        with self._database.transaction() as connection:
            return _ticket(_row(connection, ref))

    async def changed_since(self, project: str, since: datetime | None) -> Sequence[Ticket]:
        """Items of ``project`` that changed at or after ``since``, oldest change first."""
        wanted = _ITEMS.where(board_items.c.project == project)
        if since is not None:
            wanted = wanted.where(board_items.c.updated_at >= since)
        with self._database.transaction() as connection:
            _require_project(connection, project)
            rows = connection.execute(wanted.order_by(board_items.c.updated_at, board_items.c.last_change))
            return [_ticket(row) for row in rows]

    async def set_state(self, ref: str, state: TrackerState) -> None:
        """Make ``state`` the item's state, in the actor's name."""
        self._set(ref, ChangeKind.STATE, state.value, self.actor)

    async def put_comment(self, ref: str, key: str, text: str) -> None:
        """Write the comment ``key`` once, replace its text later; the item does not count as changed."""
        if not key:
            raise Rejected("a comment of ours needs a key")
        mine = (board_comments.c.ref == ref) & (board_comments.c.key == key)
        now = self._clock.now()
        with self._database.transaction() as connection:
            _row(connection, ref)
            present = connection.execute(select(board_comments.c.text).where(mine)).scalar_one_or_none()
            if present is None:
                values = {"ref": ref, "author": self.actor, "text": text, "key": key, "at": now}
                connection.execute(insert(board_comments).values(values))
            elif present != text:
                connection.execute(update(board_comments).where(mine).values(text=text, edited_at=now))

    async def comments(self, ref: str) -> Sequence[Comment]:
        """All comments, oldest first."""
        wanted = select(board_comments).where(board_comments.c.ref == ref)
        with self._database.transaction() as connection:
            _row(connection, ref)
            return [_comment(row) for row in connection.execute(wanted.order_by(board_comments.c.id))]

    async def set_labels(self, ref: str, labels: Sequence[str]) -> None:
        """Make ``labels`` the item's labels, in the actor's name."""
        self._set(ref, ChangeKind.LABELS, _unique(labels), self.actor)

    async def members(self, project: str) -> frozenset[str] | None:
        """Everybody: the board has no users but those who can write on it."""
        return None

    def _set(self, ref: str, kind: ChangeKind, new: Worth, who: str) -> None:
        column = {
            ChangeKind.STATE: board_items.c.state,
            ChangeKind.LABELS: board_items.c.labels,
            ChangeKind.TITLE: board_items.c.title,
            ChangeKind.DESCRIPTION: board_items.c.description,
        }[kind]
        with self._database.transaction() as connection:
            old = _row(connection, ref)._mapping[column]
            if old == new:
                return
            connection.execute(update(board_items).where(board_items.c.ref == ref).values({column: new}))
            record(connection, ref, Edit(kind, old, new, who, self._clock.now()))


_EDITOR: Final = (
    select(board_changes.c.who)
    .where(
        board_changes.c.ref == board_items.c.ref,
        board_changes.c.kind.in_((ChangeKind.TITLE, ChangeKind.DESCRIPTION)),
    )
    .order_by(board_changes.c.id.desc())
    .limit(1)
    .scalar_subquery()
)
"""Who last changed what an item asks for."""

_ITEMS: Final = select(board_items, _EDITOR.label("edited_by"))


def _next_number(connection: Connection, project: str) -> str:
    mine = board_projects.c.name == project
    connection.execute(
        update(board_projects).where(mine).values(last_number=board_projects.c.last_number + 1)
    )
    row = connection.execute(select(board_projects).where(mine)).one_or_none()
    if row is None:
        raise Rejected(f"the board has no project {project}")
    return f"{row.prefix}-{row.last_number}"


def _require_project(connection: Connection, project: str) -> None:
    mine = board_projects.c.name == project
    if connection.execute(select(board_projects.c.name).where(mine)).one_or_none() is None:
        raise Rejected(f"the board has no project {project}")


def _row(connection: Connection, ref: str) -> Row[Any]:
    row = connection.execute(_ITEMS.where(board_items.c.ref == ref)).one_or_none()
    if row is None:
        raise Rejected(f"the board has no item {ref}")
    return row


def _unique(words: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(words))


def _ticket(row: Row[Any]) -> Ticket:
    try:
        state = TrackerState(row.state)
    except ValueError as error:
        raise Malformed(f"{row.ref} is in a state that is not known: {row.state}") from error
    return Ticket(
        ref=row.ref,
        number=row.ref,
        project=row.project,
        title=row.title,
        description=row.description,
        state=state,
        labels=tuple(row.labels),
        author=row.author,
        updated_at=row.updated_at,
        blocked_by=tuple(row.blocked_by),
        edited_by=row.edited_by or "",
    )


def _comment(row: Row[Any]) -> Comment:
    return Comment(id=str(row.id), author=row.author, text=row.text, at=row.at, key=row.key)
