import numpy as np
import pytest
from bonus_records import comparison, record

from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.studies.bonuses import analysis
from action_balance.studies.bonuses.records import BonusRecord, Comparison

RND = [1000, 2000, -1, 1500, 500]  # the third counts as 2048
HASH = [500, 1000, 1024, 750, 250]  # each in half the time


def numbers(*records: BonusRecord) -> Data:
    ours = analysis.numbers(records)
    return {**ours, "verdict": analysis.verdict(ours)}


def test_sooner_is_the_ratio_of_mean_steps_and_never_finding_counts_with_all_steps() -> None:
    ours = numbers(record("deep-sea-10", "rnd", RND), record("deep-sea-10", "hash", HASH, [0.9, 0.9, 0.2, 0.6, 0.5]))
    hashed = ours["worth"]["deep-sea-10"]["setups"]["hash"]
    assert hashed["sooner"] == {"value": pytest.approx(2.0), "low": pytest.approx(2.0), "high": pytest.approx(2.0)}
    assert hashed["sooner_than_exact"] is None
    assert (hashed["found"], hashed["solved"]) == (5, 3)  # 0.5 is not above 0.5
    assert hashed["median_steps"] == 750
    rnd = ours["worth"]["deep-sea-10"]["setups"]["rnd"]
    assert (rnd["found"], rnd["solved"], rnd["median_steps"]) == (4, 0, 1500)
    assert ours["worth"]["deep-sea-10"]["reachable"] == 55
    assert ours["verdict"]["next_state"]["deep-sea-10"]["above"] == ["hash"]


def test_action_bonuses_are_compared_with_exact_counts_of_pairs_on_the_same_next_state_bonus() -> None:
    counts, ours = [200, 400, 300, 200, 100], ("count", "hash", "rnd", "rnd+count", "rnd+hash", "rnd+entropy", "random")
    made = [record("deep-sea-10", name, counts if name == "rnd+count" else HASH) for name in ours]
    setups = numbers(*made, record("deep-sea-10", "hash+hash", HASH))["worth"]["deep-sea-10"]["setups"]
    ratio = sum(counts) / sum(HASH)
    for name in ("rnd+hash", "rnd+entropy", "random"):
        assert setups[name]["exact"] == "rnd+count"
        assert setups[name]["sooner_than_exact"]["value"] == pytest.approx(ratio)
    assert (setups["hash"]["exact"], setups["hash"]["sooner_than_exact"]["value"]) == ("count", 1)
    assert (setups["hash+hash"]["exact"], setups["hash+hash"]["sooner_than_exact"]) == ("hash+count", None)
    assert setups["rnd+count"]["sooner_than_exact"] is None  # itself


def test_a_median_is_unknown_if_half_of_the_agents_never_got_there() -> None:
    ours = numbers(record("deep-sea-10", "rnd", [5, -1, -1]))
    assert ours["worth"]["deep-sea-10"]["setups"]["rnd"]["median_steps"] is None


def test_without_a_treasure_states_are_compared() -> None:
    ours = numbers(
        record("open-40", "rnd", [-1] * 5, states=[100, 110, 120, 100, 120]),
        record("open-40", "count", [-1] * 5, states=[130, 140, 150, 131, 149]),
        record("open-40", "rnd+distillation", [-1] * 5, states=[90, 115, 121, 99, 127]),
    )
    setups = ours["worth"]["open-40"]["setups"]
    assert setups["count"]["sooner"] is None
    assert setups["count"]["more_states"]["value"] == 30
    assert ours["verdict"]["next_state"]["open-40"]["above"] == ["count"]
    assert ours["verdict"]["actions"]["open-40"]["around"] == ["rnd+distillation"]


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
        rnd=comparison([[0.9, 0.95]] * 2, [-5, 0, 5]),
        icm=comparison([[0.9, 0.5]] * 2, [0, 0, 0]),
    )
    assert {name: analysis.category(one) for name, one in found.items()} == {
        "rnd": "orders",
        "count": "counts",
        "hash": "counts",
        "icm": "neither",
    }
    assert [row["visits"] for row in found["rnd"]["ratio"]] == [1, 2, 4]
    assert [row["ratio"]["value"] for row in found["rnd"]["ratio"]] == [2**-5, 1, 2**5]
    assert found["hash"]["rank"][1]["value"] == pytest.approx(np.tanh(np.arctanh([0.95, 0.97]).mean()), abs=1e-5)
    assert found["hash"]["lowest"] == pytest.approx(0.95)
    assert found["hash"]["steps"] == [1024, 2048]
    assert (found["rnd"]["calibrated"], found["hash"]["calibrated"]) == (False, True)


def test_a_bonus_without_a_scale_can_only_order() -> None:
    perfect = comparison([[1.0]] * 2, [0.0, 0.0])
    found = counted(rnd=perfect, hash=perfect)
    assert (found["rnd"]["orders"], found["rnd"]["counts"]) == (True, False)
    assert found["hash"]["counts"]


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


def test_the_course_of_an_adaptive_coefficient_has_its_start_middle_and_end() -> None:
    made = record(
        *("deep-sea-10", "rnd+hash", [1, 2]),
        steps=np.array([1, 2, 3, 4], np.int32),
        coef=np.array([3.0, 1.0, 0.5, 2.0], np.float32),
        kl=np.array([0.5, 0.25, 0.125, 0.0625], np.float32),
    )
    setups = numbers(made, record("deep-sea-10", "rnd", [1, 2]))["worth"]["deep-sea-10"]["setups"]
    assert setups["rnd+hash"]["course"] == {"steps": [1, 2, 4], "coef": [3.0, 1.0, 2.0], "kl": [0.5, 0.25, 0.0625]}
    assert setups["rnd"]["course"] is None
