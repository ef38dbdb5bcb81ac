"""The circuit breaker opens, lets one run try, and closes again; it never lets anybody through too early."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.pipeline.breaker import (
    LONGEST_STATED,
    Breaker,
    Go,
    Probe,
    Report,
    Rules,
    State,
    Wait,
    admit,
    after,
    from_text,
    to_text,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
RULES = Rules()
LIMIT = timedelta(hours=1)
S = timedelta(seconds=1)


def refused(breaker, now=NOW, run=1, **told):
    return after(breaker, Report.REFUSED, now=now, run=run, rules=RULES, reason="429", **told)


def opened(now=NOW, **told):
    breaker = Breaker()
    for run in range(RULES.refusals):
        breaker = refused(breaker, now, run, **told)
    return breaker


def trying(run=7):
    go, breaker = admit(opened(), now=NOW + 60 * S, run=run, limit=LIMIT)
    assert go == Go()
    return breaker


def test_it_opens_after_refusals_in_a_row_and_says_until_when():
    breaker = refused(refused(Breaker()))
    assert admit(breaker, now=NOW, run=3, limit=LIMIT) == (Go(), breaker)
    breaker = refused(breaker)
    assert (breaker.state, breaker.opened_at, breaker.delay) == (State.OPEN, NOW, 60 * S)
    assert admit(breaker, now=NOW + 59 * S, run=4, limit=LIMIT) == (Wait(NOW + 60 * S, "429"), breaker)


def test_a_served_run_in_between_begins_the_count_anew():
    served = after(refused(refused(Breaker())), Report.SERVED, now=NOW, run=2, rules=RULES)
    assert refused(refused(served)).state is State.CLOSED


def test_a_run_that_says_nothing_changes_nothing():
    twice = refused(refused(Breaker()))
    assert after(twice, Report.SILENT, now=NOW, run=2, rules=RULES) == twice


def test_the_time_that_the_provider_names_comes_first():
    at = NOW + timedelta(hours=3)
    assert opened(retry_at=at).until == at
    assert opened(retry_at=NOW - S).until == NOW + 60 * S
    assert opened(retry_at=NOW + timedelta(days=4000)).until == NOW + LONGEST_STATED


def test_one_run_at_a_time_tries_and_may_ask_again_after_a_restart():
    breaker = trying(run=7)
    assert breaker.state is State.HALF_OPEN
    assert admit(breaker, now=NOW + 70 * S, run=7, limit=LIMIT)[0] == Go()
    other, _ = admit(breaker, now=NOW + 70 * S, run=8, limit=LIMIT)
    assert isinstance(other, Wait)
    assert "another run tries" in other.reason


def test_it_closes_when_the_run_that_tries_is_served():
    assert after(trying(), Report.SERVED, now=NOW + 90 * S, run=7, rules=RULES) == Breaker()


def test_a_run_of_before_that_ends_well_does_not_close_it():
    for breaker in (opened(), trying()):
        assert after(breaker, Report.SERVED, now=NOW + 90 * S, run=1, rules=RULES) == breaker


def test_the_delay_doubles_up_to_the_longest():
    breaker, now, delays = opened(), NOW, []
    for run in range(7):
        delays.append(breaker.delay // S)
        now = breaker.until
        _, breaker = admit(breaker, now=now, run=run, limit=LIMIT)
        breaker = refused(breaker, now, run)
    assert delays == [60, 120, 240, 480, 900, 900, 900]


def test_a_late_refusal_does_not_lengthen_the_pause_unless_the_provider_names_a_time():
    breaker = opened()
    assert refused(breaker, NOW + 30 * S).until == breaker.until
    assert refused(breaker, NOW + 30 * S, retry_at=NOW + LIMIT).until == NOW + LIMIT


def test_a_run_that_tries_and_tells_nothing_makes_room_for_the_next():
    silent = after(trying(), Report.SILENT, now=NOW + 90 * S, run=7, rules=RULES)
    go, breaker = admit(silent, now=NOW + 90 * S, run=8, limit=LIMIT)
    assert (go, breaker.probe) == (Go(), Probe(8, NOW + 90 * S + LIMIT))


def test_a_run_that_tries_and_never_reports_is_given_up_after_its_limit():
    breaker = trying()
    assert breaker.probe is not None
    just_before, _ = admit(breaker, now=breaker.probe.until - S, run=8, limit=LIMIT)
    then, _ = admit(breaker, now=breaker.probe.until, run=8, limit=LIMIT)
    assert (type(just_before), then) == (Wait, Go())


MOMENTS = st.timedeltas(timedelta(days=-2000), timedelta(days=5000)).map(lambda age: NOW + age)
BREAKERS = st.builds(
    Breaker,
    state=st.sampled_from(State),
    refusals=st.integers(0, 100),
    opened_at=st.none() | MOMENTS,
    until=st.none() | MOMENTS,
    delay=st.timedeltas(timedelta(), RULES.longest),
    reason=st.text(),
    probe=st.none() | st.builds(Probe, st.integers(), MOMENTS),
)


@given(BREAKERS)
def test_a_breaker_survives_being_kept(breaker):
    assert from_text(to_text(breaker)) == breaker


@given(st.none() | st.text())
def test_any_text_is_a_breaker(text):
    assert isinstance(from_text(text), Breaker)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "3",
        '{"state": "open"}',
        to_text(opened()).replace("+00:00", ""),
        to_text(opened()).replace("60.0", "1e300"),
        to_text(opened()).replace("60.0", "NaN"),
        to_text(trying()).replace("7", '"x"'),
    ],
)
def test_what_cannot_be_read_is_a_closed_one(text):
    assert from_text(text) == Breaker()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", *Report]),
        st.integers(1, 4),
        st.timedeltas(timedelta(), timedelta(hours=2)),
        st.none() | st.timedeltas(timedelta(days=-1), timedelta(days=30)),
    ),
    max_size=40,
)


@given(STEPS)
def test_nobody_is_let_through_early_and_somebody_is_some_day(steps):
    breaker, now = Breaker(), NOW
    for what, run, pause, stated in steps:
        now += pause
        if what == "ask":
            before = breaker
            answer, breaker = admit(breaker, now=now, run=run, limit=LIMIT)
            if isinstance(answer, Go):
                assert before.state is not State.OPEN or before.until is None or now >= before.until
                assert before.probe is None or before.probe.run == run or now >= before.probe.until
            else:
                assert answer.until > now
        else:
            at = None if stated is None else now + stated
            breaker = after(breaker, Report(what), now=now, run=run, rules=RULES, retry_at=at)
        assert breaker.delay <= RULES.longest
        assert from_text(to_text(breaker)) == breaker
    for _ in range(200):
        answer, breaker = admit(breaker, now=now, run=99, limit=LIMIT)
        if isinstance(answer, Go):
            return
        assert answer.until - now <= LONGEST_STATED
        now = answer.until
    pytest.fail("nobody was ever let through")
