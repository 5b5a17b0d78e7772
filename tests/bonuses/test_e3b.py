"""E3B by hand: two features, a ridge of 1/2."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from known_features import STATS, Identity, small_bonus, steps, transitions

from action_balance.bonuses.e3b import elliptical

# C is 1/2 I, then diag(3/2, 1/2), then [[5/2, 1], [1, 3/2]], whose determinant is 11/4.
FEATURES = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
BONUSES = [2.0, 2 / 3 + 2, 10 / 11]


def start(envs: int) -> tuple[Any, Any, Any]:
    bonus = small_bonus("e3b", envs, ridge=0.5)
    params, state = jax.jit(bonus.init)(jax.random.key(0), STATS)
    return bonus, eqx.tree_at(lambda d: d.encoder, params, Identity()), state


def test_the_bonus_is_the_elliptical_norm_before_the_features_are_added() -> None:
    inverse, found = jnp.eye(2) * 2, []
    for features in FEATURES[:2]:
        inverse, bonus = elliptical(inverse, jnp.array(features))
        found.append(float(bonus))
    np.testing.assert_allclose(inverse, np.array([[1.5, -1.0], [-1.0, 2.5]]) / 2.75, rtol=1e-6)
    found.append(float(elliptical(inverse, jnp.array(FEATURES[2]))[1]))
    assert found == pytest.approx(BONUSES)


def test_the_updated_inverse_is_the_inverse_of_the_covariance_after_many_steps() -> None:
    features = jax.random.normal(jax.random.key(0), (500, 3))
    inverse, _ = jax.lax.scan(elliptical, jnp.eye(3) / 0.1, features)
    exact = np.linalg.inv(0.1 * np.eye(3) + np.asarray(features, float).T @ np.asarray(features, float))
    np.testing.assert_allclose(inverse, exact, atol=1e-6)


def test_the_covariance_begins_anew_at_the_ends_of_episodes_and_only_there() -> None:
    bonus, params, state = start(envs=2)
    frames = [[row, row] for row in [*FEATURES, [0.0, 2.0]]]
    ended = [[False, False], [False, False], [False, True], [False, False]]
    reward, state = jax.jit(bonus.reward)(params, state, transitions(frames, ended=ended))
    # The last C of the first environment is [[5/2, 1], [1, 5/2]], whose determinant is 21/4.
    assert reward[:, 0].tolist() == pytest.approx([*BONUSES, 4 * 2.5 / 5.25], rel=1e-5)
    assert reward[:, 1].tolist() == pytest.approx([*BONUSES, 8.0], rel=1e-5)
    np.testing.assert_allclose(state.inverses[1], np.diag([2.0, 2 - 16 / 9]), rtol=1e-5)
    assert bonus.new_episodes(state).inverses.tolist() == [[[2.0, 0.0], [0.0, 2.0]]] * 2


def test_the_covariance_survives_the_boundary_between_rollouts() -> None:
    bonus, params, state = start(envs=2)
    frames = jax.random.normal(jax.random.key(1), (4, 2, 2))
    rollout = transitions(frames, ended=[[False, False], [False, False], [True, False], [False, False]])
    rewards = jax.jit(bonus.reward)
    whole, after = rewards(params, state, rollout)
    first, half = rewards(params, state, steps(rollout, 0, 2))
    second, again = rewards(params, half, steps(rollout, 2, 4))
    np.testing.assert_allclose(jnp.concatenate([first, second]), whole, rtol=1e-6)
    np.testing.assert_allclose(again.inverses, after.inverses, rtol=1e-6)
