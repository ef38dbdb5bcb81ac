"""Seeing for ourselves that production is well and runs exactly the merged commit, whatever the hook said."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from orchestrator.config.placeholders import expand
from orchestrator.delivery.deploy import DeployHook, DeployOrder
from orchestrator.delivery.probe import Answer, NoAnswer, Probe, Seen
from orchestrator.delivery.rehearsal import revision_in
from orchestrator.errors import BadInput, Unavailable
from orchestrator.ports.clock import Clock

PAUSE: Final = timedelta(milliseconds=250)
"""Between two looks at a service that is not well yet."""


@dataclass(frozen=True, slots=True)
class Proven:
    """Production is what it should be; ``revision`` is what it says of itself, empty when it is not asked."""

    revision: str = ""


@dataclass(frozen=True, slots=True)
class Disproven:
    """Production is not what it should be."""

    reason: str
    revision: str = ""


@dataclass(frozen=True, slots=True)
class Unproven:
    """It could not be found out."""

    reason: str


class Verification:
    """Looks at production after a deployment."""

    def __init__(self, *, hook: DeployHook, probe: Probe, clock: Clock, health_limit: timedelta) -> None:
        self._hook = hook
        self._probe = probe
        self._clock = clock
        self._health_limit = health_limit

    async def look(self, order: DeployOrder, *, attempt: int) -> Proven | Disproven | Unproven:
        """Health within its deadline, then the revision; ``attempt`` keeps repeated questions apart."""
        try:
            sick = await self._sick(order)
        except BadInput as error:
            return Unproven(str(error))
        if sick is not None:
            return Disproven(sick)
        return await self._revision(order, attempt)

    async def _sick(self, order: DeployOrder) -> str | None:
        if order.deploy.health is None:
            return None
        url = expand(order.deploy.health, self._hook.variables(order))
        deadline = self._clock.monotonic() + self._health_limit.total_seconds()
        while True:
            seen = await self._probe.get(url)
            if isinstance(seen, Answer) and seen.is_healthy:
                return None
            if self._clock.monotonic() >= deadline:
                return (
                    f"production is not healthy within {self._health_limit.total_seconds():g} s: {told(seen)}"
                )
            await self._clock.sleep(PAUSE)

    async def _revision(self, order: DeployOrder, attempt: int) -> Proven | Disproven | Unproven:
        if order.deploy.revision is None:
            return Proven()
        try:
            steps = await self._hook.steps(order)
        except Unavailable as error:
            return Unproven(str(error))
        result = await steps.run(f"revision-{attempt}", order.deploy.revision)
        if not result.ran:
            return Unproven(f"the revision of production is not known: {result.reason}")
        said = revision_in(result.output) or ""
        if result.exit_code != 0 or said != order.merged:
            return Disproven(
                f"production says it runs {said[:40] or 'nothing'}, not {order.merged}", said[:64]
            )
        return Proven(said)


def told(seen: Seen) -> str:
    """One line about what a probe saw."""
    if isinstance(seen, NoAnswer):
        return seen.reason
    body = " ".join(seen.text.split())[:120]
    return f"it answered {seen.status} {body}".rstrip()
