"""The registry of projects, kept in the store; contracts are read from the protected base branch."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from orchestrator.config.contract import CONTRACT_FILE, Contract, parse_contract
from orchestrator.config.projects import Project, make_project
from orchestrator.errors import BadInput, Rejected
from orchestrator.pipeline.ids import Commit, WorkItemId
from orchestrator.ports.store import ProjectState, Store
from orchestrator.ports.workspace import Branch, Workspace

NO_PORTS: Final = (0, 0)


class StoredProjects:
    """``ports.projects.ProjectRegistry`` over the store and the workspace.

    ``fetch`` brings a project's mirror up to date with what its owner committed elsewhere.
    """

    def __init__(
        self, *, store: Store, workspace: Workspace, fetch: Callable[[Project], Awaitable[None]]
    ) -> None:
        self._store = store
        self._workspace = workspace
        self._fetch = fetch
        self._known: dict[str, tuple[Mapping[str, object], Project]] = {}
        self._ports: dict[str, tuple[int, int]] = {}
        self._contracts: dict[str, tuple[Commit, Contract | None]] = {}

    async def project(self, name: str) -> Project:
        """The project called ``name``; ``Rejected`` when none is registered."""
        state = await self._store.transact(lambda tx: tx.projects.get(name))
        if state is None:
            raise Rejected(f"unknown project {name}; 'orch project list' shows the registered ones")
        return self._loaded(state)

    async def all(self) -> Sequence[Project]:
        """All registered projects, by name."""
        states = await self._store.transact(lambda tx: tx.projects.all())
        return sorted((self._loaded(state) for state in states), key=lambda project: project.name)

    async def put(self, project: Project, ports: tuple[int, int]) -> None:
        """Register ``project`` (again), with the ports of its production and staging services.

        Raises ``BadInput`` when another project has its prefix.
        """
        for other in await self.all():
            if other.name != project.name and other.prefix == project.prefix:
                raise BadInput(
                    f"prefix {project.prefix} belongs to project {other.name}; choose another with --prefix"
                )
        settings = {**project.model_dump(mode="json"), "ports": list(ports)}
        await self._store.transact(lambda tx: tx.projects.put(project.name, settings))
        self._ports[project.name] = ports

    async def remove(self, name: str) -> None:
        """Forget a project that turned out to be of no use; its items and repository are left alone."""
        await self._store.transact(lambda tx: tx.projects.remove(name))
        self._contracts.pop(name, None)

    async def refresh(self, name: str) -> None:
        """Bring the project's mirror up to date."""
        await self._fetch(await self.project(name))

    async def contract(self, name: str) -> Contract | None:
        """The contract on the project's protected base branch; ``None`` when it has none."""
        project = await self.project(name)
        base = Branch(project=name, name=project.base_branch, base=project.base_branch, item=WorkItemId(""))
        commit = await self._workspace.base_head(base)
        known = self._contracts.get(name)
        if known is not None and known[0] == commit:
            return known[1]
        blob = await self._workspace.read(name, commit, CONTRACT_FILE)
        contract = parse_contract(blob.text(), f"{name}/{CONTRACT_FILE}") if blob is not None else None
        self._contracts[name] = (commit, contract)
        return contract

    def ports(self, name: str) -> tuple[int, int]:
        """Ports of the project's production and staging services, as known since it was last read."""
        return self._ports.get(name, NO_PORTS)

    def _loaded(self, state: ProjectState) -> Project:
        known = self._known.get(state.name)
        if known is not None and known[0] == state.settings:
            return known[1]
        settings = dict(state.settings)
        match settings.pop("ports", None):
            case [int(production), int(staging)]:
                self._ports[state.name] = (production, staging)
        project = make_project(settings)
        self._known[state.name] = (state.settings, project)
        return project
