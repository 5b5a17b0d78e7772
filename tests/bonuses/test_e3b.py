"""E3B by hand: two features, a ridge of 1/2."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
import pytest
from known_features import STATS, Identity, small_bonus, transitions

# C is 1/2 I, then diag(3/2, 1/2), then [[5/2, 1], [1, 3/2]], whose determinant is 11/4.
FEATURES = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
BONUSES = [2.0, 2 / 3 + 2, 10 / 11]


def start(envs: int) -> tuple[Any, Any, Any]:
    bonus = small_bonus("e3b", envs, ridge=0.5)
    params, state = jax.jit(bonus.init)(jax.random.key(0), STATS)
    return bonus, eqx.tree_at(lambda d: d.encoder, params, Identity()), state


def test_the_covariance_begins_anew_at_the_ends_of_episodes_and_only_there() -> None:
    bonus, params, state = start(envs=2)
    frames = [[row, row] for row in [*FEATURES, [0.0, 2.0]]]
    ended = [[False, False], [False, False], [False, True], [False, False]]
    reward, state = jax.jit(bonus.reward)(params, state, transitions(frames, ended=ended))
    # The last C of the first environment is [[5/2, 1], [1, 5/2]], whose determinant is 21/4.
    assert reward[:, 0].tolist() == pytest.approx([*BONUSES, 4 * 2.5 / 5.25], rel=1e-5)
    assert reward[:, 1].tolist() == pytest.approx([*BONUSES, 8.0], rel=1e-5)
    # C of the second is diag(1/2, 9/2) after the fourth step, which began an episode.
    np.testing.assert_allclose(state.roots[1], np.diag([2**0.5, (2 / 9) ** 0.5]), rtol=1e-5)
    np.testing.assert_allclose(bonus.new_episodes(state).roots, [np.eye(2) * 2**0.5] * 2, rtol=1e-6)
