"""Identities: what a fact is bound to, and what tells one attempt from another."""

from typing import NewType

TaskId = NewType("TaskId", int)
"""Row id of a work item in the table ``tasks``; never shown to a person."""

WorkItemId = NewType("WorkItemId", str)
"""The number people use, for example ``ORCH-7``."""

Commit = NewType("Commit", str)
"""Full hexadecimal id of a git commit."""

CodeId = NewType("CodeId", str)
"""Identity of the code of a commit: its tree without the item's own documents (architecture §2a)."""

JobId = NewType("JobId", int)
RunId = NewType("RunId", int)
EventId = NewType("EventId", int)

Epoch = NewType("Epoch", int)
"""Counter of a work item, raised whenever it is sent back, stopped, retried or re-opened."""
