"""The forge: where branches, pull requests and commit statuses live (Gitea, or bare repositories)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from orchestrator.pipeline.ids import Commit


class PullState(StrEnum):
    """Whether a pull request can still be merged."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request as the forge has it; ``merged_as`` is the commit that the base got."""

    number: int
    branch: str
    base: str
    head: Commit
    state: PullState
    title: str
    url: str = ""
    merged_as: Commit | None = None


class CheckState(StrEnum):
    """The folded state of all statuses of a commit."""

    NONE = "none"
    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class CheckRun:
    """One commit status; ``log_tail`` carries the end of a failing job's log for the next round."""

    context: str
    state: CheckState
    description: str = ""
    url: str = ""
    log_tail: str = ""


@dataclass(frozen=True, slots=True)
class Checks:
    """All statuses of one commit and what they add up to; no status at all is ``NONE``, never success."""

    state: CheckState
    runs: tuple[CheckRun, ...] = ()


class Forge(Protocol):
    """What the orchestrator asks of a forge.

    Every method raises ``Unavailable``, ``Rejected``, ``Malformed`` or ``Conflict``.
    """

    async def ensure_pull_request(
        self, project: str, *, branch: str, base: str, title: str, body: str
    ) -> PullRequest:
        """The open (or merged) pull request of ``branch``, made if there is none: never a second one."""
        ...

    async def pull_request(self, project: str, number: int) -> PullRequest:
        """The pull request as it is now; ``Rejected`` when there is none."""
        ...

    async def checks(self, project: str, commit: Commit) -> Checks:
        """The folded statuses of ``commit``; asking may start the forge's own CI for a new head."""
        ...

    async def approvals(self, project: str, number: int, head: Commit) -> Sequence[str]:
        """Names of the people whose approving review is for exactly ``head``."""
        ...

    async def merge(
        self, project: str, number: int, *, expected_head: Commit, method: str, message: str
    ) -> Commit:
        """Merge if the head still is ``expected_head``; the base branch's new commit.

        Already merged with that head: the same answer again. Raises ``Conflict`` when the head or the base
        moved, ``Rejected`` when it cannot be merged.
        """
        ...

    async def close(self, project: str, number: int) -> None:
        """Close without merging; closing what is not open is no change."""
        ...
