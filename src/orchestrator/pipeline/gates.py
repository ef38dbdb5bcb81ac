"""Names and order of the quality gates; what they do lives in the package ``gates``."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from orchestrator.pipeline.stages import Stage


class GateName(StrEnum):
    """The fourteen registered gates (inventory §4.1); names are contracts."""

    ANALYSIS_APPROVED = "check_analysis_approved"
    ANALYSIS_COMPLETE = "check_analysis_complete"
    ARCHITECTURE_DONE = "check_architecture_done"
    CI_GREEN = "check_ci_green"
    REVIEW_APPROVED = "check_review_approved"
    TESTS_PASSED = "check_tests_passed"
    REVIEWER_VERDICT = "check_reviewer_verdict"
    TESTS_LOCAL = "check_tests_local"
    DEPLOY_STATUS = "check_deploy_status"
    STAGING_STATUS = "check_staging_status"
    BRANCH_MERGEABLE = "check_branch_mergeable"
    STAGING_IMAGE_FRESH = "check_staging_image_fresh"
    SECURITY = "check_security_gate"
    COVERAGE = "check_coverage_gate"


EDGE_GATES: Final = (
    GateName.SECURITY,
    GateName.BRANCH_MERGEABLE,
    GateName.COVERAGE,
    GateName.STAGING_IMAGE_FRESH,
)
"""Sub-gates of the edge deploy-staging → deploy, in their normative order (inventory §3.4)."""

DOCUMENT_GATES: Final = frozenset(
    {GateName.ANALYSIS_COMPLETE, GateName.ANALYSIS_APPROVED, GateName.ARCHITECTURE_DONE}
)
"""Gates that judge documents, which change without the code: their answers hold for one commit only."""

EXIT_GATES: Final[Mapping[Stage, tuple[GateName, ...]]] = {
    Stage.ANALYSIS: (GateName.ANALYSIS_COMPLETE, GateName.ANALYSIS_APPROVED),
    Stage.ARCHITECTURE: (GateName.ARCHITECTURE_DONE,),
    Stage.DEVELOPMENT: (GateName.CI_GREEN,),
    Stage.REVIEW: (GateName.REVIEWER_VERDICT,),
    Stage.TESTING: (GateName.TESTS_PASSED,),
    Stage.DEPLOY_STAGING: (GateName.STAGING_STATUS, *EDGE_GATES),
    Stage.DEPLOY: (GateName.DEPLOY_STATUS,),
}
"""What must pass before a stage is left, asked in this order; a stage that is absent has no exit gate."""
