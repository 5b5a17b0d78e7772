"""Exact counts, by hand."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from known_features import STATS, transitions

from action_balance.algorithms.base import make_algorithm
from action_balance.bonuses.base import ACTION, INTRINSIC, Batch, BonusObs, make_bonus
from action_balance.config.agent import AgentConfig
from action_balance.core.running_stats import RunningMeanStd
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError


def steps(states: Any, actions: Any) -> Batch:
    """Steps of one environment from these states."""
    index = jnp.asarray(states)[:, None]
    return transitions(jnp.zeros((*index.shape, 2)), action=jnp.asarray(actions)[:, None], index=index)


def test_the_bonus_is_one_over_the_root_of_the_visits_before_the_rollout() -> None:
    bonus = make_bonus("count", INTRINSIC, AgentConfig(method="count"), EnvSpec("vector", (2,), (3,), states=4))
    assert bonus is not None
    params, state = bonus.init(jax.random.key(0), STATS)
    assert params is None
    assert state.tolist() == [0, 0, 0, 0]
    rollout = transitions(jnp.zeros((2, 2, 2)), index=[[1, 1], [3, 1]])
    reward, state = bonus.reward(None, jnp.array([7, 3, 0, 8]), rollout)
    # A state that is reached three times within the rollout has the same bonus each time.
    assert reward.tolist() == [pytest.approx([0.5, 0.5]), pytest.approx([1 / 3, 0.5])]
    assert state.tolist() == [7, 6, 0, 9]


def test_only_the_count_of_the_pair_that_was_taken_rises() -> None:
    bonus = make_bonus(
        "count", ACTION, AgentConfig(method="ppo", action_bonus="count"), EnvSpec("vector", (2,), (3,), states=2)
    )
    assert bonus is not None
    assert bonus.init(jax.random.key(0), STATS)[1].tolist() == [[0, 0, 0], [0, 0, 0]]
    before = jnp.array([[3, 0, 8], [1, 1, 1]])
    reward, after = bonus.reward(None, before, steps([0, 0, 0], [2, 1, 1]))
    # A pair that is taken twice within the rollout has the same bonus each time.
    assert reward[:, 0].tolist() == pytest.approx([1 / 3, 1, 1])
    assert after.tolist() == [[3, 2, 9], [1, 1, 1]]
    obs = BonusObs(jnp.zeros(2), jnp.int32(0), STATS, 5.0)
    assert bonus.scores(None, before, obs).tolist() == pytest.approx([0.5, 1, 1 / 3])


def test_discrete_observations_are_enumerated() -> None:
    lake = EnvSpec("vector-stack", (2, 16), (4,), normalize_obs=True, discrete=(16,))
    algorithm = make_algorithm(AgentConfig(method="ppo", intrinsic="count", action_bonus="count"), lake)
    shapes = {slot: bonus.init(jax.random.key(0), STATS)[1].shape for slot, bonus in algorithm.bonuses.items()}
    assert shapes == {INTRINSIC: (16,), ACTION: (16, 4)}
    seen = jnp.stack([jnp.eye(16)[3], jnp.eye(16)[9]])
    assert int(algorithm.bonus_obs(seen, jnp.int32(0), RunningMeanStd.empty((16,))).index) == 9


@pytest.mark.parametrize("slot", [INTRINSIC, ACTION])
def test_exact_counts_need_states_that_can_be_enumerated(slot: str) -> None:
    with pytest.raises(UserError, match="hash"):
        make_bonus("count", slot, AgentConfig(), EnvSpec("vector", (2,), (3,)))
