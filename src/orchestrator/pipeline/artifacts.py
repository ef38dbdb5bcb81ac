"""The numbered documents of a work item: who writes which, in which stage, and what they must carry."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final, TypeAlias

from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.stages import Role, Stage


class Producer(StrEnum):
    """Deterministic code that writes documents; the value is its honest ``author_agent`` (inventory §5)."""

    INTAKE = "intake"
    TEST_RUNNER = "test-runner"
    STAGING_RUNNER = "staging-runner"
    SECURITY_GATE = "security-gate"
    COVERAGE_GATE = "coverage-gate"
    DEPLOY_FINALIZER = "deploy-finalizer"
    POST_DEPLOY_MONITOR = "post-deploy-monitor"


Writer: TypeAlias = Role | Producer


class Frontmatter(StrEnum):
    """Where a document keeps its machine-read keys."""

    NONE = "none"
    HEADER = "header"
    WHOLE_FILE = "whole_file"


@dataclass(frozen=True, slots=True)
class Artifact:
    """One row of the catalogue; ``name`` is a path below the item's directory and may hold ``*``.

    ``required`` says whether the writer's work counts as delivered only when the file is there.
    """

    number: str
    name: str
    writer: Writer
    stage: Stage
    required: bool = False
    machine_key: str = ""
    frontmatter: Frontmatter = Frontmatter.HEADER

    def matches(self, path: str) -> bool:
        """Whether ``path``, relative to the item's directory, is (one of) this artifact."""
        given, wanted = path.split("/"), self.name.split("/")
        return len(given) == len(wanted) and all(map(fnmatchcase, given, wanted))


CATALOGUE: Final = (
    Artifact("00", "00-business-request.md", Producer.INTAKE, Stage.CREATED, frontmatter=Frontmatter.NONE),
    Artifact("01", "01-brd.md", Role.ANALYST, Stage.ANALYSIS, required=True),
    Artifact("02", "02-trz.md", Role.ANALYST, Stage.ANALYSIS, required=True),
    Artifact("03", "03-acceptance-criteria.md", Role.ANALYST, Stage.ANALYSIS, required=True),
    Artifact(
        "04",
        "04-test-plan.yaml",
        Role.ANALYST,
        Stage.ANALYSIS,
        required=True,
        frontmatter=Frontmatter.WHOLE_FILE,
    ),
    Artifact("06", "06-adr/ADR-*.md", Role.ARCHITECT, Stage.ARCHITECTURE, required=True),
    Artifact("07", "07-infra-requirements.md", Role.ARCHITECT, Stage.ARCHITECTURE),
    Artifact("08", "08-data-requirements.md", Role.ARCHITECT, Stage.ARCHITECTURE),
    Artifact(
        "09",
        "09-security-report.md",
        Producer.SECURITY_GATE,
        Stage.DEPLOY_STAGING,
        machine_key="security_status",
    ),
    Artifact("10", "10-tech-risks.md", Role.ARCHITECT, Stage.ARCHITECTURE, required=True),
    Artifact(
        "11",
        "11-coverage-report.md",
        Producer.COVERAGE_GATE,
        Stage.DEPLOY_STAGING,
        machine_key="coverage_status",
    ),
    Artifact("12", "12-review.md", Role.REVIEWER, Stage.REVIEW, required=True, machine_key="verdict"),
    Artifact("13", "13-test-report.md", Role.TESTER, Stage.TESTING, required=True, machine_key="result"),
    Artifact(
        "14", "14-deploy-log.md", Role.DEPLOYER, Stage.DEPLOY, required=True, machine_key="deploy_status"
    ),
    Artifact(
        "15",
        "15-staging-log.md",
        Role.DEPLOYER,
        Stage.DEPLOY_STAGING,
        required=True,
        machine_key="staging_status",
    ),
    Artifact(
        "16",
        "16-post-deploy-log.md",
        Producer.POST_DEPLOY_MONITOR,
        Stage.DONE,
        machine_key="post_deploy_status",
    ),
)
"""Every artifact by number (inventory §5); 05 is never used. A runner in place of a role writes its file."""

_BY_NUMBER: Final = {artifact.number: artifact for artifact in CATALOGUE}

SCHEMA_KEYS: Final = ("work_item", "stage", "author_agent", "status", "created_at", "model_used")
"""The front matter that every document carries: the 52c schema (inventory §5)."""

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def artifact_dir(work_item: WorkItemId) -> str:
    """The directory of an item's documents, relative to the repository root."""
    return f"docs/work-items/{work_item}"


def artifact(number: str) -> Artifact:
    """The row with this two-digit number.

    Raises: KeyError when the catalogue has no such number.
    """
    return _BY_NUMBER[number]


def artifact_path(work_item: WorkItemId, number: str) -> str:
    """The path of an artifact from the repository root; a pattern for the one that has several files."""
    return f"{artifact_dir(work_item)}/{artifact(number).name}"


def required_artifacts(role: Role, stage: Stage) -> tuple[Artifact, ...]:
    """What ``role`` has to leave behind in ``stage``; nothing for the developer, who leaves code."""
    return tuple(row for row in CATALOGUE if row.required and row.writer is role and row.stage is stage)


def missing_artifacts(role: Role, stage: Stage, paths: Iterable[str]) -> tuple[Artifact, ...]:
    """The required rows that none of ``paths`` (relative to the item's directory) satisfies."""
    present = tuple(paths)
    return tuple(
        row for row in required_artifacts(role, stage) if not any(row.matches(path) for path in present)
    )


def check_schema(meta: Mapping[str, object], *, work_item: WorkItemId, stage: Stage) -> tuple[str, ...]:
    """What is wrong with a document's 52c front matter, one line each; empty when nothing is."""
    problems: list[str] = []
    for key in SCHEMA_KEYS:
        value = meta.get(key)
        if value is None or (isinstance(value, str) and not value.strip()):
            problems.append(f"{key} is missing")
        elif not isinstance(value, (str, int, float, date)):
            problems.append(f"{key} is not one plain value")
    problems += _differs(meta, "work_item", work_item)
    problems += _differs(meta, "stage", stage.value)
    created = meta.get("created_at")
    if isinstance(created, (str, date)) and str(created).strip() and not _is_day(created):
        problems.append("created_at is not a day (YYYY-MM-DD)")
    return tuple(problems)


def _differs(meta: Mapping[str, object], key: str, expected: str) -> list[str]:
    value = meta.get(key)
    if isinstance(value, str) and value.strip() and value.strip() != expected:
        return [f"{key} is {value.strip()[:60]!r}, not {expected!r}"]
    if isinstance(value, (int, float, date)):
        return [f"{key} is not {expected!r}"]
    return []


def _is_day(value: str | date) -> bool:
    if not isinstance(value, str):
        return not isinstance(value, datetime)
    if not _DAY.fullmatch(value.strip()):
        return False
    try:
        date.fromisoformat(value.strip())
    except ValueError:
        return False
    return True
