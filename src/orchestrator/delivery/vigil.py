"""What the contract and the settings say about watching production, and one look at it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from orchestrator.config.contract import Contract, PostDeploy
from orchestrator.config.placeholders import expand
from orchestrator.config.settings import Settings
from orchestrator.delivery.probe import Answer, Probe, joined, same_service
from orchestrator.delivery.verification import told
from orchestrator.delivery.watch import Thresholds, Tick


@dataclass(frozen=True, slots=True)
class Vigil:
    """How one deployment is watched: ``health`` is asked each time, ``others`` count for the share of 5xx."""

    health: str
    others: tuple[str, ...]
    window: timedelta
    interval: timedelta
    thresholds: Thresholds


def vigil_of(contract: Contract, settings: Settings, variables: Mapping[str, str]) -> Vigil | None:
    """The watch that the contract asks for; ``None`` when it names no address to look at.

    What the contract states wins over the installation's settings. Beside the health address only those smoke
    checks are asked that belong to the very same service.

    Raises:
        BadInput: an address holds a placeholder that has no value.
    """
    post = contract.post_deploy
    if post is None:
        return None
    address = post.health or (contract.deploy.health if contract.deploy is not None else None)
    if address is None:
        return None
    health = expand(address, variables)
    return Vigil(
        health=health,
        others=_others(contract, health, variables),
        window=_stated(post, "window_s", settings.post_deploy_window_s),
        interval=_stated(post, "interval_s", settings.post_deploy_interval_s),
        thresholds=_thresholds(post, settings),
    )


def _others(contract: Contract, health: str, variables: Mapping[str, str]) -> tuple[str, ...]:
    if contract.smoke is None:
        return ()
    base_url = expand(contract.smoke.base_url, variables)
    addresses = (joined(base_url, check.path) for check in contract.smoke.checks)
    return tuple(address for address in addresses if same_service(address, health) and address != health)


def _stated(post: PostDeploy, name: str, default: float) -> timedelta:
    return timedelta(seconds=getattr(post, name) if name in post.model_fields_set else default)


def _thresholds(post: PostDeploy, settings: Settings) -> Thresholds:
    stated = "fail_threshold" in post.model_fields_set
    return Thresholds(
        failures=post.fail_threshold if stated else settings.post_deploy_fail_threshold,
        error_rate=post.error_rate if post.error_rate is not None else settings.post_deploy_5xx_threshold,
    )


async def look(probe: Probe, vigil: Vigil, at: datetime) -> Tick:
    """One look at production: health, and the codes of all answers."""
    health = await probe.get(vigil.health)
    seen = [health, *[await probe.get(address) for address in vigil.others]]
    answers = [answer for answer in seen if isinstance(answer, Answer)]
    well = isinstance(health, Answer) and health.is_healthy
    return Tick(
        at=at,
        well=well,
        answers=len(answers),
        errors=sum(answer.is_server_error for answer in answers),
        note="" if well else told(health),
    )
