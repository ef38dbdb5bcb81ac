"""A person asks a gate what it reads in a document."""

import pytest

from orchestrator.pipeline.gates import GateName

GATE = "check_tests_passed"


@pytest.mark.parametrize(
    ("text", "answer", "code"),
    [
        ("---\nresult: PASS\n---\n# Report\n", "passed", 0),
        ("---\nverdict: PASS\nstatus: FAILED\n---\n", "failed", 1),
        ("---\nresult: PASS\nresult: FAIL\n---\n", "inconclusive", 2),
        ("no front matter", "inconclusive", 2),
        ("", "inconclusive", 2),
    ],
)
def test_the_exit_code_is_the_answer(orch, tmp_path, text, answer, code):
    (tmp_path / "13-test-report.md").write_text(text)
    ran = orch("gates", "parse", "--gate", GATE, "13-test-report.md", "--json")
    assert (ran.code, ran.json["answer"], ran.json["gate"]) == (code, answer, GATE)
    assert ran.json["reason"]


def test_without_json_the_answer_is_a_line(orch, tmp_path):
    (tmp_path / "log.md").write_text("---\nstaging_status: SUCCESS\n---\n")
    ran = orch("gates", "parse", "--gate", "check_staging_status", "log.md")
    assert ran.out == "passed: the document says SUCCESS\n"


@pytest.mark.parametrize(
    ("gate", "told"), [("check_ci_green", "reads no document"), ("check_luck", "is no gate")]
)
def test_a_gate_that_reads_no_document_is_refused(orch, tmp_path, gate, told):
    (tmp_path / "any.md").write_text("---\nverdict: APPROVED\n---\n")
    ran = orch("gates", "parse", "--gate", gate, "any.md", "--json")
    assert ran.code == 2
    assert f"{gate} {told}" in ran.json["error"]


def test_a_missing_file_is_named(orch):
    ran = orch("gates", "parse", "--gate", GATE, "nowhere.md")
    assert (ran.code, ran.err) == (2, "orch: nowhere.md cannot be read: No such file or directory\n")


def test_every_gate_is_listed_with_its_place(orch):
    rows = {row["gate"]: row for row in orch("gates", "list", "--json").json}
    assert set(rows) == set(GateName)
    assert rows["check_coverage_gate"] == {
        "gate": "check_coverage_gate",
        "stage": "deploy-staging",
        "order": 4,
        "artifact": "11-coverage-report.md",
        "machine_key": "coverage_status",
    }
    assert rows["check_tests_local"]["stage"] is None


def test_the_list_is_a_table_for_people(orch):
    lines = orch("gates", "list").out.splitlines()
    assert lines[0].split() == ["Gate", "Leaving", "Order", "Document", "Key"]
    assert any(line.split() == ["check_ci_green", "development", "1"] for line in lines)
