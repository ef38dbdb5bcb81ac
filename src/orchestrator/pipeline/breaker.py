"""The circuit breaker around an agent CLI: while its provider refuses, nobody is sent there in vain.

It opens after some refusals in a row. When its time is over one run at a time tries again: if that one is
served the breaker closes, if it is refused the breaker opens for longer (product §4, resilience).
"""

import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias

LONGEST_STATED: Final = timedelta(days=8)
"""The longest pause that a provider's own word can cause: its limits begin anew each week."""


class State(StrEnum):
    """Closed: runs may start. Open: none may. Half-open: one at a time tries."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class Report(StrEnum):
    """What a run tells of its provider."""

    SERVED = "served"
    """The provider answered, whatever the run came to."""
    REFUSED = "refused"
    """A rate limit, an overload, an authentication that failed, a provider that cannot be reached."""
    SILENT = "silent"
    """Nothing: the run failed before, or for another reason."""


@dataclass(frozen=True, slots=True)
class Rules:
    """When a breaker opens and for how long; the delay of the first time doubles up to the longest."""

    refusals: int = 3
    delay: timedelta = timedelta(seconds=60)
    longest: timedelta = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Probe:
    """The run that tries whether the provider serves again, and when it is given up."""

    run: int
    until: datetime


@dataclass(frozen=True, slots=True)
class Breaker:
    """What is known of one provider.

    ``refusals`` counts those in a row. ``until`` is when an open breaker lets the first run try, ``delay``
    the pause that it took when the provider named no time, ``reason`` the last refusal in words.
    """

    state: State = State.CLOSED
    refusals: int = 0
    opened_at: datetime | None = None
    until: datetime | None = None
    delay: timedelta = timedelta()
    reason: str = ""
    probe: Probe | None = None


@dataclass(frozen=True, slots=True)
class Go:
    """The run may start."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The run may not start; asking again before ``until`` is in vain."""

    until: datetime
    reason: str


Admission: TypeAlias = Go | Wait


def admit(breaker: Breaker, *, now: datetime, run: int, limit: timedelta) -> tuple[Admission, Breaker]:
    """Whether ``run`` may start now, and the breaker to remember.

    A run that tries a half-open breaker is given up when it has not reported after ``limit``, its own time
    limit. The run that tries may ask again: it is the same one that was found after a restart.
    """
    if breaker.state is State.CLOSED:
        return Go(), breaker
    if breaker.state is State.OPEN and breaker.until is not None and now < breaker.until:
        return Wait(breaker.until, breaker.reason), breaker
    probe = breaker.probe
    if probe is not None and probe.run != run and now < probe.until:
        # It may report at any time, and then somebody who waits for its end would wait in vain.
        soon = min(probe.until, now + max(breaker.delay, timedelta(seconds=1)))
        return Wait(soon, f"another run tries whether the provider serves again: {breaker.reason}"), breaker
    if probe is not None and probe.run == run:
        return Go(), breaker
    trying = Probe(run, now + max(limit, timedelta(seconds=1)))
    return Go(), replace(breaker, state=State.HALF_OPEN, probe=trying)


def after(
    breaker: Breaker,
    report: Report,
    *,
    now: datetime,
    run: int,
    rules: Rules,
    reason: str = "",
    retry_at: datetime | None = None,
) -> Breaker:
    """The breaker after ``run`` reported; ``retry_at`` is when the provider said that it serves again.

    A run that started before the breaker opened and ends well says nothing: refusals came after it. Only the
    one that tries closes the breaker.
    """
    match report:
        case Report.REFUSED:
            return _refused(breaker, now, rules, reason=reason, retry_at=retry_at)
        case Report.SERVED if breaker.state is State.CLOSED or _tries(breaker, run):
            return Breaker()
        case Report.SILENT if _tries(breaker, run):
            return replace(breaker, probe=None)
    return breaker


def to_text(breaker: Breaker) -> str:
    """The breaker as JSON, for keeping."""
    said = asdict(breaker)
    said["delay"] = breaker.delay.total_seconds()
    return json.dumps(said, default=datetime.isoformat)


def from_text(text: str | None) -> Breaker:
    """The breaker that was kept; what cannot be read is a closed one, since a refusal opens it again."""
    try:
        return _read(json.loads(text or "{}"))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return Breaker()


def _refused(
    breaker: Breaker, now: datetime, rules: Rules, *, reason: str, retry_at: datetime | None
) -> Breaker:
    stated = None if retry_at is None or retry_at <= now else min(retry_at, now + LONGEST_STATED)
    refusals = breaker.refusals + 1
    if breaker.state is State.OPEN:
        # It began before the breaker opened. Only a later time that the provider names is news.
        later = [moment for moment in (breaker.until, stated) if moment is not None]
        return replace(breaker, refusals=refusals, until=max(later, default=None))
    if breaker.state is State.CLOSED and refusals < rules.refusals:
        return replace(breaker, refusals=refusals, reason=reason)
    again = breaker.state is State.HALF_OPEN
    delay = min(breaker.delay * 2 if again else rules.delay, rules.longest)
    return Breaker(
        state=State.OPEN,
        refusals=refusals,
        opened_at=now,
        until=stated or now + delay,
        delay=delay,
        reason=reason,
    )


def _tries(breaker: Breaker, run: int) -> bool:
    return breaker.probe is not None and breaker.probe.run == run


def _read(said: dict[str, object]) -> Breaker:
    if not said:
        return Breaker()
    probe = said["probe"]
    return Breaker(
        state=State(str(said["state"])),
        refusals=int(str(said["refusals"])),
        opened_at=_instant(said["opened_at"]),
        until=_instant(said["until"]),
        delay=timedelta(seconds=float(str(said["delay"]))),
        reason=str(said["reason"]),
        probe=Probe(int(probe["run"]), _moment(probe["until"])) if isinstance(probe, dict) else None,
    )


def _instant(value: object) -> datetime | None:
    return None if value is None else _moment(value)


def _moment(value: object) -> datetime:
    moment = datetime.fromisoformat(str(value))
    if moment.tzinfo is None:
        raise ValueError(f"{value} has no time zone")
    return moment
