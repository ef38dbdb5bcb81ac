"""When a provider serves us again, out of what it says about it."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

FARTHEST: Final = timedelta(days=400)
"""What lies farther ahead is no time at which a limit ends."""

JUST_REACHED: Final = timedelta(minutes=10)
"""A time of day that passed less long ago is that of today: texts leave the seconds out."""

_LONGEST: Final = 4000
"""Characters of a text that are looked at."""

_CUE = re.compile(r"\b(?:resets?|again|retry|available|until|wait)\b", re.IGNORECASE)
_EPOCH = re.compile(r"\|\s*(?P<seconds>\d{10})(?P<thousandths>\d{3})?(?!\d)")
_INSTANT = re.compile(
    r"\b(?P<instant>\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s?(?P<zone>Z|UTC|[+-]\d\d:?\d\d)?",
    re.ASCII,
)
_UNIT: Final = r"d|h|m|s|days?|hours?|hrs?|minutes?|mins?|seconds?|secs?"
_SPAN = re.compile(rf"(?<![\d.:])(?P<number>\d{{1,6}})(?:\.\d+)?\s?(?P<unit>{_UNIT})(?![a-z])", re.IGNORECASE)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY: Final = (
    rf"(?P<month>{'|'.join(_MONTHS)})[a-z]{{0,6}}\.?\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
    r"(?:,?\s(?P<year>\d{4}))?,?\s(?:at\s)?"
)
_CLOCK = re.compile(
    rf"\b(?:{_DAY})?(?P<hour>\d{{1,2}})(?::(?P<minute>\d\d))?(?::\d\d)?\s?(?:(?P<half>[ap])\.?m\b\.?)?"
    r"(?:\s?\((?P<zone>[\w/+-]{1,40})\))?",
    re.IGNORECASE | re.ASCII,
)
_UNITS: Final = {"d": 86_400, "h": 3600, "m": 60, "s": 1}


def reset_time(said: str, now: datetime, *, local: tzinfo | None = None) -> datetime | None:
    """The instant, in UTC and not before ``now``, from which ``said`` promises service again.

    ``said`` may name epoch seconds after a ``|``, an ISO instant, a span of time, or a time of day with or
    without a date and a zone in parentheses. A time without a zone is that of ``local``; ``None``: the zone
    of this machine, which is that of the CLI as well. ``None`` when nothing is promised.
    """
    said = said[:_LONGEST]
    try:
        found = _found(said, now, local)
        if found is None or found - now > FARTHEST:
            return None
        return max(found, now).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def from_epoch(seconds: object, now: datetime) -> datetime | None:
    """The instant of a figure in seconds since 1970; ``None`` when that is past or makes no sense."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < 1e11:
        return None
    instant = datetime.fromtimestamp(seconds, UTC)
    return instant if now <= instant <= now + FARTHEST else None


def _found(said: str, now: datetime, local: tzinfo | None) -> datetime | None:
    epoch = _EPOCH.search(said)
    if epoch is not None:
        return datetime.fromtimestamp(int(epoch["seconds"]), UTC)
    cue = _CUE.search(said)
    if cue is None:
        return None
    promise = said[cue.end() :]
    instant = _INSTANT.search(promise)
    if instant is not None:
        return _instant(instant, local)
    for clock in _CLOCK.finditer(promise):
        if clock["half"] or clock["minute"]:
            return _by_clock(clock, now, local)
    return _by_span(promise, now)


def _instant(found: re.Match[str], local: tzinfo | None) -> datetime:
    zone = (found["zone"] or "").replace("Z", "+00:00").replace("UTC", "+00:00")
    instant = datetime.fromisoformat(found["instant"] + zone)
    return instant if instant.tzinfo is not None else _in_zone(instant, local)


def _by_span(promise: str, now: datetime) -> datetime | None:
    spans = list(_SPAN.finditer(promise))
    seconds = sum(int(span["number"]) * _UNITS[span["unit"][0].lower()] for span in spans)
    return now + timedelta(seconds=seconds) if spans else None


def _by_clock(clock: re.Match[str], now: datetime, local: tzinfo | None) -> datetime | None:
    zone = _zone(clock["zone"], local)
    at = _time_of_day(clock)
    today = now.astimezone(zone).date()
    if clock["month"]:
        candidates = [_in_zone(datetime.combine(day, at), zone) for day in _days(clock, today)]
        return min(candidates, key=lambda one: abs(one - now), default=None)
    candidate = _in_zone(datetime.combine(today, at), zone)
    if candidate < now - JUST_REACHED:
        return _in_zone(datetime.combine(today + timedelta(days=1), at), zone)
    return candidate


def _time_of_day(clock: re.Match[str]) -> time:
    hour, minute = int(clock["hour"]), int(clock["minute"] or 0)
    if not clock["half"]:
        return time(hour, minute)
    if not 1 <= hour <= 12:
        raise ValueError(hour)
    return time(hour % 12 + (12 if clock["half"].lower() == "p" else 0), minute)


def _days(clock: re.Match[str], today: date) -> Iterator[date]:
    """The days that are meant: of the year that is named, else of this year and its neighbours."""
    month, day = _MONTHS.index(clock["month"].lower()) + 1, int(clock["day"])
    years = (int(clock["year"]),) if clock["year"] else (today.year - 1, today.year, today.year + 1)
    for year in years:
        try:
            yield date(year, month, day)
        except ValueError:
            continue


def _zone(name: str | None, local: tzinfo | None) -> tzinfo | None:
    if not name:
        return local
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return local


def _in_zone(naive: datetime, zone: tzinfo | None) -> datetime:
    """The instant at which clocks in ``zone`` show this; without a zone: those of this machine."""
    return naive.astimezone(UTC) if zone is None else naive.replace(tzinfo=zone).astimezone(UTC)
