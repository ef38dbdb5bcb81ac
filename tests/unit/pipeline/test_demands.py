import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.pipeline.demands import Demand, Source, forbids, merge, source_of, subjects_of
from orchestrator.pipeline.gates import GateName

KEEP = Demand(Source.REVIEWER, "Do not touch `src/gate.py`: it is shared.", 1)
CHANGE = Demand(Source.TESTER, "Fix src/gate.py:12, the test is red.", 2)

demands = st.builds(
    Demand,
    st.sampled_from(Source),
    st.lists(st.sampled_from(["do not change", "fix", "`a.py`", "src/b.py", "c_d", "and"]), max_size=6).map(
        " ".join
    ),
    st.integers(0, 3),
)


@pytest.mark.parametrize(
    "text",
    [
        "Do not touch the gate",
        "You must  not\nweaken it",
        "Don’t rename it",
        "Leave `x.py` alone",
        "Mend it without changing the test",
        "Не трогать общий гейт",
        "Нельзя менять тест",
        "Revert the change",
    ],
)
def test_prohibitions_are_recognised(text):
    assert forbids(text)


@pytest.mark.parametrize(
    "text", ["Fix the gate", "It does not handle empty input", "Тест не проходит", "Leave"]
)
def test_other_demands_are_not_prohibitions(text):
    assert not forbids(text)


def test_subjects_are_files_and_identifiers_without_their_line():
    text = "Fix `take()` in (src/Lease.py:42), not README.md; see https://example.org/a.py and max_size."
    assert subjects_of(text) == {"take", "src/lease.py", "lease.py", "readme.md", "max_size"}


def test_the_reviewer_leads_over_the_tester():
    (merged,) = merge([CHANGE], [KEEP])
    assert merged.leading == KEEP
    assert merged.yielding == (CHANGE,)
    assert set(merged.subjects) == {"src/gate.py", "gate.py"}


def test_governance_leads_over_everybody():
    rule = Demand(Source.GOVERNANCE, "Never change `.orchestrator.yml`")
    wish = Demand(Source.REVIEWER, "Add a scanner to `.orchestrator.yml`", 1)
    (merged,) = merge([wish], [rule])
    assert (merged.leading, merged.yielding) == (rule, (wish,))


def test_the_newer_demand_of_the_same_source_leads():
    newer = Demand(Source.REVIEWER, "Fix `src/gate.py` after all", 2)
    (merged,) = merge([newer], [KEEP])
    assert (merged.leading, merged.yielding) == (newer, (KEEP,))


def test_demands_about_different_things_do_not_contradict():
    assert merge([Demand(Source.TESTER, "Fix src/other.py", 2)], [KEEP]) == ()
    assert merge([Demand(Source.TESTER, "Do not change src/gate.py", 2)], [KEEP]) == ()


def test_an_old_quarrel_is_not_repeated():
    assert merge([Demand(Source.TESTER, "Fix src/other.py", 3)], [KEEP, CHANGE]) == ()


@given(st.lists(demands, max_size=6), st.lists(demands, max_size=6))
def test_every_merged_instruction_has_two_sides_and_touches_a_current_demand(current, standing):
    for merged in merge(current, standing):
        assert {forbids(demand.text) for demand in merged.yielding} == {not forbids(merged.leading.text)}
        assert {merged.leading, *merged.yielding} & set(current)


def test_every_gate_has_a_source():
    sources = {gate: source_of(gate) for gate in GateName}
    assert sources[GateName.REVIEWER_VERDICT] is Source.REVIEWER
    assert sources[GateName.TESTS_PASSED] is Source.TESTER
    assert sources[GateName.SECURITY] is Source.PIPELINE


def test_many_large_demands_take_linear_time():
    names = " ".join(f"`file_{number}.py`" for number in range(20_000))
    current = [Demand(Source.TESTER, f"leave fix {names} {side}", 2) for side in range(4)]
    started = time.process_time()
    merged = merge(current, [Demand(Source.REVIEWER, f"Do not touch {names}", 1)])
    assert len(merged) == 1
    assert time.process_time() - started < 5
