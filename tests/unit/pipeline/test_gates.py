from orchestrator.pipeline.gates import EDGE_GATES, EXIT_GATES, GateName
from orchestrator.pipeline.stages import STAGE_TRANSITIONS, WORKING, Stage


def test_the_fourteen_names_are_frozen():
    assert {gate.value for gate in GateName} == {
        "check_analysis_approved",
        "check_analysis_complete",
        "check_architecture_done",
        "check_ci_green",
        "check_review_approved",
        "check_tests_passed",
        "check_reviewer_verdict",
        "check_tests_local",
        "check_deploy_status",
        "check_staging_status",
        "check_branch_mergeable",
        "check_staging_image_fresh",
        "check_security_gate",
        "check_coverage_gate",
    }
    assert len(GateName) == 14


def test_the_edge_asks_security_merge_coverage_freshness_in_this_order():
    assert EDGE_GATES == (
        "check_security_gate",
        "check_branch_mergeable",
        "check_coverage_gate",
        "check_staging_image_fresh",
    )


def test_the_edge_gates_follow_the_staging_verdict():
    assert EXIT_GATES[Stage.DEPLOY_STAGING] == ("check_staging_status", *EDGE_GATES)


def test_every_working_stage_has_an_exit_gate_and_no_other_stage_has():
    assert set(EXIT_GATES) == set(WORKING)
    assert all(EXIT_GATES.values())


def test_the_gate_of_the_transition_table_is_among_the_exit_gates():
    assert all(STAGE_TRANSITIONS[stage]["qg"] in gates for stage, gates in EXIT_GATES.items())
