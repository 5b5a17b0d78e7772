"""Acting: samples of beta, their log-probabilities, and the schedule of c."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from small_agent import SMALL, WORLD, algorithm, begun, trained

from action_balance.algorithms import rollout
from action_balance.algorithms.state import TrainState


def test_actions_are_sampled_from_beta_and_its_log_prob_is_stored() -> None:
    state = trained()[0]
    _, trajectory = eqx.filter_jit(lambda state: rollout.rollout(WORLD, state, algorithm()))(state)
    log_prob = jax.vmap(jax.vmap(algorithm().distribution.log_prob))
    beta = jax.vmap(jax.vmap(lambda x, y: algorithm().behaviour_logits(x, y, jnp.ones(()))))(
        trajectory.preferences, trajectory.action_bonus
    )
    expected = log_prob(beta, trajectory.action)
    np.testing.assert_allclose(trajectory.log_prob, expected, atol=1e-6)
    assert np.abs(np.asarray(log_prob(trajectory.preferences, trajectory.action) - expected)).max() > 1e-3


def test_the_states_of_a_rollout_are_numbered() -> None:
    state = trained()[0]
    _, trajectory = eqx.filter_jit(lambda state: rollout.rollout(WORLD, state, algorithm()))(state)
    number = jax.vmap(jax.vmap(WORLD.index))
    assert (trajectory.index == number(trajectory.observation)).all()
    assert (trajectory.next_index == number(trajectory.next_obs)).all()


def test_coefficient_follows_its_schedule() -> None:
    def after(updates: int) -> TrainState:
        return replace(begun(), updates=jnp.array(updates))

    config = replace(SMALL, steps=64 * 13, exploration=replace(SMALL.exploration, action_coef=2.0, action_coef_end=1.0))
    assert [float(rollout.action_coef(config, after(update))) for update in (0, 5, 10, 20)] == [2, 1.5, 1, 1]
    assert float(rollout.action_coef(SMALL, after(7))) == 1
