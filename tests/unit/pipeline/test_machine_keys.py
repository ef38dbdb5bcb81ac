from collections.abc import Mapping
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.machine_keys import (
    MACHINE_KEYS,
    TEST_NEGATIVE_TOKENS,
    TEST_POSITIVE_TOKENS,
    KeyAnswer,
    KeyFailed,
    KeyPassed,
    KeyUnclear,
    read_coverage_status,
    read_deploy_status,
    read_reviewer_verdict,
    read_security_status,
    read_staging_status,
    read_tests_verdict,
)

READERS = tuple(MACHINE_KEYS.values())
KEYS = (
    "verdict",
    "status",
    "result",
    "staging_status",
    "deploy_status",
    "security_status",
    "coverage_status",
    "post_deploy_status",
)
SINGLE = [
    (read_reviewer_verdict, "verdict", "APPROVED", "REQUEST_CHANGES"),
    (read_staging_status, "staging_status", "SUCCESS", "FAILED"),
    (read_deploy_status, "deploy_status", "SUCCESS", "FAILED"),
    (read_security_status, "security_status", "PASS", "FAIL"),
    (read_coverage_status, "coverage_status", "PASS", "FAIL"),
]
values = st.one_of(
    st.text(),
    st.sampled_from([*TEST_POSITIVE_TOKENS, *TEST_NEGATIVE_TOKENS, "SUCCESS", "covered"]),
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.dates(),
    st.lists(st.text(), max_size=2),
    st.dictionaries(st.text(), st.text(), max_size=2),
    st.binary(max_size=4),
)


def kind(answer: KeyAnswer) -> str:
    return {KeyPassed: "passed", KeyFailed: "failed", KeyUnclear: "unclear"}[type(answer)]


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({"result": "PASS"}, "passed"),
        ({"result": "pass"}, "passed"),
        ({"result": "PASS", "status": "success"}, "passed"),
        ({"result": "FAIL", "status": "failed"}, "failed"),
        ({"verdict": "APPROVED"}, "passed"),
        ({"status": "green"}, "passed"),
        ({"status": "ok"}, "passed"),
        ({"result": "PASSED (30 tests)"}, "passed"),
        ({"result": "PASS", "status": "ready-for-review"}, "passed"),
        ({"result": "PASS", "status": "covered"}, "passed"),
        ({"result": "PASS", "status": "unblocked"}, "passed"),
        ({"result": "PASS", "verdict": "REQUEST_CHANGES"}, "failed"),
        ({"result": "PASS", "verdict": "request changes"}, "failed"),
        ({"result": "PASS", "verdict": "changes-requested"}, "failed"),
        ({"result": "PASS", "status": "red"}, "failed"),
        ({"result": "PASS", "status": "1 FAILURE"}, "failed"),
        ({"result": "PASS/FAIL"}, "failed"),
        ({"result": "error"}, "failed"),
        ({"result": "Rejected"}, "failed"),
        ({"result": "blocked"}, "failed"),
        ({"status": "success"}, "unclear"),
        ({"result": "done"}, "unclear"),
        ({"result": "NOT PASSED"}, "unclear"),
        ({"result": "PASS", "status": "tests_failed"}, "unclear"),
        ({"result": "PAß"}, "unclear"),
        ({"result": True}, "unclear"),
        ({"result": ""}, "unclear"),
        ({"result": None}, "unclear"),
        ({"result": ["PASS"]}, "unclear"),
        ({"result": "PASS", "status": ["success"]}, "unclear"),
        ({"result": {"PASS": "FAIL"}}, "unclear"),
        ({"result": b"PASS"}, "unclear"),
        ({"result": 10**6000}, "unclear"),
        ({"result": date(2026, 6, 16)}, "unclear"),
        ({"Result": "PASS"}, "unclear"),
        ({}, "unclear"),
    ],
)
def test_the_tests_verdict_follows_the_table(meta: Mapping[str, object], expected: str):
    assert kind(read_tests_verdict(meta, ())) == expected


def test_the_peers_are_joined_in_their_order():
    answer = read_tests_verdict({"result": "pass", "status": "success", "verdict": "approved"}, ())
    assert answer == KeyPassed("APPROVED SUCCESS PASS")


