"""A tracker in memory, and what people do on it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from orchestrator.errors import AdapterError, Rejected
from orchestrator.ports.clock import Clock
from orchestrator.ports.tracker import Comment, Ticket, TrackerState


class MemoryTracker:
    """The ports ``Tracker`` and ``Filing``; while ``outage`` is set every method of them raises it,
    while ``write_outage`` is set the writing of states does.

    ``people`` are the members of every project (``None``: everybody who can write).
    ``written`` lists every state that was written through the port, also one that changed nothing.
    """

    def __init__(self, clock: Clock, *, actor: str = "orchestrator") -> None:
        """No project, no item."""
        self.outage: AdapterError | None = None
        self.write_outage: AdapterError | None = None
        self.actor = actor
        self.people: frozenset[str] | None = None
        self.written: list[tuple[str, TrackerState]] = []
        self._clock = clock
        self._prefixes: dict[str, str] = {}
        self._tickets: dict[str, Ticket] = {}
        self._comments: dict[str, list[Comment]] = {}
        self._changes: dict[str, int] = {}

    # What people do.

    def create_project(self, name: str, prefix: str) -> None:
        """Make a project whose items are numbered ``<prefix>-1``, …"""
        self._prefixes[name] = prefix

    def move(self, ref: str, state: TrackerState) -> None:
        """A person puts the item into another state."""
        self._change(replace(self._find(ref), state=state))

    def comment(self, ref: str, author: str, text: str) -> Comment:
        """A person writes a comment; the item counts as changed."""
        self._change(self._find(ref))
        return self._write(ref, author, text)

    def label(self, ref: str, labels: Sequence[str]) -> None:
        """A person gives the item these labels."""
        self._change(replace(self._find(ref), labels=tuple(dict.fromkeys(labels))))

    # The port ``Filing``.

    async def edit(self, ref: str, *, title: str, description: str, by: str) -> Ticket:
        """A person changes what the item asks for."""
        self._answer()
        if not title.strip():
            raise Rejected("an item needs a title")
        ticket = self._find(ref)
        edited = replace(ticket, title=title.strip(), description=description)
        return self._change(edited if edited == ticket else replace(edited, edited_by=by))

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
        """File an item under the project's next number."""
        self._answer()
        if project not in self._prefixes:
            raise Rejected(f"there is no project {project}")
        if not title.strip():
            raise Rejected("an item needs a title")
        number = 1 + sum(ticket.project == project for ticket in self._tickets.values())
        ref = f"{self._prefixes[project]}-{number}"
        ticket = Ticket(
            ref=ref,
            number=ref,
            project=project,
            title=title.strip(),
            description=description,
            state=state,
            labels=tuple(dict.fromkeys(labels)),
            author=author,
            updated_at=self._clock.now(),
            blocked_by=tuple(dict.fromkeys(blocked_by)),
        )
        self._comments[ref] = []
        return self._change(ticket)

    # The port ``Tracker``.

    async def ticket(self, ref: str) -> Ticket:
        """The item as it is now."""
        self._answer()
        return self._find(ref)

    async def changed_since(self, project: str, since: datetime | None) -> Sequence[Ticket]:
        """Items of ``project`` that changed at or after ``since``, oldest change first."""
        self._answer()
        mine = [ticket for ticket in self._tickets.values() if ticket.project == project]
        return sorted(
            (ticket for ticket in mine if since is None or ticket.updated_at >= since),
            key=lambda ticket: self._changes[ticket.ref],
        )

    async def set_state(self, ref: str, state: TrackerState) -> None:
        """Make ``state`` the item's state."""
        self._answer()
        if self.write_outage is not None:
            raise self.write_outage
        ticket = self._find(ref)
        self.written.append((ref, state))
        if ticket.state is not state:
            self._change(replace(ticket, state=state))

    async def put_comment(self, ref: str, key: str, text: str) -> None:
        """Write the comment ``key`` once, replace its text later; the item does not count as changed."""
        self._answer()
        if not key:
            raise Rejected("a comment of ours needs a key")
        self._find(ref)
        comments = self._comments[ref]
        for place, comment in enumerate(comments):
            if comment.key == key:
                comments[place] = replace(comment, text=text)
                return
        self._write(ref, self.actor, text, key)

    async def comments(self, ref: str) -> Sequence[Comment]:
        """All comments, oldest first."""
        self._answer()
        self._find(ref)
        return list(self._comments[ref])

    async def set_labels(self, ref: str, labels: Sequence[str]) -> None:
        """Make ``labels`` the item's labels."""
        self._answer()
        self._change(replace(self._find(ref), labels=tuple(dict.fromkeys(labels))))

    async def members(self, project: str) -> frozenset[str] | None:
        """Who belongs to ``project``."""
        self._answer()
        return self.people

    def _answer(self) -> None:
        if self.outage is not None:
            raise self.outage

    def _find(self, ref: str) -> Ticket:
        if ref not in self._tickets:
            raise Rejected(f"there is no item {ref}")
        return self._tickets[ref]

    def _change(self, ticket: Ticket) -> Ticket:
        changed = replace(ticket, updated_at=self._clock.now())
        self._tickets[ticket.ref] = changed
        self._changes[ticket.ref] = 1 + max(self._changes.values(), default=0)
        return changed

    def _write(self, ref: str, author: str, text: str, key: str = "") -> Comment:
        number = 1 + sum(len(comments) for comments in self._comments.values())
        self._comments[ref].append(Comment(str(number), author, text, self._clock.now(), key))
        return self._comments[ref][-1]
