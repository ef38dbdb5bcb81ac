"""A forge in memory: pull requests, statuses and merges on the repositories of a `MemoryWorkspace`."""

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.errors import AdapterError, Conflict, Rejected
from orchestrator.pipeline.ids import Commit
from orchestrator.ports.forge import Checks, CheckState, PullRequest, PullState
from orchestrator.testing.repository import MemoryRepository
from orchestrator.testing.workspace import MemoryWorkspace

METHODS = ("merge", "squash", "rebase")


class MemoryForge:
    """The port ``Forge``; while ``outage`` is set every method of the port raises it.

    ``unasked`` is what a commit's checks are until somebody reports others.
    """

    def __init__(self, workspace: MemoryWorkspace, *, unasked: CheckState = CheckState.NONE) -> None:
        """Host what ``workspace`` holds."""
        self.outage: AdapterError | None = None
        self.unasked = unasked
        self._workspace = workspace
        self._pulls: dict[str, list[PullRequest]] = {}
        self._checks: dict[tuple[str, Commit], Checks] = {}
        self._approvals: dict[tuple[str, int, Commit], list[str]] = {}

    # What people and their CI do.

    def report(self, project: str, commit: Commit, checks: Checks) -> None:
        """These are the statuses of ``commit`` from now on."""
        self._checks[project, commit] = checks

    def approve(self, project: str, number: int, *, head: Commit, who: str) -> None:
        """A person approves exactly ``head``."""
        names = self._approvals.setdefault((project, number, head), [])
        if who not in names:
            names.append(who)

    def pulls(self, project: str) -> Sequence[PullRequest]:
        """All pull requests of a project, oldest first."""
        return [self._current(project, pull) for pull in self._pulls.get(project, ())]

    # The port.

    async def ensure_pull_request(
        self, project: str, *, branch: str, base: str, title: str, body: str
    ) -> PullRequest:
        """The open or merged pull request of ``branch``, made if there is none."""
        repository = self._hosted(project)
        if branch == base or base != repository.base:
            into = f"from another branch into {repository.base}"
            raise Rejected(f"a pull request goes {into}, not {branch} → {base}")
        head = repository.branch(branch)
        if head is None:
            raise Rejected(f"{project} has no branch {branch}")
        for pull in reversed(self.pulls(project)):
            if pull.branch == branch and pull.state is not PullState.CLOSED:
                return pull
        pulls = self._pulls.setdefault(project, [])
        pulls.append(PullRequest(len(pulls) + 1, branch, base, head, PullState.OPEN, title))
        return pulls[-1]

    async def pull_request(self, project: str, number: int) -> PullRequest:
        """The pull request as it is now."""
        self._hosted(project)
        return self._find(project, number)

    async def checks(self, project: str, commit: Commit) -> Checks:
        """What was reported for ``commit``."""
        self._hosted(project).snapshot(commit)
        return self._checks.get((project, commit), Checks(self.unasked))

    async def approvals(self, project: str, number: int, head: Commit) -> Sequence[str]:
        """Names of the people who approved exactly ``head``."""
        self._hosted(project)
        self._find(project, number)
        return list(self._approvals.get((project, number, head), ()))

    async def merge(
        self, project: str, number: int, *, expected_head: Commit, method: str, message: str
    ) -> Commit:
        """Merge if the head still is ``expected_head``; the base branch's new commit."""
        repository = self._hosted(project)
        pull = self._find(project, number)
        if pull.state is PullState.CLOSED:
            raise Rejected(f"pull request {number} is closed")
        if pull.head != expected_head:
            raise Conflict(f"pull request {number} has head {pull.head[:12]}, not {expected_head[:12]}")
        if pull.merged_as is not None:
            return pull.merged_as
        made = _merged(repository, pull, method, message)
        repository.move(pull.base, made)
        self._end(project, replace(pull, state=PullState.MERGED, merged_as=made))
        return made

    async def close(self, project: str, number: int) -> None:
        """Close without merging; closing what is not open is no change."""
        self._hosted(project)
        pull = self._find(project, number)
        if pull.state is PullState.OPEN:
            self._end(project, replace(pull, state=PullState.CLOSED))

    def _hosted(self, project: str) -> MemoryRepository:
        if self.outage is not None:
            raise self.outage
        return self._workspace.repository(project)

    def _find(self, project: str, number: int) -> PullRequest:
        found = [pull for pull in self.pulls(project) if pull.number == number]
        if not found:
            raise Rejected(f"{project} has no pull request {number}")
        return found[0]

    def _current(self, project: str, pull: PullRequest) -> PullRequest:
        """The head of an open pull request follows its branch."""
        if pull.state is not PullState.OPEN:
            return pull
        return replace(pull, head=self._workspace.repository(project).branch(pull.branch) or pull.head)

    def _end(self, project: str, pull: PullRequest) -> None:
        self._pulls[project][pull.number - 1] = pull


def _merged(repository: MemoryRepository, pull: PullRequest, method: str, message: str) -> Commit:
    if method not in METHODS:
        raise Rejected(f"there is no merge method {method}; known are {', '.join(METHODS)}")
    base = repository.branch(pull.base)
    if base is None:
        raise Rejected(f"there is no base branch {pull.base}")
    if repository.contains(pull.head, base):
        raise Rejected(f"{pull.branch} has no commit that {pull.base} lacks")
    if method == "rebase":
        if not repository.contains(base, pull.head):
            raise Rejected(f"{pull.branch} is not on top of {pull.base}: rebase it first")
        return pull.head
    tree, conflicts = repository.merged(base, pull.head)
    if conflicts:
        raise Rejected(f"{pull.branch} conflicts with {pull.base} in {', '.join(conflicts)}")
    return repository.commit(tree, (base,) if method == "squash" else (base, pull.head), message)
