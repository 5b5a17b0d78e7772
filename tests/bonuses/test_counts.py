"""Exact counts, by hand."""

import jax
import jax.numpy as jnp
import pytest

from action_balance.bonuses.base import INTRINSIC, Batch, Transitions, make_bonus
from action_balance.config.agent import AgentConfig
from action_balance.core.running_stats import RunningMeanStd
from action_balance.envs.spec import EnvSpec


def test_the_bonus_is_one_over_the_root_of_the_visits_before_the_rollout() -> None:
    bonus = make_bonus("count", INTRINSIC, AgentConfig(method="count"), EnvSpec("vector", (2,), (3,), states=4))
    assert bonus is not None
    params, state = bonus.init(jax.random.key(0), RunningMeanStd.empty((2,)))
    assert params is None
    assert state.tolist() == [0, 0, 0, 0]
    zeros, reached = jnp.zeros((2, 2), jnp.int32), jnp.array([[1, 1], [3, 1]])
    frames = jnp.zeros((2, 2, 2))
    transitions = Transitions(frames, frames, zeros, zeros, reached, zeros > 0, zeros > 0)
    rollout = Batch(transitions, RunningMeanStd.empty((2,)), 5.0, jax.random.key(0))
    reward, state = bonus.reward(None, jnp.array([7, 3, 0, 8]), rollout)
    # A state that is reached three times within the rollout has the same bonus each time.
    assert reward.tolist() == [pytest.approx([0.5, 0.5]), pytest.approx([1 / 3, 0.5])]
    assert state.tolist() == [7, 6, 0, 9]
