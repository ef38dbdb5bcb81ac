"""The arithmetic."""

from tally.scores import highest, total


def test_points_add_up() -> None:
    assert total([3, 4, 5.5]) == 12.5


def test_nothing_recorded_adds_up_to_zero() -> None:
    assert total([]) == 0.0


def test_the_highest_result_wins() -> None:
    assert highest([-2, -7]) == -2.0


def test_nothing_recorded_has_a_highest_of_zero() -> None:
    assert highest([]) == 0.0
