from bonus_records import comparison, record

from action_balance.files import Data
from action_balance.studies.bonuses import analysis
from action_balance.studies.bonuses.findings import (
    best_within,
    counters,
    effects,
    failures,
    highlights,
    missing,
    missing_actions,
    missing_matrix,
)
from action_balance.studies.bonuses.records import BonusRecord
from action_balance.studies.bonuses.settings import BonusesSettings

RND = [1000, 2000, -1, 1500, 500]
HASH = [500, 1000, 1024, 750, 250]  # each in half the time


def numbers(*records: BonusRecord) -> Data:
    ours = analysis.numbers(records)
    return {**ours, "verdict": analysis.verdict(ours)}


def test_headlines_leave_out_what_enumerates() -> None:
    good, bad = comparison([[1.0]] * 5, [0.0]), comparison([[0.4]] * 5, [0.0])
    ours = numbers(
        record("deep-sea-10", "rnd", RND, comparisons={"states": bad}),
        record("deep-sea-10", "count", HASH, [1.0] * 5, comparisons={"states": good}),
        record("deep-sea-10", "hash", HASH, [1.0, 1.0, 0, 0, 0], comparisons={"states": good}),
        record("deep-sea-10", "icm", RND, [1.0, 0, 0, 0, 0]),
        record("deep-sea-10", "rnd+distillation", [1200, 2000, -1, 1700, 600]),
    )
    best = highlights(ours)
    assert (best["counter"]["name"], best["counter"]["counts"]) == ("hash", True)
    assert (best["next_state"]["name"], best["next_state"]["solved"], best["next_state"]["of"]) == ("hash", 2, 1)
    assert best["action"]["name"] == "rnd+distillation"
    rows = effects(ours)
    assert rows["next_state"]["hash"] == {"above": ["deep-sea-10"], "around": [], "below": [], "unknown": []}
    assert rows["next_state"]["icm"]["around"] == ["deep-sea-10"]
    assert rows["actions"]["rnd+distillation"]["below"] == ["deep-sea-10"]
    assert ours["matrix"] == {
        "world": "deep-sea-10",
        "intrinsics": ["rnd"],
        "actions": ["none", "distillation"],
    }


def test_the_headline_is_that_of_the_named_bonus_and_else_the_best_of_those_there_are() -> None:
    made = {
        "rnd": record("deep-sea-10", "rnd", RND),
        "hash": record("deep-sea-10", "hash", RND, [0.0] * 5),
        "icm": record("deep-sea-10", "icm", RND, [1.0, 1.0, 0, 0, 0]),
        "e3b": record("deep-sea-10", "e3b", RND, [1.0, 0, 0, 0, 0]),
        "rnd+hash": record("deep-sea-10", "rnd+hash", [1200, 2000, -1, 1700, 600]),
        "rnd+ucb": record("deep-sea-10", "rnd+ucb", HASH),
        "rnd+hash-3": record("deep-sea-10", "rnd+hash-3", [10, 20, 30, 40, 50]),
        "rnd+distillation": record("deep-sea-10", "rnd+distillation", RND),
    }

    def chosen(*names: str) -> list[tuple[str, int]]:
        best = highlights(numbers(*(made[name] for name in names)))
        return [(best[question]["name"], best[question]["of"]) for question in ("next_state", "action")]

    assert chosen(*made) == [("hash", 1), ("rnd+hash", 1)]
    assert chosen(*(name for name in made if name not in ("hash", "rnd+hash"))) == [("icm", 2), ("rnd+ucb", 2)]


def test_a_bonus_counts_in_a_world_if_it_counts_both_states_and_pairs_there() -> None:
    good, bad = comparison([[1.0]] * 2, [0.0], within=1.0), comparison([[0.4]] * 2, [0.0], within=0.3)
    ours = numbers(
        record("deep-sea-10", "count", [1, 2], comparisons={"states": good}),
        record("deep-sea-10", "hash", [1, 2], comparisons={"states": good}),
        record("deep-sea-10", "coin-flip", [1, 2], comparisons={"states": good}),
        record("deep-sea-10", "rnd+hash", [1, 2], comparisons={"pairs": good}),
        record("deep-sea-10", "rnd+coin-flip", [1, 2], comparisons={"pairs": bad}),
        record("corridor-25", "hash", [1, 2], comparisons={"states": bad}),
    )
    assert counters(ours) == {
        "counts": {"hash": ["deep-sea-10"]},
        "orders": {},
        "nowhere": ["coin-flip"],
        "nobody": ["corridor-25"],
    }
    closest = best_within(ours)
    assert closest is not None
    assert (closest["name"], closest["world"], round(closest["value"], 3)) == ("coin-flip", "deep-sea-10", 0.3)


def test_a_bonus_orders_in_a_world_if_it_does_no_worse_there() -> None:
    good, far = comparison([[1.0]] * 2, [0.0], within=1.0), comparison([[1.0]] * 2, [0.0, 3.0], within=1.0)
    ours = numbers(
        record("deep-sea-10", "rnd", [1, 2], comparisons={"states": good}),
        record("deep-sea-10", "coin-flip", [1, 2], comparisons={"states": good}),
        record("deep-sea-10", "rnd+coin-flip", [1, 2], comparisons={"pairs": far}),
    )
    found = counters(ours)
    assert (found["counts"], found["orders"]) == ({}, {"rnd": ["deep-sea-10"], "coin-flip": ["deep-sea-10"]})
    assert (found["nowhere"], found["nobody"]) == ([], ["deep-sea-10"])


def test_failures_of_which_the_same_can_be_said_are_together() -> None:
    def row(above: str = "", around: str = "", below: str = "", unknown: str = "") -> Data:
        return {"above": above.split(), "around": around.split(), "below": below.split(), "unknown": unknown.split()}

    compared = {
        "next_state": {"count": row(above="a b"), "icm": row(above="a", below="b"), "e3b": row(around="b", below="a")},
        "actions": {"rnd+hash": row(around="a b"), "rnd+ucb": row(unknown="a"), "rnd+entropy": row(around="a")},
    }
    assert failures(compared) == {
        "never": {"e3b": ["a"]},
        "mixed": {"icm": ["b"]},
        "same": ["rnd+hash", "rnd+entropy"],
        "unknown": ["rnd+ucb"],
    }


def test_what_is_planned_but_not_trained_is_missing() -> None:
    settings = BonusesSettings(worlds=("deep-sea-10",), intrinsic=("rnd", "hash"), action_bonus=("hash", "ucb"))
    ours = numbers(record("deep-sea-10", "rnd", RND), record("deep-sea-10", "rnd+hash", HASH))
    assert missing(settings, ours) == {"deep-sea-10": ["hash", "rnd+ucb", "random", "hash+hash", "hash+ucb"]}
    assert missing_actions(settings, ours) == {"deep-sea-10": ["ucb"]}
    assert missing_matrix(settings, ours) == ["hash+hash", "hash+ucb"]
