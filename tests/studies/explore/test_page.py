"""The page of a user's own map: a winner only where intervals do not overlap."""

import pytest

from action_balance.studies.explore.page import most_covered

Numbers = tuple[float, float | None, float | None]


@pytest.mark.parametrize(
    ("rnd", "found"),
    [
        ((12.0, 11.0, 13.0), ("rnd", True)),
        ((12.0, 8.0, 16.0), ("rnd", False)),
        ((12.0, None, None), ("rnd", False)),
        ((7.0, 6.0, 7.5), ("random", True)),
    ],
)
def test_a_method_covers_most_only_if_its_interval_is_above_all_others(rnd: Numbers, found: tuple[str, bool]) -> None:
    methods: dict[str, Numbers] = {"random": (9.0, 8.0, 10.0), "rnd": rnd}
    cells = {
        name: {"final_cells": dict(zip(("value", "low", "high"), one, strict=True))} for name, one in methods.items()
    }
    assert most_covered(cells) == found
