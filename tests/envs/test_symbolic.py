"""Symbolic frames: one-hot numbers, their statistics, and what networks and hash counts see of them, by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.algorithms.base import make_algorithm
from action_balance.bonuses.hashing import HashedStates
from action_balance.config.agent import AgentConfig
from action_balance.envs.mixed import empty_stats
from action_balance.envs.spec import EnvSpec
from action_balance.envs.symbolic import SymbolicStats, one_hot_frame
from action_balance.errors import UserError

#: One row of two cells, each with one of three objects and one of two colours.
SPEC = EnvSpec("symbolic", (1, 2, 2), (2,), "uint8", categories=(3, 2))
FRAMES = jnp.array([[[[0, 0], [2, 1]]], [[[0, 1], [2, 1]]], [[[1, 0], [2, 0]]], [[[0, 0], [2, 1]]]], jnp.uint8)


def test_symbols_are_one_hot_cell_by_cell_and_channel_by_channel() -> None:
    assert one_hot_frame(FRAMES[0], (3, 2)).astype(int).tolist() == [1, 0, 0, 1, 0, 0, 0, 1, 0, 1]
    assert one_hot_frame(FRAMES[2], (3, 2)).astype(int).tolist() == [0, 1, 0, 1, 0, 0, 0, 1, 1, 0]
    assert (SPEC.inputs, SPEC.stats_shape, SPEC.frame_shape) == (10, (10,), (1, 2, 2))
    stack = EnvSpec("symbolic-stack", (4, 1, 2, 2), (2,), "uint8", categories=(3, 2))
    assert (stack.inputs, stack.stats_shape, stack.frame_shape) == (40, (10,), (1, 2, 2))


def test_statistics_are_those_of_the_one_hot_numbers() -> None:
    stats = empty_stats(SPEC)
    assert isinstance(stats, SymbolicStats)
    update = jax.jit(lambda stats, frames: stats.update(frames))
    stats = update(update(stats, FRAMES[:1]), FRAMES[1:])
    assert stats.count == 4
    np.testing.assert_allclose(stats.mean, [0.75, 0.25, 0, 0.75, 0.25, 0, 0, 1, 0.25, 0.75], rtol=1e-6)
    varies = 3 / 16  # p (1 - p)
    np.testing.assert_allclose(
        stats.variance, [varies, varies, 0, varies, varies, 0, 0, 0, varies, varies], rtol=1e-5, atol=1e-7
    )
    half = empty_stats(SPEC).update(FRAMES, jnp.array([True, False, True, False]))
    np.testing.assert_allclose(half.mean, [0.5, 0.5, 0, 1, 0, 0, 0, 1, 0.5, 0.5])
    shown = stats.normalize(FRAMES[0])
    np.testing.assert_allclose(shown[:2], [0.25 / varies**0.5, -0.25 / varies**0.5], rtol=1e-5)


def test_policies_see_symbols_one_hot_and_hash_counts_tell_all_frames_apart() -> None:
    algorithm = make_algorithm(AgentConfig(method="hash"), SPEC)
    stats = empty_stats(SPEC)
    assert algorithm.policy_obs(FRAMES[0], None).tolist() == [1, 0, 0, 1, 0, 0, 0, 1, 0, 1]
    assert not algorithm.uses_obs_stats
    bonus = algorithm.intrinsic
    assert isinstance(bonus, HashedStates)
    _, table = bonus.init(jax.random.key(0), stats)
    rows = [int(bonus.locate(table, frame)[0]) for frame in FRAMES]
    assert rows[0] == rows[3]
    assert len(set(rows)) == 3


@pytest.mark.parametrize("categories", [(), (3,), (3, 2, 2)])
def test_categories_must_fit_the_channels(categories: tuple[int, ...]) -> None:
    with pytest.raises(UserError, match="categories"):
        EnvSpec("symbolic", (1, 2, 2), (2,), "uint8", categories=categories)
