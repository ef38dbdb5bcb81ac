"""Budgets: what a run may consume under all of them, and when a day begins."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.pipeline.budgets import (
    LEAST,
    Account,
    Bound,
    Ceiling,
    Exhausted,
    Granted,
    Measure,
    Occupied,
    Scope,
    day_start,
    grant,
    limits_of,
    shown,
    standings,
)

HOUR = timedelta(hours=1)
AMOUNTS = {
    Measure.TOKENS: st.integers(1, 10**7).map(float),
    Measure.COST: st.floats(0.0001, 1000),
    Measure.RUNS: st.integers(1, 20).map(float),
    Measure.WALL: st.integers(1, 100_000).map(float),
}
LIMITS = st.dictionaries(
    st.sampled_from([scope for scope in Scope if scope is not Scope.RUN]),
    st.fixed_dictionaries({}, optional=AMOUNTS),
)


def account(spent=None, reserved=None):
    return Account(spent or {}, reserved or {})


def of_item(spent=None, reserved=None):
    return {Scope.ITEM: account(spent, reserved)}


def test_without_budgets_nothing_is_limited():
    assert grant({}, {}, wall=HOUR) == Granted(Ceiling())


def test_a_run_may_have_what_the_tightest_budget_leaves():
    limits = limits_of({"run": {"cost_usd": 5}, "item": {"cost_usd": 20, "tokens": 1000}})
    used = of_item({Measure.COST: 14, Measure.TOKENS: 100}, {Measure.COST: 2.5})
    granted = grant(limits, used, wall=HOUR)
    assert granted == Granted(
        Ceiling(
            tokens=Bound(900, "the item budget of 1000 tokens"),
            cost_usd=Bound(3.5, "the item budget of $20.00"),
        )
    )


def test_what_is_used_up_needs_a_person_and_says_which_budget():
    refused = grant(limits_of({"item": {"cost_usd": 20}}), of_item({Measure.COST: 20.13}), wall=HOUR)
    assert refused == Exhausted("the item budget of $20.00 is used up: $20.13")


def test_what_others_have_reserved_is_waited_for():
    used = of_item({Measure.COST: 3}, {Measure.COST: 17})
    refused = grant(limits_of({"item": {"cost_usd": 20}}), used, wall=HOUR)
    assert refused == Occupied("what is left of the item budget of $20.00 is reserved by runs under way")


def test_waiting_is_not_advised_where_it_would_not_help():
    limits = limits_of({"item": {"cost_usd": 20}, "day": {"runs": 2}})
    used = {**of_item(None, {Measure.COST: 20}), Scope.DAY: account({Measure.RUNS: 2})}
    assert isinstance(grant(limits, used, wall=HOUR), Exhausted)


def test_what_adding_up_fractions_leaves_over_is_nothing():
    assert 0.7 + 0.2 < 0.9
    used = of_item({Measure.COST: 0.7 + 0.2})
    assert isinstance(grant(limits_of({"item": {"cost_usd": 0.9}}), used, wall=HOUR), Exhausted)


def test_the_last_run_is_granted_and_the_next_one_is_not():
    limits = limits_of({"role": {"runs": 3}})
    two, three = ({Scope.ROLE: account({Measure.RUNS: number})} for number in (2, 3))
    assert grant(limits, two, wall=HOUR) == Granted(Ceiling())
    assert grant(limits, three, wall=HOUR) == Exhausted("the role budget of 3 runs is used up: 3 runs")


@pytest.mark.parametrize(("left", "bound"), [(600, True), (3600, False), (7200, False)])
def test_time_is_a_ceiling_only_where_it_ends_a_run_before_its_own_limit(left, bound):
    granted = grant(limits_of({"run": {"wall_s": left}}), {}, wall=HOUR)
    assert isinstance(granted, Granted)
    assert (granted.ceiling.wall_s is not None) is bound


def test_a_ceiling_says_when_it_is_reached():
    ceiling = Ceiling(tokens=Bound(100, "the run budget of 100 tokens"), cost_usd=Bound(2, "the day budget"))
    assert ceiling.reached(tokens=99, cost_usd=1.99) is None
    assert ceiling.reached(tokens=100, cost_usd=0) == "the run budget of 100 tokens is used up: 100 tokens"
    assert ceiling.reached(tokens=0, cost_usd=2.5) == "the day budget is used up: $2.5000"
    assert Ceiling().reached(tokens=10**12, cost_usd=1e9) is None


def test_a_later_layer_takes_the_place_limit_by_limit():
    merged = limits_of({"item": {"cost_usd": 20, "runs": 9}}, {"item": {"cost_usd": 5}, "day": {"tokens": 1}})
    assert merged == {
        Scope.ITEM: {Measure.COST: 5.0, Measure.RUNS: 9.0},
        Scope.DAY: {Measure.TOKENS: 1.0},
    }


@pytest.mark.parametrize("unknown", [{"week": {"tokens": 1}}, {"item": {"money": 1}}])
def test_unknown_names_are_refused(unknown):
    with pytest.raises(ValueError, match="is not a valid"):
        limits_of(unknown)


def test_standings_tell_what_is_left():
    (row,) = standings(limits_of({"item": {"cost_usd": 20}}), of_item({Measure.COST: 14}, {Measure.COST: 7}))
    assert (str(row), row.left, row.is_used_up) == ("the item budget of $20.00", 0.0, False)


@pytest.mark.parametrize(
    ("measure", "amount", "text"),
    [
        (Measure.COST, 0.0, "$0.00"),
        (Measure.COST, 0.005, "$0.0050"),
        (Measure.RUNS, 1, "1 run"),
        (Measure.WALL, 90, "90 s of wall time"),
    ],
)
def test_amounts_are_shown_with_their_unit(measure, amount, text):
    assert shown(measure, amount) == text


@given(LIMITS, st.data())
def test_no_budget_is_overdrawn_however_runs_come_and_go(limits, data):
    """Runs start, consume up to their ceilings and end in any order; each starts under all accounts."""
    wall = HOUR
    spent = dict.fromkeys(Measure, 0.0)
    going: list[dict[Measure, float]] = []
    scopes: list[Scope] = [scope for scope in Scope if scope is not Scope.RUN]
    for _ in range(data.draw(st.integers(1, 8))):
        reserved = {measure: sum(run.get(measure, 0.0) for run in going) for measure in Measure}
        used = {scope: account(dict(spent), reserved) for scope in scopes}
        granted = grant(limits, used, wall=wall)
        if isinstance(granted, Granted):
            going.append(reservation(granted.ceiling, wall))
            spent[Measure.RUNS] += 1
        elif isinstance(granted, Occupied):
            assert going
        if going and data.draw(st.booleans()):
            run = going.pop(data.draw(st.integers(0, len(going) - 1)))
            for measure, amount in run.items():
                spent[measure] += data.draw(st.floats(0, 1)) * amount
        for named in limits.values():
            assert all(spent[measure] <= limit * (1 + 1e-9) for measure, limit in named.items())


def reservation(ceiling, wall):
    bounds = {Measure.TOKENS: ceiling.tokens, Measure.COST: ceiling.cost_usd, Measure.WALL: ceiling.wall_s}
    reserved = {measure: bound.amount for measure, bound in bounds.items() if bound is not None}
    return {Measure.WALL: wall.total_seconds()} | reserved


@given(LIMITS, st.dictionaries(st.sampled_from(list(Scope)), st.fixed_dictionaries({}, optional=AMOUNTS)))
def test_what_is_granted_is_worth_a_run_and_within_every_budget(limits, spent):
    accounts = {scope: account(amounts) for scope, amounts in spent.items()}
    granted = grant(limits, accounts, wall=HOUR)
    rows = standings(limits, accounts)
    assert isinstance(granted, Exhausted) is any(row.is_used_up for row in rows)
    if isinstance(granted, Granted):
        for measure, amount in reservation(granted.ceiling, HOUR).items():
            lefts = [row.left for row in rows if row.measure is measure]
            assert amount >= LEAST[measure]
            assert all(amount <= left for left in lefts)


@pytest.mark.parametrize(
    ("zone", "now", "begin"),
    [
        ("Europe/Berlin", "2026-03-29T10:00+00:00", "2026-03-28T23:00+00:00"),
        ("Europe/Berlin", "2026-10-25T23:30+00:00", "2026-10-25T23:00+00:00"),
        ("Europe/Berlin", "2026-10-25T22:30+00:00", "2026-10-24T22:00+00:00"),
        # The clocks jump over midnight: the day begins at one o'clock.
        ("Africa/Cairo", "2026-04-24T12:00+00:00", "2026-04-23T22:00+00:00"),
        # They go back over midnight: there are two of them, and the day begins at the first.
        ("Atlantic/Azores", "2026-10-25T12:00+00:00", "2026-10-25T00:00+00:00"),
        ("Atlantic/Azores", "2026-10-25T01:30+00:00", "2026-10-25T00:00+00:00"),
        ("Asia/Kathmandu", "2026-01-01T18:14+00:00", "2025-12-31T18:15+00:00"),
    ],
)
def test_a_day_begins_at_midnight_of_its_zone(zone, now, begin):
    assert day_start(datetime.fromisoformat(now), ZoneInfo(zone)) == datetime.fromisoformat(begin)


@given(
    st.timedeltas(timedelta(), timedelta(days=13_000)).map(
        lambda age: datetime(2000, 1, 1, tzinfo=UTC) + age
    ),
    st.sampled_from(["UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Beirut", "Pacific/Apia"]),
)
def test_a_day_begins_with_the_first_instant_of_its_date(now, name):
    zone = ZoneInfo(name)
    begin = day_start(now, zone)
    date = now.astimezone(zone).date()
    assert begin <= now
    assert begin.astimezone(zone).date() == date
    assert (begin - timedelta(microseconds=1)).astimezone(zone).date() < date
    assert day_start(begin, zone) == begin
