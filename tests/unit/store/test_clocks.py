"""Clocks and names: the real ones, and the ones that are moved by hand."""

from datetime import UTC, timedelta

import pytest

from orchestrator.plumbing.clock import RandomIds, SystemClock
from orchestrator.testing.clock import ManualClock, SequentialIds
from tests.unit.store.rigs import START


async def test_the_real_clock_goes_forward_in_utc():
    clock = SystemClock()
    before, started = clock.now(), clock.monotonic()
    await clock.sleep(timedelta(milliseconds=2))
    assert clock.monotonic() - started >= 0.002
    assert clock.now() > before
    assert before.tzinfo is UTC


async def test_a_sleep_that_is_over_takes_no_time():
    clock = SystemClock()
    started = clock.monotonic()
    await clock.sleep(timedelta(days=-1))
    assert clock.monotonic() - started < 1


async def test_time_passes_when_it_is_told_to_and_when_somebody_sleeps():
    clock = ManualClock(START)
    clock.advance(timedelta(seconds=2))
    await clock.sleep(timedelta(seconds=3))
    await clock.sleep(timedelta(seconds=-9))
    assert clock.now() == START + timedelta(seconds=5)
    assert clock.monotonic() == 5.0
    with pytest.raises(ValueError, match="does not go back"):
        clock.advance(timedelta(seconds=-1))


@pytest.mark.parametrize("ids", [RandomIds(), SequentialIds()])
def test_names_are_fresh_lower_case_letters_and_digits(ids):
    names = [ids.new() for _ in range(100)]
    assert len(set(names)) == 100
    assert all(name.isalnum() and name == name.lower() for name in names)


def test_names_that_count_up_are_the_same_every_time():
    assert [SequentialIds("run").new() for _ in range(2)] == ["run1", "run1"]
