import math
from itertools import product
from typing import get_args

from action_balance.studies.verdict_text import answer, with_interval
from action_balance.web.format import Side


def test_the_answer_names_every_study_under_what_it_shows() -> None:
    words = {"above": "faster", "below": "more slowly", "around": "significant", "unknown": "no verdict"}
    studies = ("coverage", "goals", "corridor")
    for sides in product(get_args(Side), repeat=3):
        clauses = answer(dict(zip(studies, sides, strict=True))).split("; ")
        assert len(clauses) == len(set(sides))
        for study, side in zip(studies, sides, strict=True):
            (clause,) = (clause for clause in clauses if words[side] in clause)
            assert (
                study in clause
                or "all three studies" in clause
                or clause.startswith("No study")
                or "any study" in clause
            )


def test_an_estimate_has_its_interval_in_brackets_if_it_has_one() -> None:
    assert with_interval({"value": 1.5, "low": 1.25, "high": "inf"}, ".2f", " times") == "1.50 times [1.25, inf]"
    assert with_interval({"value": 2, "low": None, "high": None}, "+.1f") == "+2.0"
    assert with_interval(None, ".0f") == f"{math.nan:.0f}"
