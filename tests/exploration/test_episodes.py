"""Returns and first rewards of episodes, worked out by hand, with NumPy and with JAX."""

import math
from types import ModuleType

import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.exploration.episodes import add_rewards, first_reward, summarize

LIBRARIES = pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])


@LIBRARIES
def test_returns_are_added_up_and_begin_again_where_an_episode_ended(xp: ModuleType) -> None:
    returns, finished = add_rewards(xp.array([1.0, 2.0]), xp.array([0.5, -3.0]), xp.array([True, False]))
    assert returns.tolist() == [0, -1]
    assert finished.tolist() == [1.5, 0]


@LIBRARIES
def test_episodes_are_summarised_by_number_mean_and_best(xp: ModuleType) -> None:
    ended = xp.array([[True, False], [True, True]])
    found = summarize(xp.array([[-4.0, 0.0], [-1.0, -1.0]]), ended)
    assert [float(number) for number in found] == [3, -2, -1]
    number, mean, best = summarize(xp.zeros((2, 2)), xp.zeros((2, 2), bool))
    assert int(number) == 0
    assert math.isnan(mean)
    assert math.isnan(best)


@LIBRARIES
def test_the_first_reward_counts_the_steps_of_all_environments(xp: ModuleType) -> None:
    """Rollouts of 3 steps of 2 environments: the second step of the fifth rollout is the 14th of each environment."""
    reward = xp.array([[0.0, -1.0], [0.0, 0.5], [2.0, 0.0]])
    assert int(first_reward(xp.array(-1), reward, xp.array(4))) == 14 * 2
    assert int(first_reward(xp.array(7), reward, xp.array(4))) == 7
    assert int(first_reward(xp.array(-1), xp.zeros((3, 2)), xp.array(4))) == -1
    # The last rollout whose steps fit into 32 bits, and the one after it.
    assert int(first_reward(xp.array(-1), reward, xp.array(357_913_940))) == (357_913_940 * 3 + 2) * 2
    assert int(first_reward(xp.array(-1), reward, xp.array(357_913_941))) == 2**31 - 1
