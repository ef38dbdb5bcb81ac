"""The read-only smoke test of a running service (ORCH-116 D3).

A service that cannot be reached is asked again a few times; one that answers wrongly has failed at once.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from orchestrator.config.contract import Smoke as Declared
from orchestrator.config.contract import SmokeCheck
from orchestrator.config.placeholders import expand
from orchestrator.delivery.probe import Answer, NoAnswer, Probe, joined
from orchestrator.errors import BadInput
from orchestrator.pipeline.reports import Smoke
from orchestrator.ports.clock import Clock

PAUSES: Final = (timedelta(milliseconds=200), timedelta(milliseconds=500), timedelta(seconds=1))
"""Before each further try of a service that could not be reached."""


@dataclass(frozen=True, slots=True)
class SmokeResult:
    """How it went; ``reason`` is one line about the check that failed, or why none could be done."""

    state: Smoke
    reason: str = ""

    @property
    def was_impossible(self) -> bool:
        """Whether the checks were wanted and could not be done: that says nothing about the code."""
        return self.state is Smoke.SKIPPED and bool(self.reason)


SKIPPED: Final = SmokeResult(Smoke.SKIPPED)


class SmokeTest:
    """Does the checks of a contract's section ``smoke``, in their order, until one fails."""

    def __init__(self, probe: Probe, clock: Clock) -> None:
        self._probe = probe
        self._clock = clock

    async def run(self, smoke: Declared, variables: Mapping[str, str], *, record: Path) -> SmokeResult:
        """Do the checks once; the result stays in ``record``, so that asking again gives the same."""
        known = _remembered(record)
        if known is not None:
            return known
        result = SmokeResult(Smoke.OK)
        try:
            base_url = expand(smoke.base_url, variables)
        except BadInput as error:
            return SmokeResult(Smoke.SKIPPED, str(error))
        for check in smoke.checks:
            fault = await self._fault(check, joined(base_url, check.path))
            if fault is not None:
                result = SmokeResult(Smoke.FAILED, fault)
                break
        _remember(record, result)
        return result

    async def _fault(self, check: SmokeCheck, url: str) -> str | None:
        seen = await self._probe.get(url)
        for pause in PAUSES:
            if isinstance(seen, Answer):
                break
            await self._clock.sleep(pause)
            seen = await self._probe.get(url)
        if isinstance(seen, NoAnswer):
            return seen.reason
        return _wrong(check, seen)


def _wrong(check: SmokeCheck, answer: Answer) -> str | None:
    """What is wrong with an answer; ``None`` when nothing is."""
    if answer.status != check.status:
        return f"{check.path} answered {answer.status}, not {check.status}"
    if check.contains is not None and check.contains not in answer.text:
        return f"{check.path} does not contain {check.contains!r}"
    if check.json_key is not None:
        said = answer.json()
        if not isinstance(said, dict) or check.json_key not in said:
            return f"{check.path} has no key {check.json_key!r}"
    return None


def _remembered(record: Path) -> SmokeResult | None:
    try:
        said = json.loads(record.read_text(encoding="utf-8"))
        return SmokeResult(Smoke(said["state"]), str(said["reason"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        # A record that was cut short is none: the checks only read, so they are done again.
        return None


def _remember(record: Path, result: SmokeResult) -> None:
    record.parent.mkdir(parents=True, exist_ok=True)
    part = record.with_name(f"{record.name}.part")
    part.write_text(json.dumps({"state": result.state, "reason": result.reason}), encoding="utf-8")
    part.replace(record)
