"""A local forge whose merges also go back to the repository that a project was taken from."""

import structlog

from orchestrator.errors import Unavailable
from orchestrator.forges.local.adapter import LocalForge
from orchestrator.pipeline.ids import Commit

log = structlog.get_logger(__name__)


class PublishingForge(LocalForge):
    """Pushes the merged base to its owner; a repository that does not take it is told of, no more."""

    async def merge(
        self, project: str, number: int, *, expected_head: Commit, method: str, message: str
    ) -> Commit:
        """Merge, then publish: merged already, it is published again, which changes nothing."""
        made = await super().merge(
            project, number, expected_head=expected_head, method=method, message=message
        )
        await self._pass_on(project)
        return made

    async def _pass_on(self, project: str) -> None:
        try:
            published = await self.publish(project)
        except Unavailable as error:
            log.warning("not_published", project=project, reason=str(error))
            return
        if not published.done:
            log.warning("not_published", project=project, hint=published.hint)
