"""The local forge: pull requests, statuses and merges on bare repositories of this machine."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from orchestrator.errors import Conflict, Rejected
from orchestrator.forges.local.ci import Ci, ContractFor, Head, OnEvent, Outside, Variables
from orchestrator.forges.local.hosting import Hosting, Project, Published
from orchestrator.forges.local.merging import Merge, Merging, Method
from orchestrator.forges.local.pulls import Pulls
from orchestrator.forges.local.statuses import Statuses
from orchestrator.forges.local.tables import SCHEMA
from orchestrator.pipeline.ids import Commit
from orchestrator.plumbing.git import Git
from orchestrator.plumbing.processes import Processes
from orchestrator.plumbing.sqlite import SqliteFile
from orchestrator.ports.clock import Clock
from orchestrator.ports.forge import Checks, PullRequest, PullState


def _told_nothing(_project: str, _commit: Commit) -> Mapping[str, str]:
    return {}


class LocalForge:
    """The port ``Forge`` on bare repositories ``<root>/<project>.git`` and the file ``<root>/forge.db``."""

    def __init__(
        self,
        root: Path,
        *,
        git: Git,
        clock: Clock,
        processes: Processes,
        contract_for: ContractFor,
        on_event: OnEvent,
        variables: Variables = _told_nothing,
    ) -> None:
        """Open the forge, making it when it is missing.

        Raises:
            BadInput: its file was written by a newer version, or is no database.
        """
        self._git = git
        self._database = SqliteFile(f"sqlite:///{root / 'forge.db'}", SCHEMA)
        self._hosting = Hosting(root, self._database, git, clock)
        self._pulls = Pulls(self._database, clock)
        self._statuses = Statuses(self._database, clock)
        outside = Outside(git, processes, clock, contract_for, on_event, variables)
        self._ci = Ci(root / "ci", self._statuses, outside)

    async def aclose(self) -> None:
        """Let suites that run go on by themselves, and close the file."""
        await self._ci.close()
        self._database.close()

    async def resume(self) -> None:
        """Wait again for the suites that were running when the orchestrator ended."""
        for project, commit in self._statuses.unfinished():
            await self.checks(project, commit)

    # Hosting.

    async def host(self, project: str, source: str | Path, base: str) -> Path:
        """Take a project over from ``source`` and give its bare repository; again is no change.

        Raises:
            BadInput: the source is not usable, or the name is hosted from somewhere else.
        """
        return await self._hosting.host(project, str(source), base)

    async def drop(self, project: str) -> None:
        """Host the project no longer; for one that turned out to be of no use."""
        await self._hosting.drop(project)

    async def follow(self, project: str) -> Commit:
        """Take over what the user committed to the base upstream since; the base's head.

        Raises:
            Conflict: both went on by themselves.
        """
        return await self._hosting.follow(project)

    async def publish(self, project: str) -> Published:
        """Push the merged base to the user's repository, or say what the user can do instead."""
        return await self._hosting.publish(project)

    def path(self, project: str) -> Path:
        """The project's bare repository.

        Raises:
            Rejected: no such project is hosted.
        """
        return self._hosting.project(project).path

    async def approve(self, project: str, number: int, *, head: Commit, who: str) -> None:
        """A person approves exactly ``head``.

        Raises:
            Rejected: there is no such pull request.
        """
        self._pulls.find(project, number)
        self._pulls.approve(project, number, head=head, who=who)

    # The port.

    async def ensure_pull_request(
        self, project: str, *, branch: str, base: str, title: str, body: str
    ) -> PullRequest:
        """The open or merged pull request of ``branch``, made if there is none."""
        hosted = self._hosting.project(project)
        if branch == base or base != hosted.base:
            raise Rejected(
                f"a pull request goes from another branch into {hosted.base}, not {branch} → {base}"
            )
        head = await self._merging(hosted).head(branch)
        if head is None:
            raise Rejected(f"{project} has no branch {branch}")
        wanted = PullRequest(0, branch, base, head, PullState.OPEN, title)
        return await self._current(hosted, self._pulls.ensure(project, wanted, body))

    async def pull_request(self, project: str, number: int) -> PullRequest:
        """The pull request as it is now; ``Rejected`` when there is none."""
        return await self._current(self._hosting.project(project), self._pulls.find(project, number))

    async def checks(self, project: str, commit: Commit) -> Checks:
        """The folded statuses of ``commit``; asking begins the forge's own CI for a head it has not seen."""
        hosted = self._hosting.project(project)
        kind = await self._git.run("cat-file", "-t", commit, cwd=hosted.path, check=False)
        if kind.text != "commit":
            raise Rejected(f"{project} has no commit {commit}")
        return await self._ci.checks(Head(project, commit, hosted.path))

    async def approvals(self, project: str, number: int, head: Commit) -> Sequence[str]:
        """Names of the people who approved exactly ``head``."""
        self._pulls.find(project, number)
        return self._pulls.approvals(project, number, head)

    async def merge(
        self, project: str, number: int, *, expected_head: Commit, method: str, message: str
    ) -> Commit:
        """Merge if the head still is ``expected_head``; the base branch's new commit."""
        hosted = self._hosting.project(project)
        pull = await self.pull_request(project, number)
        if pull.state is PullState.CLOSED:
            raise Rejected(f"pull request {number} is closed")
        if pull.head != expected_head:
            raise Conflict(f"pull request {number} has head {pull.head[:12]}, not {expected_head[:12]}")
        if pull.merged_as is not None:
            return pull.merged_as
        merge = Merge(number, pull.branch, pull.base, pull.head, _method(method), message)
        made = await self._merging(hosted).carry_out(merge)
        self._pulls.end(project, replace(pull, state=PullState.MERGED, merged_as=made))
        return made

    async def close(self, project: str, number: int) -> None:
        """Close without merging; closing what is not open is no change."""
        pull = await self.pull_request(project, number)
        if pull.state is PullState.OPEN:
            self._pulls.end(project, replace(pull, state=PullState.CLOSED))
        await self._ci.stop(project, pull.head)

    async def _current(self, hosted: Project, pull: PullRequest) -> PullRequest:
        """The pull request with its present head; one whose merge was not written down yet is merged."""
        if pull.state is not PullState.OPEN:
            return pull
        merging = self._merging(hosted)
        merged = await merging.merged(pull.number, pull.base)
        if merged is not None:
            ended = replace(pull, state=PullState.MERGED, head=merged.head, merged_as=merged.commit)
            return self._pulls.end(hosted.name, ended)
        return replace(pull, head=await merging.head(pull.branch) or pull.head)

    def _merging(self, hosted: Project) -> Merging:
        return Merging(self._git, hosted.path)


def _method(name: str) -> Method:
    try:
        return Method(name)
    except ValueError as error:
        known = ", ".join(Method)
        raise Rejected(f"there is no merge method {name}; known are {known}") from error
