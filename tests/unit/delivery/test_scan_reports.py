"""Reports of scanners: read strictly, and compared without line numbers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.delivery.scan_reports import Discovery, UnreadableReport, new_among, read_report

SECRETS = {
    "results": {"a.py": [{"type": "AWS Access Key", "hashed_secret": "25910f", "line_number": 3}]},
}
AUDIT = {
    "dependencies": [
        {"name": "old", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"]}]},
        {"name": "ours", "skip_reason": "not found"},
        {"name": "fine", "version": "2.0", "vulns": []},
    ]
}
SCANNERS = ("bandit", "detect-secrets", "pip-audit", "sarif")


def read(scanner, data) -> tuple[Discovery, ...]:
    return read_report(scanner, json.dumps(data).encode())


def test_a_secret_is_found_with_its_place_and_without_its_text():
    (found,) = read("detect-secrets", SECRETS)
    assert (found.level, found.text) == ("high", "a.py:3: possible secret (AWS Access Key)")


def test_a_file_that_was_not_scanned_is_a_finding():
    (found,) = read("bandit", {"errors": [{"filename": "./a.py", "reason": "syntax error"}], "results": []})
    assert (found.level, found.text) == ("high", "a.py: not scanned, syntax error")


def test_a_vulnerable_dependency_is_found_with_its_mend():
    (found,) = read("pip-audit", AUDIT)
    assert found.text == "old 1.0: PYSEC-1, fixed in 1.1"


@pytest.mark.parametrize(
    ("scanner", "data"),
    [
        ("bandit", {}),
        ("bandit", {"errors": [], "results": [{}]}),
        ("bandit", []),
        ("detect-secrets", {"results": {"a.py": [{}]}}),
        ("pip-audit", {"dependencies": [{"name": "a", "skip_reason": "no advisory source"}]}),
        ("pip-audit", {"dependencies": None}),
        ("sarif", {"runs": [{"results": [{"ruleId": "R"}]}]}),
        ("sarif", None),
    ],
)
def test_what_is_no_report_is_never_a_clean_one(scanner, data):
    with pytest.raises(UnreadableReport):
        read(scanner, data)


@given(scanner=st.sampled_from(SCANNERS), report=st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(scanner, report):
    try:
        found = read_report(scanner, report)
    except UnreadableReport:
        found = ()
    assert all(isinstance(one, Discovery) for one in found)


def test_a_finding_that_moved_is_known_and_a_second_one_is_new():
    one, moved, other = (
        Discovery("high", "same", "a:1"),
        Discovery("high", "same", "a:9"),
        Discovery("low", "else", "b:1"),
    )
    assert new_among([moved], [one]) == ()
    assert new_among([one, moved, other], [one]) == (moved, other)


@pytest.mark.parametrize(("level", "least", "counts"), [("low", "medium", False), ("high", "medium", True)])
def test_a_finding_counts_from_a_severity_up(level, least, counts):
    assert Discovery(level, "k", "t").counts_from(least) is counts
