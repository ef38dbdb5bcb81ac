"""What gates are given."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeAlias

from orchestrator.delivery.measurement import Measurement
from orchestrator.delivery.merge import MergeService
from orchestrator.delivery.rehearsal import Rehearsal
from orchestrator.delivery.retest import Suite
from orchestrator.delivery.scans import Scans
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.verdicts import Verdict
from orchestrator.ports.forge import Forge
from orchestrator.ports.gate import Question
from orchestrator.ports.projects import ProjectRegistry
from orchestrator.ports.store import Store
from orchestrator.ports.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Scope:
    """Kill switch and comma-separated repositories of a conditional gate (inventory §4.1)."""

    enabled: bool = True
    repos: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings that gates need; the defaults are those of inventory §8 and §12."""

    scopes: Mapping[GateName, Scope] = field(default_factory=dict)
    infra_delay: timedelta = timedelta(seconds=30)
    """Before a suite or scanner that could not run is tried again (``merge_retest_infra_retry_delay_s``)."""
    ci_poll: timedelta = timedelta(seconds=2)
    base_red_delay: timedelta = timedelta(seconds=60)
    coverage_epsilon: float = 0.5
    coverage_fail_closed: bool = False
    governance_allowed: frozenset[str] = frozenset()
    """Projects in which a change of contract, CI or prompts is merged without a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateTools:
    """The neighbours and services that gates ask."""

    workspace: Workspace
    forge: Forge
    projects: ProjectRegistry
    store: Store
    suite: Suite
    merging: MergeService
    measurement: Measurement
    scans: Scans
    rehearsal: Rehearsal
    limits: Limits = Limits()


Check: TypeAlias = Callable[[Question, GateTools], Awaitable[Verdict]]
