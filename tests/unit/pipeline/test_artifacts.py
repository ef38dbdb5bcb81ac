from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.pipeline.artifacts import (
    CATALOGUE,
    SCHEMA_KEYS,
    Frontmatter,
    artifact,
    artifact_dir,
    artifact_path,
    check_schema,
    missing_artifacts,
    required_artifacts,
)
from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.stages import Role, Stage

ITEM = WorkItemId("ORCH-7")
GOOD: dict[str, object] = {
    "work_item": "ORCH-7",
    "stage": "analysis",
    "author_agent": "analyst",
    "status": "ready-for-review",
    "created_at": "2026-06-16",
    "model_used": "claude-opus-4-8",
}


def problems(**changes: object) -> tuple[str, ...]:
    return check_schema({**GOOD, **changes}, work_item=ITEM, stage=Stage.ANALYSIS)


def test_documents_live_below_the_number_of_the_item():
    assert artifact_dir(ITEM) == "docs/work-items/ORCH-7"
    assert artifact_path(ITEM, "13") == "docs/work-items/ORCH-7/13-test-report.md"


def test_file_names_are_contracts():
    assert [row.name for row in CATALOGUE] == [
        "00-business-request.md",
        "01-brd.md",
        "02-trz.md",
        "03-acceptance-criteria.md",
        "04-test-plan.yaml",
        "06-adr/ADR-*.md",
        "07-infra-requirements.md",
        "08-data-requirements.md",
        "09-security-report.md",
        "10-tech-risks.md",
        "11-coverage-report.md",
        "12-review.md",
        "13-test-report.md",
        "14-deploy-log.md",
        "15-staging-log.md",
        "16-post-deploy-log.md",
    ]
    assert all(row.name.startswith(row.number) for row in CATALOGUE)
    assert all(artifact(row.number) is row for row in CATALOGUE)


def test_machine_keys_are_contracts():
    assert {row.number: row.machine_key for row in CATALOGUE if row.machine_key} == {
        "09": "security_status",
        "11": "coverage_status",
        "12": "verdict",
        "13": "result",
        "14": "deploy_status",
        "15": "staging_status",
        "16": "post_deploy_status",
    }


def test_only_the_request_has_no_front_matter_and_only_the_plan_is_all_of_it():
    unusual = {row.number: row.frontmatter for row in CATALOGUE if row.frontmatter is not Frontmatter.HEADER}
    assert unusual == {"00": Frontmatter.NONE, "04": Frontmatter.WHOLE_FILE}


@pytest.mark.parametrize(
    ("role", "stage", "numbers"),
    [
        (Role.ANALYST, Stage.ANALYSIS, ["01", "02", "03", "04"]),
        (Role.ARCHITECT, Stage.ARCHITECTURE, ["06", "10"]),
        (Role.DEVELOPER, Stage.DEVELOPMENT, []),
        (Role.REVIEWER, Stage.REVIEW, ["12"]),
        (Role.TESTER, Stage.TESTING, ["13"]),
        (Role.DEPLOYER, Stage.DEPLOY_STAGING, ["15"]),
        (Role.DEPLOYER, Stage.DEPLOY, ["14"]),
        (Role.REVIEWER, Stage.TESTING, []),
    ],
)
def test_each_role_has_to_leave_its_documents(role, stage, numbers):
    assert [row.number for row in required_artifacts(role, stage)] == numbers


def test_one_decision_record_of_any_name_is_enough():
    paths = ["06-adr/ADR-002-lease.md", "10-tech-risks.md"]
    assert missing_artifacts(Role.ARCHITECT, Stage.ARCHITECTURE, paths) == ()
    assert [row.number for row in missing_artifacts(Role.ARCHITECT, Stage.ARCHITECTURE, paths[1:])] == ["06"]


@pytest.mark.parametrize(
    "path", ["06-adr/notes.md", "06-adr/old/ADR-001.md", "x/06-adr/ADR-001.md", "ADR-001.md", "06-adr", ""]
)
def test_other_paths_are_no_decision_records(path):
    assert not artifact("06").matches(path)


def test_a_complete_schema_has_no_problems():
    assert problems() == ()
    assert problems(created_at=date(2026, 6, 16)) == ()


@pytest.mark.parametrize("key", SCHEMA_KEYS)
@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_key_is_named(key, value):
    assert problems(**{key: value}) == (f"{key} is missing",)


@pytest.mark.parametrize("key", SCHEMA_KEYS)
def test_a_list_is_no_value(key):
    assert problems(**{key: ["a", "b"]}) == (f"{key} is not one plain value",)


@pytest.mark.parametrize(
    "created",
    ["16.06.2026", "2026-6-16", "2026-02-30", "2026-06-16T10:00:00", datetime(2026, 6, 16, tzinfo=UTC)],
)
def test_the_date_is_a_day(created):
    assert problems(created_at=created) == ("created_at is not a day (YYYY-MM-DD)",)


def test_a_document_of_another_item_or_stage_is_refused():
    assert problems(work_item="ORCH-8") == ("work_item is 'ORCH-8', not 'ORCH-7'",)
    assert problems(stage="review") == ("stage is 'review', not 'analysis'",)
    assert problems(work_item=7) == ("work_item is not 'ORCH-7'",)


@given(
    st.dictionaries(
        st.sampled_from(SCHEMA_KEYS),
        st.one_of(st.text(), st.none(), st.integers(), st.dates(), st.lists(st.text(), max_size=1)),
    )
)
def test_any_front_matter_can_be_checked(meta):
    found = check_schema(meta, work_item=ITEM, stage=Stage.ANALYSIS)
    assert {f"{key} is missing" for key in SCHEMA_KEYS if key not in meta} <= set(found)
    assert all(len(problem.splitlines()) == 1 for problem in found)
