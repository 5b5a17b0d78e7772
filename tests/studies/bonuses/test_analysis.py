from math import inf

import numpy as np
import pytest
from bonus_records import comparison, numbers, record

from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.studies.bonuses import analysis
from action_balance.studies.bonuses.records import Comparison

RND = [1000, 2000, -1, 1500, 500]  # the third counts as 2048
HASH = [500, 1000, 1024, 750, 250]  # each in half the time


def test_faster_is_the_ratio_of_mean_times_and_never_solving_a_world_counts_with_all_steps() -> None:
    ours = numbers(
        record("deep-sea-10", "rnd", RND, [10, 20, -1, 40, -1], greedy=[0.5, 1.0, 0.25, np.nan, np.nan]),
        record("deep-sea-10", "hash", HASH, [5, 10, 1024, 20, 1024]),
    )
    about = ours["worth"]["deep-sea-10"]
    rnd, hashed = about["setups"]["rnd"], about["setups"]["hash"]
    assert hashed["faster"] == {"value": pytest.approx(2.0), "low": pytest.approx(2.0), "high": pytest.approx(2.0)}
    assert hashed["sooner"]["value"] == pytest.approx(2.0)  # the first reward
    assert (rnd["faster"], rnd["sooner"]) == (None, None)
    assert (rnd["solved"], rnd["found"], hashed["solved"], hashed["found"]) == (4, 3, 5, 5)
    assert (rnd["greedy"], hashed["greedy"]) == (2, None)  # 0.5 reaches 0.5
    assert rnd["time"]["value"] == (1000 + 2000 + 2048 + 1500 + 500) / 5
    assert (rnd["median"]["value"], hashed["median"]["value"]) == (1500, 750)
    assert (rnd["curve"], hashed["curve"]) == ([0.4, 0.8], [1, 1])  # by 1024 and 2048 steps
    assert (about["reachable"], about["agents"], about["threshold"]) == (55, 5, 0.5)
    assert ours["verdict"]["next_state"]["deep-sea-10"]["above"] == ["hash"]


def test_a_world_that_nobody_solves_has_no_median() -> None:
    ours = numbers(record("deep-sea-10", "rnd", [-1] * 5), record("deep-sea-10", "hash", [-1] * 5))
    setups = ours["worth"]["deep-sea-10"]["setups"]
    assert setups["rnd"]["median"]["value"] == str(inf)
    assert setups["hash"]["faster"]["value"] == 1
    assert ours["verdict"]["next_state"]["deep-sea-10"]["around"] == ["hash"]


def test_every_setup_is_compared_with_its_base_in_its_part() -> None:
    names = ("rnd", "hash", "random", "rnd+hash", "rnd+epsilon-greedy", "hash+hash", "icm+hash", "rnd+hash-auto")
    all_names = (*names, "pqn-rnd", "pqn-rnd+hash")
    ours = numbers(*(record("deep-sea-10", name, HASH if "+" in name else RND) for name in all_names))
    about = ours["worth"]["deep-sea-10"]
    assert {name: (one["part"], (one["faster"] or {}).get("value")) for name, one in about["setups"].items()} == {
        **{"rnd": ("next_state", None), "hash": ("next_state", 1), "random": ("next_state", 1)},
        **{"rnd+hash": ("actions", 2), "rnd+epsilon-greedy": ("actions", 2), "hash+hash": ("actions", 2)},
        **{"icm+hash": ("actions", None), "rnd+hash-auto": ("coefficients", 2)},
        **{"pqn-rnd": ("q_learning", 1), "pqn-rnd+hash": ("q_learning", 2)},
    }
    assert about["comparisons"] == {"next_state": 2, "actions": 3, "coefficients": 1, "q_learning": 2}
    assert {part: ours["verdict"][part]["deep-sea-10"]["above"] for part in analysis.PARTS} == {
        "next_state": [],
        "actions": ["rnd+hash", "rnd+epsilon-greedy", "hash+hash"],
        "coefficients": ["rnd+hash-auto"],
        "q_learning": ["pqn-rnd+hash"],
    }


