"""The built-in board."""

from orchestrator.trackers.board.adapter import BoardTracker
from orchestrator.trackers.board.changes import Change, ChangeKind

__all__ = ["BoardTracker", "Change", "ChangeKind"]
