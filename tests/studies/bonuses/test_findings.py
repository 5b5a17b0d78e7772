from typing import Any

import numpy as np
from bonus_records import comparison, numbers, record

from action_balance.studies.bonuses.findings import best_within, counters, courses, effects, missing, overview, seas
from action_balance.studies.bonuses.settings import BonusesSettings

RND = [1000, 2000, -1, 1500, 500]
HASH = [500, 1000, 1024, 750, 250]  # each in half the time
SLOW = [2000, -1, -1, -1, 1000]


def test_the_worlds_of_an_effect_are_together() -> None:
    ours = numbers(
        *(record(world, "rnd", RND) for world in ("deep-sea-10", "lock-6", "goal-40")),
        record("deep-sea-10", "rnd+hash", HASH),
        record("lock-6", "rnd+hash", SLOW),
        record("goal-40", "rnd+hash", RND),
        *(record("lock-6", name, HASH) for name in ("hash", "rnd+hash-3")),
    )
    found: dict[str, Any] = {"above": [], "around": [], "below": [], "unknown": []}
    assert effects(ours) == {
        "next_state": {"hash": found | {"above": ["lock-6"]}},
        "actions": {"rnd+hash": found | {"above": ["deep-sea-10"], "around": ["goal-40"], "below": ["lock-6"]}},
        "coefficients": {"rnd+hash-3": found | {"above": ["lock-6"]}},
        "q_learning": {},
    }


def test_the_most_agents_that_solve_a_world_are_those_of_a_bonus_that_does_not_enumerate() -> None:
    ours = numbers(
        record("deep-sea-10", "count", HASH),
        record("deep-sea-10", "rnd", RND),
        record("deep-sea-10", "rnd+hash", HASH),
        record("deep-sea-10", "random", [-1] * 5),
        record("open-40", "rnd", [-1] * 5),
    )
    found = overview(ours)
    assert (found["names"], found["most"]) == (["random", "rnd", "count"], {"deep-sea-10": 4})
    assert {name: one["solved"] for name, one in found["worlds"]["deep-sea-10"].items()} == {
        **{"count": 5, "rnd": 4, "random": 0}
    }


def test_the_largest_deep_sea_is_solved_by_half_of_the_agents_within_10_000_episodes() -> None:
    limit, steps = 10_000 * 20, np.array([2 * 10_000 * 20], np.int32)
    ours = numbers(
        record("deep-sea-10", "rnd", RND),
        record("deep-sea-20", "rnd", [limit, limit, limit + 1, limit + 1, -1], steps=steps),
        record("deep-sea-20", "hash", [limit, limit, limit, limit + 1, -1], steps=steps),
        record("deep-sea-14", "hash", HASH),
    )
    assert seas(ours) == {
        "worlds": ["deep-sea-10", "deep-sea-20"],
        "rows": {
            "rnd": {"solved": {"deep-sea-10": 4, "deep-sea-20": 2}, "largest": 10},
            "hash": {"solved": {"deep-sea-20": 3}, "largest": 20},
        },
    }


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


def test_what_is_planned_but_not_trained_is_missing() -> None:
    settings = BonusesSettings(worlds=("deep-sea-10",), intrinsic=("rnd", "hash"), action_bonus=("hash", "ucb"))
    ours = numbers(record("deep-sea-10", "rnd", RND), record("deep-sea-10", "rnd+hash", HASH))
    q_learning = ["pqn-rnd", "pqn-rnd+hash", "pqn-hash", "pqn-hash+hash"]
    assert missing(settings, ours) == {"deep-sea-10": ["hash", "random", "rnd+ucb", *q_learning]}


def test_the_course_of_a_coefficient_has_its_start_middle_and_end() -> None:
    course: dict[str, Any] = {
        "steps": np.array([1, 2, 3, 4], np.int32),
        "coef": np.array([3.0, 1.0, 0.5, 2.0], np.float32),
        "kl": np.array([0.5, 0.25, 0.125, 0.0625], np.float32),
    }
    ours = numbers(
        record("deep-sea-10", "rnd", [1, 2]),
        record("deep-sea-10", "rnd+hash", [1, 2], **course),
        record("deep-sea-10", "rnd+hash-auto", [1, 2], **course),
        record("deep-sea-10", "rnd+hash-1", [1, 2]),  # constant
    )
    assert courses(ours) == {
        "deep-sea-10": {"rnd+hash-auto": {"steps": [1, 2, 4], "coef": [3.0, 1.0, 2.0], "kl": [0.5, 0.25, 0.0625]}}
    }