def test_without_a_reward_states_are_compared_by_intervals_that_are_right_together() -> None:
    # One to five states more: Student's interval is 3 +- 1.96 alone, and 3 +- 3.26 among five (t = 2.776, 4.604).
    base = record("open-40", "rnd", [-1] * 5, states=[100] * 5)
    others = [
        record("open-40", name, [-1] * 5, states=[101, 102, 103, 104, 105])
        for name in ("count", "hash", "icm", "ngu", "e3b")
    ]
    alone, among = (numbers(base, *others[:count]) for count in (1, 5))
    more = [ours["worth"]["open-40"]["setups"]["count"]["more_states"] for ours in (alone, among)]
    assert [one["low"] for one in more] == pytest.approx([3 - 2.776445 * 0.5**0.5, 3 - 4.604095 * 0.5**0.5])
    assert alone["worth"]["open-40"]["setups"]["count"]["faster"] is None
    assert alone["verdict"]["next_state"]["open-40"]["above"] == ["count"]
    assert among["verdict"]["next_state"]["open-40"]["around"] == ["count", "hash", "icm", "ngu", "e3b"]


def test_a_world_whose_states_cannot_be_enumerated_has_no_number_of_them() -> None:
    ours = numbers(record("mountain-car", "rnd", HASH, greedy=[-120, -130, -131, -200, -200]))
    about = ours["worth"]["mountain-car"]
    assert (about["reachable"], about["setups"]["rnd"]["greedy"]) == (None, 2)


def test_worlds_with_different_agents_are_not_compared() -> None:
    with pytest.raises(UserError, match="the agents in deep-sea-10 differ in their seeds or steps"):
        analysis.numbers([record("deep-sea-10", "rnd", [1, 2]), record("deep-sea-10", "count", [1])])


def counted(**bonuses: Comparison) -> Data:
    made = [record("deep-sea-10", name, [1, 2], comparisons={"states": one}) for name, one in bonuses.items()]
    found: Data = numbers(*made)["counting"]["deep-sea-10"]["states"]
    return found


def test_what_counts_has_the_order_and_the_numbers() -> None:
    found = counted(
        count=comparison([[1.0, 1.0]] * 2, [0, 0, 0]),
        hash=comparison([[0.1, 0.95], [0.2, 0.97]], [0.5, 0, -0.5]),
        elliptical=comparison([[0.9, 0.95]] * 2, [-5, 0, 5]),
        icm=comparison([[0.9, 0.5]] * 2, [0, 0, 0]),
        rnd=comparison([[0.9, 0.95]] * 2, [0, 0, 0]),  # without a scale
    )
    assert {name: analysis.category(one) for name, one in found.items()} == {
        **{"count": "counts", "hash": "counts", "elliptical": "orders", "icm": "neither", "rnd": "orders"}
    }
    assert [row["visits"] for row in found["elliptical"]["ratio"]] == [1, 2, 4]
    assert [row["ratio"]["value"] for row in found["elliptical"]["ratio"]] == [2**-5, 1, 2**5]
    assert found["hash"]["rank"][1]["value"] == pytest.approx(np.tanh(np.arctanh([0.95, 0.97]).mean()), abs=1e-5)
    assert found["hash"]["lowest"] == pytest.approx(0.95)
    assert found["hash"]["steps"] == [1024, 2048]
    assert (found["rnd"]["calibrated"], found["hash"]["calibrated"]) == (False, True)


@pytest.mark.parametrize(
    ("logs", "counts"), [([-1.0, 0], True), ([-1.1, 0], True), ([1.1, 0], False), ([0, -1.1], False), ([0, 1.1], False)]
)
def test_an_underestimate_of_a_count_of_1_is_judged_by_its_rank_alone(logs: list[float], counts: bool) -> None:
    assert counted(hash=comparison([[1.0]] * 2, logs))["hash"]["counts"] == counts


def test_a_bin_with_hardly_any_states_does_not_decide() -> None:
    rare = comparison([[1.0]] * 2, [0.0, 4.0])
    rare.number[..., 0], rare.number[..., 1] = 1000, 1
    assert counted(hash=rare)["hash"]["counts"]


def test_pairs_must_also_have_their_order_within_a_state() -> None:
    def pairs(within: float) -> bool:
        made = comparison([[0.95]] * 2, [0.0], within=within)
        ours = numbers(record("deep-sea-10", "rnd+hash", [1, 2], comparisons={"pairs": made}))
        return bool(ours["counting"]["deep-sea-10"]["pairs"]["hash"]["counts"])

    assert pairs(0.95)
    assert not pairs(0.3)
