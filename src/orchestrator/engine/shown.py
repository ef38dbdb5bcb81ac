"""What the tracker is known to show: tells a person's gesture from the echo of our own writing."""

from typing import Final

from orchestrator.ports.store import Transaction
from orchestrator.ports.tracker import HUMAN_GESTURES, Ticket, TrackerState

_SEEN: Final = "tracker-state:"
_EXPECTED: Final = "tracker-expected:"


def known_states(tx: Transaction, ref: str) -> frozenset[str]:
    """The states of a ticket that are no news: the last one seen, and one that is just being written."""
    values = (tx.projects.recall(_SEEN + ref), tx.projects.recall(_EXPECTED + ref))
    return frozenset(value for value in values if value)


def expect(tx: Transaction, ref: str, state: TrackerState) -> None:
    """We are about to write ``state``; until that is known to have happened, the state before stays known."""
    tx.projects.remember(_EXPECTED + ref, state)


def settle(tx: Transaction, ref: str, state: TrackerState) -> None:
    """The ticket shows ``state``, written by us or read from a person."""
    tx.projects.remember(_SEEN + ref, state)
    tx.projects.remember(_EXPECTED + ref, "")


def is_unread(ticket: Ticket, known: frozenset[str]) -> bool:
    """Whether the ticket shows a gesture of a person that nobody has read yet."""
    if ticket.state not in HUMAN_GESTURES or ticket.state in known:
        return False
    return bool(known) or ticket.state is not TrackerState.TODO
