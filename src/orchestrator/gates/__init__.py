"""The registry of quality gates: fourteen names, one check each (inventory §4.1)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from orchestrator.gates import (
    analysis_approved,
    analysis_complete,
    architecture_done,
    branch_mergeable,
    ci_green,
    coverage,
    deploy_status,
    image_freshness,
    review_approved,
    reviewer_verdict,
    security,
    staging_status,
    tests_local,
    tests_passed,
)
from orchestrator.gates.tools import Check, GateTools, Limits, Scope
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.verdicts import Verdict
from orchestrator.ports.gate import Gate, Question

__all__ = ["QG_CHECKS", "Check", "GateTools", "Limits", "Scope", "bind"]

QG_CHECKS: Final[Mapping[GateName, Check]] = MappingProxyType(
    {
        GateName.ANALYSIS_APPROVED: analysis_approved.check,
        GateName.ANALYSIS_COMPLETE: analysis_complete.check,
        GateName.ARCHITECTURE_DONE: architecture_done.check,
        GateName.CI_GREEN: ci_green.check,
        GateName.REVIEW_APPROVED: review_approved.check,
        GateName.TESTS_PASSED: tests_passed.check,
        GateName.REVIEWER_VERDICT: reviewer_verdict.check,
        GateName.TESTS_LOCAL: tests_local.check,
        GateName.DEPLOY_STATUS: deploy_status.check,
        GateName.STAGING_STATUS: staging_status.check,
        GateName.BRANCH_MERGEABLE: branch_mergeable.check,
        GateName.STAGING_IMAGE_FRESH: image_freshness.check,
        GateName.SECURITY: security.check,
        GateName.COVERAGE: coverage.check,
    }
)
"""Every gate by its name; the names are contracts."""


def bind(tools: GateTools) -> Mapping[GateName, Gate]:
    """The gates as the engine asks them, each with its tools at hand."""
    return {name: _bound(check, tools) for name, check in QG_CHECKS.items()}


def _bound(check: Check, tools: GateTools) -> Gate:
    async def gate(question: Question) -> Verdict:
        return await check(question, tools)

    return gate
