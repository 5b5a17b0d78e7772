import math

from action_balance.studies.verdict_text import answer, with_interval


def test_an_answer_names_every_study_under_what_it_shows() -> None:
    said = answer({"coverage": "above", "goals": "around", "corridor": "around"})
    assert "in the coverage study; " in said
    assert said.endswith("not significant in the goals and corridor studies.")
    assert "all three studies" in answer(dict.fromkeys(("coverage", "goals", "corridor"), "above"))


def test_an_estimate_has_its_interval_in_brackets_if_it_has_one() -> None:
    assert with_interval({"value": 1.5, "low": 1.25, "high": "inf"}, ".2f", " times") == "1.50 times [1.25, inf]"
    assert with_interval({"value": 2, "low": None, "high": None}, "+.1f") == "+2.0"
    assert with_interval(None, ".0f") == f"{math.nan:.0f}"
