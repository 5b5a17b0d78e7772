"""The page of a user's own map: a lead is significant only if it is over all others."""

import pytest

from action_balance.files import Data
from action_balance.studies.explore.page import lead

Numbers = tuple[float, float | None, float | None]


def estimate(numbers: Numbers) -> Data:
    return dict(zip(("value", "low", "high"), numbers, strict=True))


@pytest.mark.parametrize(
    ("rnd", "best", "side"),
    [
        ((14.0, 10.0, 18.0), "rnd", "above"),  # 5 more, and hypot(4, 3) = 5 would be the half width of the interval
        ((13.9, 9.9, 17.9), "rnd", "around"),
        ((12.0, None, None), "rnd", "unknown"),
        ((4.0, 3.0, 5.0), "random", "above"),
    ],
)
def test_a_lead_is_significant_if_the_interval_of_the_difference_excludes_zero(
    rnd: Numbers, best: str, side: str
) -> None:
    found = lead({"random": estimate((8.99, 5.99, 11.99)), "rnd": estimate(rnd)})
    assert (found.best, found.side) == (best, side)


def test_a_lead_is_over_the_second_but_certain_only_over_all() -> None:
    found = lead({"a": estimate((5, 4, 6)), "b": estimate((9, 8, 10)), "c": estimate((6, 0, 12))}, sign=-1)
    assert (found.best, found.second, found.side) == ("a", "c", "around")
    assert found.difference == {"value": 1, "low": pytest.approx(1 - 37**0.5), "high": pytest.approx(1 + 37**0.5)}
    alone = lead({"a": estimate((5, 4, 6))})
    assert (alone.second, alone.difference) == (None, None)
