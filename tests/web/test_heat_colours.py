"""The colours of heat maps: one visit differs from none, and more from fewer."""

import re
from importlib import resources
from itertools import pairwise

import pytest

from action_balance.plots.heatmaps import DIFFERENCE_STOPS, HEAT_STOPS, SHARE_STOPS


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2."""
    shares = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lightness(colour: str) -> float:
    """CIE L*, from 0 to 100: equal steps of it look equal."""
    of_white = luminance(colour)
    return 116 * of_white ** (1 / 3) - 16 if of_white > 216 / 24389 else of_white * 24389 / 27


@pytest.mark.parametrize(("number", "scheme"), [(0, "light"), (1, "dark")])
@pytest.mark.parametrize("ground", ["paper", "page"])  # of the players, and of figures
def test_one_visit_stands_out_from_none(number: int, scheme: str, ground: str) -> None:
    style = resources.files("action_balance.web").joinpath("assets", "style.css").read_text()
    (schemes,) = re.findall(rf"--{ground}: light-dark\((#\w{{6}}), (#\w{{6}})\)", style)
    assert contrast(HEAT_STOPS[scheme][0], schemes[number]) >= 3


@pytest.mark.parametrize(("scheme", "sign"), [("light", -1), ("dark", 1)])
def test_more_visits_are_further_from_the_paper_in_even_steps(scheme: str, sign: int) -> None:
    levels = [sign * lightness(stop) for stop in HEAT_STOPS[scheme]]
    steps = [after - before for before, after in pairwise(levels)]
    assert min(steps) > 5
    assert max(steps) < 2 * min(steps)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_third_of_the_largest_difference_stands_out_from_none(scheme: str) -> None:
    stops = DIFFERENCE_STOPS[scheme]
    steps = [contrast(stop, stops[3]) for stop in stops]  # the fourth of seven is no difference
    assert steps[:4] == sorted(steps[:4], reverse=True)
    assert steps[3:] == sorted(steps[3:])
    assert min(steps[2], steps[4]) >= 3
    assert contrast(SHARE_STOPS[scheme][-1], SHARE_STOPS[scheme][0]) >= 10
