from orchestrator.pipeline.stages import (
    STAGE_TRANSITIONS,
    TERMINAL,
    WORKING,
    Role,
    Stage,
    Track,
    next_stage,
    role_in,
)

TABLE = [
    ("created", "analysis", "analyst", None),
    ("analysis", "architecture", "architect", "check_analysis_approved"),
    ("architecture", "development", "developer", "check_architecture_done"),
    ("development", "review", "reviewer", "check_ci_green"),
    ("review", "testing", "tester", "check_reviewer_verdict"),
    ("testing", "deploy-staging", "deployer", "check_tests_passed"),
    ("deploy-staging", "deploy", "deployer", "check_staging_status"),
    ("deploy", "done", None, "check_deploy_status"),
    ("done", None, None, None),
    ("cancelled", None, None, None),
]


def test_the_transition_table_is_frozen():
    rows = [(stage, row["next"], row["agent"], row["qg"]) for stage, row in STAGE_TRANSITIONS.items()]
    assert rows == TABLE


def test_the_staging_row_has_exactly_three_keys():
    assert STAGE_TRANSITIONS[Stage.DEPLOY_STAGING] == {
        "next": "deploy",
        "agent": "deployer",
        "qg": "check_staging_status",
    }


def test_every_row_has_the_same_three_keys():
    assert all(set(row) == {"next", "agent", "qg"} for row in STAGE_TRANSITIONS.values())


def test_the_agents_of_the_table_are_the_six_roles():
    agents = {row["agent"] for row in STAGE_TRANSITIONS.values()} - {None}
    assert agents == {"analyst", "architect", "developer", "reviewer", "tester", "deployer"}
    assert agents == set(Role)


def test_the_road_leads_from_created_to_done():
    stage: Stage | None = Stage.CREATED
    road = []
    while stage is not None:
        road.append(stage)
        stage = next_stage(stage)
    assert road == [Stage.CREATED, *WORKING, Stage.DONE]


def test_a_bug_skips_architecture_and_nothing_else():
    differing = [stage for stage in Stage if next_stage(stage) is not next_stage(stage, Track.BUG)]
    assert differing == [Stage.ANALYSIS]
    assert next_stage(Stage.ANALYSIS, Track.BUG) is Stage.DEVELOPMENT


def test_each_working_stage_has_the_role_that_the_stage_before_launches():
    assert {stage: role_in(stage) for stage in WORKING} == {
        Stage.ANALYSIS: Role.ANALYST,
        Stage.ARCHITECTURE: Role.ARCHITECT,
        Stage.DEVELOPMENT: Role.DEVELOPER,
        Stage.REVIEW: Role.REVIEWER,
        Stage.TESTING: Role.TESTER,
        Stage.DEPLOY_STAGING: Role.DEPLOYER,
        Stage.DEPLOY: Role.DEPLOYER,
    }


def test_nobody_works_before_the_start_or_after_the_end():
    assert [role_in(stage) for stage in (Stage.CREATED, *sorted(TERMINAL))] == [None, None, None]
