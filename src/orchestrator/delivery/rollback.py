"""Taking production back to the release before, once, when the watch finds it degraded (ORCH-021)."""

from pathlib import Path

from orchestrator.config.contract import Contract
from orchestrator.delivery.commands import ContractCommands
from orchestrator.delivery.deploy import Status, map_exit_code_to_status
from orchestrator.delivery.sources import Sources
from orchestrator.delivery.steps import Steps, Surround
from orchestrator.errors import Unavailable
from orchestrator.pipeline.ids import Commit
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.reports import Action


class Rollback:
    """Runs a contract's rollback command."""

    def __init__(self, *, commands: ContractCommands, sources: Sources) -> None:
        self._commands = commands
        self._sources = sources

    def variables(self, item: WorkItem, merged: Commit) -> dict[str, str]:
        """What commands for production are told; also what placeholders in its addresses stand for."""
        return self._commands.variables(
            item.project, revision=merged, work_item=item.id, environment="production"
        )

    async def run(
        self, contract: Contract, item: WorkItem, merged: Commit, *, place: Path
    ) -> tuple[Action, str]:
        """Roll back what ``merged`` changed: what was done, and one line about it.

        ``place`` is the directory of this one rollback; it is never done twice there. Raises:
            Malformed: its run directory is damaged.
        """
        if contract.deploy is None or contract.deploy.rollback is None:
            return Action.ALERT_ONLY, "the contract declares no rollback"
        try:
            cwd = await self._sources.provide(item.project, merged, place / "checkout")
        except Unavailable as error:
            return Action.ROLLBACK_FAILED, str(error)
        variables = self.variables(item, merged)
        steps = Steps(self._commands, Surround(place, cwd, contract.deploy.timeout, variables))
        result = await steps.run("run", contract.deploy.rollback, keep_children=True)
        await self._sources.remove(cwd)
        if result.ran and map_exit_code_to_status(result.exit_code) is Status.SUCCESS:
            return Action.ROLLBACK_OK, "production was rolled back"
        return Action.ROLLBACK_FAILED, result.reason or f"the rollback ended with {result.exit_code}"
