"""To which projects a runner applies: its switch, its list, and whose repository is our own."""

from dataclasses import dataclass

from orchestrator.config.projects import SELF_HOSTING_REPO, Project, scope_applies


@dataclass(frozen=True, slots=True)
class Scope:
    """Kill switch, comma-separated list and the name of the project that holds the orchestrator itself."""

    enabled: bool = True
    repos: str = ""
    self_hosting: str = SELF_HOSTING_REPO

    def covers(self, project: str, *, declared: bool) -> bool:
        """Whether the mechanism applies to ``project``, whose contract declares the capability or not."""
        if not self.enabled:
            return False
        # The rule asks a project for its names and for whose it is; the registry is not asked for more here.
        known = Project.model_construct(
            name=project, prefix="", repo_url=project, self_hosting=self.is_ours(project)
        )
        return scope_applies(self.repos, known, declared)

    def takes(self, project: str, *, declared: bool) -> bool:
        """Whether a runner takes the stage: the contract says how, or says nothing and nothing is to be done.

        Our own repository without the section is left to the agent.
        """
        if self.enabled and not declared:
            return not self.is_ours(project)
        return self.covers(project, declared=declared)

    def is_ours(self, project: str) -> bool:
        """Whether ``project`` holds the orchestrator itself."""
        return project == self.self_hosting
