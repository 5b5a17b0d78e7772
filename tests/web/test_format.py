"""Numbers as pages print them."""

from math import inf, nan

import pytest

from action_balance.web.format import (
    amount,
    count,
    decimals,
    interval,
    listed,
    number,
    percent,
    side,
    significant,
    spread,
)

SPACE = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (1234567.0, 0, "1,234,567"),
        (-1234.5, 1, "\u22121,234.5"),
        (-0.04, 1, "0.0"),  # no minus before a zero
        (None, 2, "\u2013"),
        (nan, 2, "\u2013"),
        ("inf", 2, "\u221e"),  # as a summary writes it
        (-inf, 0, "\u2212\u221e"),
    ],
)
def test_numbers_have_separators_and_a_real_minus(value: float | str | None, digits: int, text: str) -> None:
    assert number(value, digits) == text


def test_signs_and_percentages() -> None:
    assert number(0.25, 1, sign=True) == "+0.2"
    assert percent(0.125, 1, sign=True) == f"+12.5{SPACE}%"
    assert percent(None) == f"\u2013{SPACE}%"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.019, "0.019"),
        (-0.5, "\u22120.5"),
        (1.23e-5, "1.2·10⁻⁵"),
        (-8.7e-06, "\u22128.7·10⁻⁶"),
        (1e-7, "0"),
        (None, "\u2013"),
    ],
)
def test_small_numbers_have_two_digits_and_a_power_of_ten(value: float | None, text: str) -> None:
    assert significant(value, resolution=1e-6) == text


def test_large_counts_are_in_millions() -> None:
    assert (amount(999_999), amount(20_119_552)) == ("999,999", f"20.1{SPACE}M")


@pytest.mark.parametrize(
    ("low", "high", "where", "text"),
    [
        (1.25, 2.0, "above", "1.25 to 2.00"),
        (0.25, 0.75, "below", "0.25 to 0.75"),
        (0.5, "inf", "around", "0.50 to \u221e"),
        (1.0, 2.0, "around", "1.00 to 2.00"),  # an end on the neutral value includes it
        (None, None, "unknown", ""),
    ],
)
def test_an_interval_says_on_which_side_it_lies(low: float, high: float, where: str, text: str) -> None:
    estimate = {"value": 1.5, "low": low, "high": high}
    assert (side(estimate, 1), interval(estimate, 2)) == (where, text)


def test_things_are_counted_and_listed() -> None:
    assert (count(1, "run"), count(1000, "run")) == ("1 run", "1,000 runs")
    assert [listed(list("abc")[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert listed(list("abcde"), 2) == "a, b and 3 more"


def test_few_runs_show_their_range_and_name_it() -> None:
    assert spread({"value": 2.0, "low": 1.25, "high": 3.0}, 1) == "1.2 to 3.0"
    assert spread({"value": 2.0, "low": None, "high": None, "range": [1.5, 2500.0]}, 1) == "range 1.5 to 2,500.0"
    assert spread({"value": 2.0, "low": None, "high": None}) == ""
    assert spread(None) == ""


@pytest.mark.parametrize(
    ("values", "widths", "digits"),
    [
        ([0.303, 0.01], (), 3),
        ([487.3, 21.0], [28.0], 0),
        ([0.9906, 0.9912], [0.0004], 5),  # two digits of the width
        ([500.0], [0.0002], 2),  # no more than five digits of the value
        ([1234.5, nan, 0.0], [0.0, nan], 0),
        ([0.0], (), 2),
        ([1e-9], (), 6),
    ],
)
def test_decimals_follow_the_scale_of_the_numbers(values: list[float], widths: list[float], digits: int) -> None:
    assert decimals(values, widths) == digits
