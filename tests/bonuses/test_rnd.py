"""RND as a bonus: the error of the state reached, and a target that never changes."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from action_balance.bonuses.base import INTRINSIC, Batch, Transitions, make_bonus
from action_balance.config.agent import AgentConfig, NetConfig
from action_balance.core.running_stats import RunningMeanStd
from action_balance.envs.spec import EnvSpec

AGENT = AgentConfig(method="rnd", net=NetConfig(bonus_hidden=4, bonus_outputs=3))
STATS = RunningMeanStd(jnp.float32(2), jnp.array([0.5, 0.5]), jnp.array([0.5, 0.5]))


def rollout(next_frame: Any) -> Batch:
    frames = jnp.asarray(next_frame, jnp.float32)
    zeros = jnp.zeros(frames.shape[:-1], jnp.int32)
    transitions = Transitions(jnp.zeros_like(frames), frames, zeros, zeros, zeros, zeros > 0, zeros > 0)
    return Batch(transitions, STATS, 5.0, jax.random.key(0))


def test_reward_and_loss_are_the_squared_error_of_the_normalised_next_state() -> None:
    bonus = make_bonus("rnd", INTRINSIC, AGENT, EnvSpec("vector", (2,), (3,)))
    assert bonus is not None
    predictor, target = bonus.init(jax.random.key(0), STATS)
    batch = rollout([[[0.0, 1.0]], [[1.0, 1.0]]])
    reward, state = bonus.reward(predictor, target, batch)
    seen = (np.array([[0.0, 1.0], [1.0, 1.0]]) - 0.5) / 0.5
    errors = [np.mean((np.asarray(predictor(x)) - np.asarray(target(x))) ** 2) for x in jnp.asarray(seen, jnp.float32)]
    np.testing.assert_allclose(reward[:, 0], errors, rtol=1e-5)
    assert eqx.tree_equal(state, target)
    flat = rollout([[0.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(bonus.loss(predictor, target, flat), errors, rtol=1e-5)


def test_no_gradient_reaches_the_target() -> None:
    bonus = make_bonus("rnd", INTRINSIC, AGENT, EnvSpec("vector", (2,), (3,)))
    assert bonus is not None
    predictor, target = bonus.init(jax.random.key(0), STATS)
    flat = rollout([[0.0, 1.0]])
    gradients = jax.grad(lambda p, t: bonus.loss(p, t, flat).sum(), argnums=(0, 1))(predictor, target)
    assert any(np.asarray(leaf).any() for leaf in jax.tree.leaves(gradients[0]))
    assert not any(np.asarray(leaf).any() for leaf in jax.tree.leaves(gradients[1]))
