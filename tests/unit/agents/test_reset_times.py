"""What a provider says about the end of a limit becomes an instant, whatever the words."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.agents.reset_times import FARTHEST, from_epoch, reset_time

NOW = datetime(2026, 12, 1, 14, 0, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"])
# No day of these has an hour that is skipped or repeated, in any of the zones.
INSTANTS = st.integers(0, 40 * 86_400).map(lambda s: datetime(2026, 1, 10, tzinfo=UTC) + timedelta(seconds=s))


@pytest.mark.parametrize(
    ("said", "instant"),
    [
        ("You've hit your 5-hour limit · resets 3:31pm (UTC)", datetime(2026, 12, 1, 15, 31, tzinfo=UTC)),
        ("usage limit reached, resets 3pm (Europe/Berlin)", datetime(2026, 12, 1, 14, 0, tzinfo=UTC)),
        ("resets 2:30 pm (Europe/Berlin)", datetime(2026, 12, 2, 13, 30, tzinfo=UTC)),
        ("weekly limit · resets Dec 4, 2:31am (Europe/Berlin)", datetime(2026, 12, 4, 1, 31, tzinfo=UTC)),
        ("resets Jan 2 at 12am (UTC)", datetime(2027, 1, 2, tzinfo=UTC)),
        ("resets January 2, 2027, 12pm (UTC)", datetime(2027, 1, 2, 12, tzinfo=UTC)),
        ("resets at 2026-12-02T10:00:00Z", datetime(2026, 12, 2, 10, tzinfo=UTC)),
        ("resets at 2026-12-02T10:00:00.123+02:00.", datetime(2026, 12, 2, 8, tzinfo=UTC)),
        ("resets at 2026-12-02 10:00", datetime(2026, 12, 2, 9, tzinfo=UTC)),
        ("Claude AI usage limit reached|1796140800", datetime(2026, 12, 1, 16, tzinfo=UTC)),
        ("usage limit reached|1796140800123", datetime(2026, 12, 1, 16, tzinfo=UTC)),
        ("to purchase more credits or try again at 5:31 PM.", datetime(2026, 12, 1, 16, 31, tzinfo=UTC)),
        ("or try again at Dec 4th, 2026 3:31 AM.", datetime(2026, 12, 4, 2, 31, tzinfo=UTC)),
        ("try again at 16:05", datetime(2026, 12, 1, 15, 5, tzinfo=UTC)),
        ("Please try again in 2 days 3 hours 10 minutes.", NOW + timedelta(days=2, hours=3, minutes=10)),
        ("try again in 1h30m", NOW + timedelta(minutes=90)),
        ("retry after 30 seconds", NOW + timedelta(seconds=30)),
        ("Please try again in 6.5s", NOW + timedelta(seconds=6)),
        ("resets 3pm (Nowhere/Land)", datetime(2026, 12, 1, 14, 0, tzinfo=UTC)),
    ],
)
def test_a_promise_is_an_instant(said, instant):
    assert reset_time(said, NOW, local=BERLIN) == instant


@pytest.mark.parametrize(
    "said",
    [
        "",
        "API Error: Request rejected (429) · Rate limit error",
        "This is a server-side issue, usually temporary — try again in a moment.",
        "resets 25:00",
        "resets 13pm (UTC)",
        "resets Feb 30, 2027, 3pm (UTC)",
        "resets at 2026-13-45T99:99:99Z",
        "resets Jan 2, 9999, 3pm (UTC)",
        "retry after 999999 days",
        "the answer is 3pm",
    ],
)
def test_what_promises_nothing_is_no_instant(said):
    assert reset_time(said, NOW, local=UTC) is None


def test_a_time_of_day_that_has_just_come_is_now_and_not_tomorrow():
    later = datetime(2026, 12, 1, 15, 0, 40, tzinfo=UTC)
    assert reset_time("resets 3pm (UTC)", later) == later


def test_a_date_of_last_year_is_meant_when_it_is_nearer():
    assert reset_time("resets Dec 31, 11:59pm (UTC)", datetime(2027, 1, 1, tzinfo=UTC)) == datetime(
        2027, 1, 1, tzinfo=UTC
    )


@given(st.text(), INSTANTS)
def test_no_text_makes_it_raise(said, now):
    for text in (said, f"resets {said}", f"try again in {said}", f"|{said}"):
        found = reset_time(text, now, local=UTC)
        assert found is None or now <= found <= now + FARTHEST


@given(
    st.from_regex(r"resets (at )?[A-Z][a-z]{2} \d{1,2},? \d{1,2}(:\d\d)?[ap]m \([A-Za-z/]{1,12}\)"), INSTANTS
)
def test_no_text_that_looks_like_one_makes_it_raise(said, now):
    reset_time(said, now, local=UTC)


@given(INSTANTS, st.integers(1, 23 * 60), ZONES)
def test_a_clock_of_any_zone_is_read_as_it_is_shown_there(now, minutes, zone):
    ends = (now + timedelta(minutes=minutes)).replace(second=0, microsecond=0)
    shown = ends.astimezone(ZoneInfo(zone))
    hour, half = shown.hour % 12 or 12, "am" if shown.hour < 12 else "pm"
    expected = max(ends, now)
    assert reset_time(f"resets {hour}:{shown.minute:02}{half} ({zone})", now) == expected
    dated = f"resets {shown:%b} {shown.day}, {hour}:{shown.minute:02}{half} ({zone})"
    assert reset_time(dated, now) == expected


@given(INSTANTS, st.integers(0, 50), st.integers(0, 23), st.integers(0, 59))
def test_a_span_is_added(now, days, hours, minutes):
    said = f"try again in {days} days {hours} hours {minutes} minutes"
    assert reset_time(said, now) == now + timedelta(days=days, hours=hours, minutes=minutes)


@given(INSTANTS, st.integers(1, 10**7), st.integers(-12, 14))
def test_epochs_and_instants_are_absolute(now, seconds, offset):
    ends = (now + timedelta(seconds=seconds)).replace(microsecond=0)
    zone = timezone(timedelta(hours=offset))
    assert reset_time(f"limit reached|{int(ends.timestamp())}", now) == max(ends, now)
    assert reset_time(f"resets at {ends.astimezone(zone).isoformat()}", now) == max(ends, now)


@pytest.mark.parametrize("seconds", [None, True, "1796140800", -1, 0, 1e30, float("nan"), 1, 4e9, [1]])
def test_a_figure_that_is_no_coming_instant_is_none(seconds):
    assert from_epoch(seconds, NOW) is None
    assert from_epoch(1796140800, NOW) == datetime(2026, 12, 1, 16, tzinfo=UTC)
