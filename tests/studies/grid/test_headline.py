"""The sentence at the top of the page: no more than the intervals support."""

import pytest

from action_balance.files import Data
from action_balance.studies.explore import page as explore_page
from action_balance.studies.grid import headline

ABOVE, AROUND = {"value": 1.5, "low": 1.25, "high": 2.0}, {"value": 1.5, "low": 0.5, "high": 2.0}
BELOW, UNKNOWN = {"value": 0.5, "low": 0.25, "high": 0.75}, {"value": 1.5, "low": None, "high": None}
SOONER = "RND needs 1.50 times the steps of action balance RND (95&nbsp;% interval 1.25 to 2.00)"
LATER = "RND needs 0.50 times the steps of action balance RND (95&nbsp;% interval 0.25 to 0.75)"


@pytest.mark.parametrize(
    ("coverage", "goals", "corridor", "said"),
    [
        (
            *(None, ABOVE, AROUND),
            "Of three studies, one tells the two apart: balancing actions finds goals sooner, "
            f"{SOONER}. The other two do not.",
        ),
        (
            *(ABOVE, AROUND, BELOW),
            "Of three studies, two tell the two apart: balancing actions overtakes random sooner, "
            f"{SOONER}; balancing actions finds the treasure later, {LATER}. The other does not.",
        ),
        (AROUND, AROUND, AROUND, "None of three studies tells the two apart."),
        (UNKNOWN, UNKNOWN, None, ""),
    ],
)
def test_the_headline_says_how_many_studies_tell(
    coverage: Data | None, goals: Data | None, corridor: Data | None, said: str
) -> None:
    ours = {
        "coverage": {"times_sooner": coverage, "methods": {}},
        "goals": {"ratio": goals, "methods": {}},
        "corridor": {"ratio": corridor, "methods": {}},
    }
    assert headline.shows({"ours": ours}) == said


def test_a_study_alone_is_told_alone() -> None:
    assert headline.shows({"ours": {"goals": {"ratio": BELOW, "methods": {}}}}) == (
        f"Balancing actions finds goals later, {LATER}."
    )


@pytest.mark.parametrize(
    ("rnd", "said"),
    [
        ((12.0, 11.0, 13.0), "Most is covered by RND: 12.0 cells (95&nbsp;% interval 11.0 to 13.0)."),
        (
            (12.0, 8.0, 16.0),
            "These runs do not tell who covers most. Ahead, but not for sure, is RND: 12.0 cells (95&nbsp;% interval "
            "8.0 to 16.0).",
        ),
        ((12.0, None, None), "These runs do not tell who covers most. Ahead, but not for sure, is RND: 12.0 cells."),
    ],
)
def test_a_map_has_a_winner_only_where_intervals_do_not_overlap(rnd: tuple[float | None, ...], said: str) -> None:
    methods = {"random": (9.0, 8.0, 10.0), "rnd": rnd}
    cells = {
        name: {"final_cells": dict(zip(("value", "low", "high"), one, strict=True))} for name, one in methods.items()
    }
    assert explore_page._shows({"methods": cells}) == said
