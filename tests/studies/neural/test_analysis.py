import jax
import numpy as np
import pytest

from action_balance.envs.grid.config import GridConfig
from action_balance.studies.grid.first_reach import FirstReachSteps
from action_balance.studies.neural.analysis import Trained, World


def trained(returns: list[list[float]], states: list[list[float]], found: list[int]) -> Trained:
    """A method with these numbers; a negative step is a treasure never found."""
    steps = np.array(found)
    reach = FirstReachSteps(np.where(steps < 0, 100, steps), steps >= 0)
    length = len(returns[0])
    return Trained(np.arange(1, length + 1) * 10.0, np.array(states), np.array(returns), reach, np.zeros(4))


def test_the_score_is_the_mean_return_of_the_last_tenth_of_the_updates() -> None:
    nan = np.nan
    returns = [[0.0] * 18 + [1.0, 0.5], [1.0] * 18 + [nan, 0.25], [1.0] * 18 + [nan, nan]]
    one = trained(returns, [[1.0] * 20] * 3, [5, 5, 5])
    np.testing.assert_allclose(one.scores, [0.75, 0.25, 0.0])
    assert one.solved.value == pytest.approx(1 / 3)


def test_methods_are_compared_by_states_and_by_steps_to_the_treasure() -> None:
    ours = trained([[0.0], [0.0]], [[12.0], [14.0]], [10, 30])
    other = trained([[0.0], [0.0]], [[10.0], [10.0]], [60, -1])  # 60 steps, and all 100
    world = World(
        "corridor", GridConfig("open", 2).make(jax.random.key(0)), 4, {"action-balance-rnd": ours, "rnd": other}
    )
    more, ratio = world.more_states("action-balance-rnd", "rnd"), world.ratio("action-balance-rnd", "rnd")
    assert more is not None
    assert ratio is not None
    assert more.value == 3
    assert ratio.value == 4
    assert world.ratio("action-balance-rnd", "ppo") is None
