"""What follows a failure: who pays for it, how long the pauses are, and when it ends."""

from datetime import timedelta

import pytest

from orchestrator.errors import Conflict, Malformed, Rejected, Unavailable
from orchestrator.jobs.retry import CONFLICT_PAUSE, LONGEST_PAUSE, Dead, Retry, after_failure

ERRORS = [Unavailable("down"), Rejected("no"), Malformed("what"), KeyError("typo"), TimeoutError("late")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("most", [1, 2, 3, 7])
def test_every_failure_but_a_lost_race_costs_an_attempt_and_ends_with_the_last(error, most):
    for attempts in range(most):
        after = after_failure(error, attempts=attempts, max_attempts=most)
        if attempts + 1 == most:
            assert after == Dead()
        else:
            assert isinstance(after, Retry)
            assert after.spend


@pytest.mark.parametrize("attempts", [0, 2, 99])
def test_a_lost_race_costs_nothing(attempts):
    assert after_failure(Conflict("first"), attempts=attempts, max_attempts=3) == Retry(
        CONFLICT_PAUSE, spend=False
    )


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_pauses_grow_to_a_limit(error):
    pauses = []
    for attempts in range(60):
        after = after_failure(error, attempts=attempts, max_attempts=99)
        assert isinstance(after, Retry)
        pauses.append(after.after)
    assert pauses == sorted(pauses)
    assert timedelta() < pauses[0] < pauses[1] < pauses[2]
    assert pauses[-1] <= 2 * LONGEST_PAUSE


def test_an_outage_is_asked_about_sooner_than_a_bug():
    outage = after_failure(Unavailable("down"), attempts=1, max_attempts=9)
    bug = after_failure(KeyError("typo"), attempts=1, max_attempts=9)
    assert isinstance(outage, Retry)
    assert isinstance(bug, Retry)
    assert outage.after < bug.after
