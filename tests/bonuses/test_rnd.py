"""RND as a bonus: the error of the state reached, and a target that never changes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from known_features import transitions

from action_balance.bonuses.base import INTRINSIC, make_bonus
from action_balance.config.agent import AgentConfig
from action_balance.config.network import NetworkConfig
from action_balance.core.running_stats import RunningMeanStd
from action_balance.envs.spec import EnvSpec

AGENT = AgentConfig(method="rnd", network=NetworkConfig(bonus_hidden=4, bonus_outputs=3))
STATS = RunningMeanStd(jnp.float32(2), jnp.array([0.5, 0.5]), jnp.array([0.5, 0.5]))


def test_reward_and_loss_are_the_squared_error_of_the_normalised_next_state() -> None:
    bonus = make_bonus("rnd", INTRINSIC, AGENT, EnvSpec("vector", (2,), (3,)))
    assert bonus is not None
    predictor, target = bonus.init(jax.random.key(0), STATS)
    batch = transitions([[[0.0, 1.0]], [[1.0, 1.0]]], stats=STATS)
    reward, state = bonus.reward(predictor, target, batch)
    seen = (np.array([[0.0, 1.0], [1.0, 1.0]]) - 0.5) / 0.5
    errors = [np.mean((np.asarray(predictor(x)) - np.asarray(target(x))) ** 2) for x in jnp.asarray(seen, jnp.float32)]
    np.testing.assert_allclose(reward[:, 0], errors, rtol=1e-5)
    assert eqx.tree_equal(state, target)
    flat = transitions([[0.0, 1.0], [1.0, 1.0]], stats=STATS)
    np.testing.assert_allclose(bonus.loss(predictor, target, flat), errors, rtol=1e-5)