def test_positive_and_negative_words_are_disjoint_and_success_is_neither():
    assert {"PASS", "PASSED", "GREEN", "OK", "APPROVED"} == TEST_POSITIVE_TOKENS
    assert {"BLOCKED", "FAILED", "FAIL", "REQUEST_CHANGES", "REJECT", "RED"} <= TEST_NEGATIVE_TOKENS
    assert {"FAILURE", "REJECTED", "ERROR"} <= TEST_NEGATIVE_TOKENS
    assert not TEST_POSITIVE_TOKENS & TEST_NEGATIVE_TOKENS
    assert "SUCCESS" not in TEST_POSITIVE_TOKENS | TEST_NEGATIVE_TOKENS


@given(
    bad=st.sampled_from(sorted(TEST_NEGATIVE_TOKENS)),
    good=st.lists(st.sampled_from(sorted(TEST_POSITIVE_TOKENS)), max_size=4),
    place=st.integers(0, 4),
    key=st.sampled_from(["verdict", "status", "result"]),
    separator=st.sampled_from([" ", ", ", " / ", "; ", "-"]),
)
def test_one_negative_word_outweighs_all_positive_ones(bad, good, place, key, separator):
    words = [*good[:place], bad, *good[place:]]
    meta = {"result": "PASS", key: separator.join(words).lower()}
    assert isinstance(read_tests_verdict(meta, ()), KeyFailed)


@given(word=st.from_regex(r"[a-z]{1,12}", fullmatch=True))
def test_a_word_that_only_contains_a_token_is_neutral(word):
    tokens = TEST_POSITIVE_TOKENS | TEST_NEGATIVE_TOKENS | {"NOT", "NO", "NON"}
    if word.upper() not in tokens:
        assert read_tests_verdict({"result": "PASS", "status": word}, ()) == KeyPassed(f"{word.upper()} PASS")


@pytest.mark.parametrize(("reader", "key", "good", "bad"), SINGLE)
def test_a_single_key_has_two_values(reader, key, good, bad):
    assert reader({key: good}, ()) == KeyPassed(good)
    assert reader({key: f" {good.lower()} "}, ()) == KeyPassed(good)
    assert reader({key: bad}, ()) == KeyFailed(bad)


@pytest.mark.parametrize(("reader", "key", "good", "bad"), SINGLE)
@pytest.mark.parametrize("shape", ["{} or {}", "not {}", "", "maybe", "{0}ish"])
def test_anything_else_in_a_single_key_is_unclear(reader, key, good, bad, shape):
    assert isinstance(reader({key: shape.format(good, bad)}, ()), KeyUnclear)


@pytest.mark.parametrize(("reader", "key", "good", "bad"), SINGLE)
def test_a_single_key_has_no_peers(reader, key, good, bad):
    others = {other: good for other in KEYS if other != key}
    assert isinstance(reader(others, ()), KeyUnclear)
    assert reader({**dict.fromkeys(others, bad), key: good}, ()) == KeyPassed(good)


@given(meta=st.dictionaries(st.sampled_from(KEYS), values), problem=st.text(min_size=1))
def test_a_problem_in_the_document_always_makes_the_answer_unclear(meta, problem):
    for reader in READERS:
        answer = reader(meta, (problem,))
        assert isinstance(answer, KeyUnclear)
        assert "\n" not in answer.reason


@given(meta=st.dictionaries(st.sampled_from(KEYS), values))
def test_any_front_matter_gets_one_of_three_answers_with_a_reason_on_one_line(meta):
    for reader in READERS:
        answer = reader(meta, ())
        if isinstance(answer, KeyUnclear):
            assert answer.reason
            assert len(answer.reason.splitlines()) == 1
        else:
            assert answer.value


def test_reasons_name_the_key_and_what_is_wrong_with_it():
    assert read_staging_status({}, ()) == KeyUnclear("the key staging_status is missing or empty")
    assert read_staging_status({"staging_status": ["SUCCESS"]}, ()) == KeyUnclear(
        "the key staging_status holds a list, not one plain value"
    )
    assert read_deploy_status({"deploy_status": "maybe"}, ()) == KeyUnclear(
        "deploy_status: 'maybe' is none of SUCCESS, FAILED"
    )


def test_the_gates_that_read_an_artifact_are_in_the_table():
    assert set(MACHINE_KEYS) == {
        GateName.TESTS_PASSED,
        GateName.REVIEWER_VERDICT,
        GateName.STAGING_STATUS,
        GateName.DEPLOY_STATUS,
        GateName.SECURITY,
        GateName.COVERAGE,
    }
