"""The stage machine: the frozen transition table and the questions asked of it (inventory §3.1)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypedDict


class Stage(StrEnum):
    """Where a work item stands; the values are contract names."""

    CREATED = "created"
    ANALYSIS = "analysis"
    ARCHITECTURE = "architecture"
    DEVELOPMENT = "development"
    REVIEW = "review"
    TESTING = "testing"
    DEPLOY_STAGING = "deploy-staging"
    DEPLOY = "deploy"
    DONE = "done"
    CANCELLED = "cancelled"


class Role(StrEnum):
    """Who does the work of a stage; the values are contract names."""

    ANALYST = "analyst"
    ARCHITECT = "architect"
    DEVELOPER = "developer"
    REVIEWER = "reviewer"
    TESTER = "tester"
    DEPLOYER = "deployer"

    @property
    def writes_code(self) -> bool:
        """Whether the role may change the repository; all others write the documents of the item alone."""
        return self is Role.DEVELOPER


class Track(StrEnum):
    """Which road an item takes: a bug skips architecture (ORCH-019)."""

    FULL = "full"
    BUG = "bug"


class Transition(TypedDict):
    """One row: the next stage, the role launched on leaving, and the exit gate."""

    next: Stage | None
    agent: Role | None
    qg: str | None


STAGE_TRANSITIONS: Final[Mapping[Stage, Transition]] = {
    Stage.CREATED: {"next": Stage.ANALYSIS, "agent": Role.ANALYST, "qg": None},
    Stage.ANALYSIS: {"next": Stage.ARCHITECTURE, "agent": Role.ARCHITECT, "qg": "check_analysis_approved"},
    Stage.ARCHITECTURE: {"next": Stage.DEVELOPMENT, "agent": Role.DEVELOPER, "qg": "check_architecture_done"},
    Stage.DEVELOPMENT: {"next": Stage.REVIEW, "agent": Role.REVIEWER, "qg": "check_ci_green"},
    Stage.REVIEW: {"next": Stage.TESTING, "agent": Role.TESTER, "qg": "check_reviewer_verdict"},
    Stage.TESTING: {"next": Stage.DEPLOY_STAGING, "agent": Role.DEPLOYER, "qg": "check_tests_passed"},
    Stage.DEPLOY_STAGING: {"next": Stage.DEPLOY, "agent": Role.DEPLOYER, "qg": "check_staging_status"},
    Stage.DEPLOY: {"next": Stage.DONE, "agent": None, "qg": "check_deploy_status"},
    Stage.DONE: {"next": None, "agent": None, "qg": None},
    Stage.CANCELLED: {"next": None, "agent": None, "qg": None},
}

TERMINAL: Final = (Stage.DONE, Stage.CANCELLED)

WORKING: Final = tuple(stage for stage in Stage if stage not in TERMINAL and stage is not Stage.CREATED)
"""The stages in which somebody works, in the order of the road."""

_ROLE_IN_STAGE: Final[Mapping[Stage, Role]] = {
    row["next"]: row["agent"]
    for row in STAGE_TRANSITIONS.values()
    if row["next"] is not None and row["agent"] is not None
}


def next_stage(stage: Stage, track: Track = Track.FULL) -> Stage | None:
    """The stage after ``stage`` on ``track``; ``None`` at the end of the road."""
    following = STAGE_TRANSITIONS[stage]["next"]
    if following is Stage.ARCHITECTURE and track is Track.BUG:
        return Stage.DEVELOPMENT
    return following


def role_in(stage: Stage) -> Role | None:
    """Who works inside ``stage``: the role launched on leaving the stage before it."""
    return _ROLE_IN_STAGE.get(stage)
