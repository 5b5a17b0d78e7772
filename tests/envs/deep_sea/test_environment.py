import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.envs.base import Environment, Step
from action_balance.envs.deep_sea.environment import DeepSea, DeepSeaState
from action_balance.envs.spec import EnvSpec

N = 5
KEY = jax.random.key(0)


def sea(right_is: list[int], key: jax.Array = KEY) -> DeepSea:
    """A sea in which these actions move right."""
    return eqx.tree_at(lambda one: one.right_is, DeepSea(len(right_is), key), jnp.array(right_is))


#: Right is 1, 0, 0, 1, 0 from the first column to the last.
SEA = sea([1, 0, 0, 1, 0])
RIGHT_ON_THE_WAY = [1, 0, 0, 1, 0]


@jax.jit
def dive(environment: Environment, actions: jax.Array) -> tuple[DeepSeaState, Step]:
    """The state before each step and what each step brought, from the start on."""

    def one(state: DeepSeaState, action: jax.Array) -> tuple[DeepSeaState, tuple[DeepSeaState, Step]]:
        following, step = environment.step(state, action, KEY)
        return following, (state, step)

    return jax.lax.scan(one, environment.reset(KEY)[0], actions)[1]


fast_step = jax.jit(DeepSea.step)


def at(row: int, column: int) -> DeepSeaState:
    return DeepSeaState(jnp.int32(row), jnp.int32(column))


@pytest.mark.parametrize("column", range(N))
def test_the_meaning_of_an_action_belongs_to_the_column(column: int) -> None:
    right = RIGHT_ON_THE_WAY[column]
    moved, step = fast_step(SEA, at(1, column), jnp.int32(right), KEY)
    assert (int(moved.row), int(moved.column)) == (2, min(column + 1, N - 1))
    np.testing.assert_allclose(step.reward, -0.01 / N, rtol=1e-6)
    moved, step = fast_step(SEA, at(1, column), jnp.int32(1 - right), KEY)
    assert (int(moved.row), int(moved.column)) == (2, max(column - 1, 0))
    assert float(step.reward) == 0.0


def test_the_optimal_way_returns_0_99() -> None:
    states, steps = dive(SEA, jnp.array(RIGHT_ON_THE_WAY))
    np.testing.assert_array_equal(states.row, range(N))
    np.testing.assert_array_equal(states.column, range(N))
    np.testing.assert_allclose(steps.reward, [-0.002] * 4 + [0.998], rtol=1e-6)
    np.testing.assert_allclose(steps.reward.sum(), 0.99, rtol=1e-6)


def test_only_one_of_all_ways_finds_the_treasure() -> None:
    action_modes = jnp.array([[mode >> bit & 1 for bit in range(N)] for mode in range(2**N)])
    _, steps = jax.jit(jax.vmap(dive, in_axes=(None, 0)))(SEA, action_modes)
    found = np.asarray(steps.reward).max(axis=1) > 0.5
    assert action_modes[found].tolist() == [RIGHT_ON_THE_WAY]
    # Every other way only pays for its moves to the right.
    assert np.asarray(steps.reward)[~found].max() <= 0
    assert np.asarray(steps.reward)[~found].sum(axis=1).min() >= -0.01 * (N - 1) / N - 1e-7


def test_the_end_is_reached_as_zeros_and_the_start_is_seen_next() -> None:
    _, steps = dive(SEA, jnp.array(RIGHT_ON_THE_WAY))
    # On the way down the diagonal, cells 6, 12, 18, 24.
    np.testing.assert_array_equal(steps.next_obs[:4], np.eye(25)[[6, 12, 18, 24]])
    np.testing.assert_array_equal(steps.observation[:4], steps.next_obs[:4])
    np.testing.assert_array_equal(steps.next_obs[4], np.zeros(25))
    np.testing.assert_array_equal(steps.observation[4], np.eye(25)[0])


def test_the_index_is_the_cell_row_by_row_and_0_at_the_end() -> None:
    index = jax.jit(jax.vmap(SEA.index))
    np.testing.assert_array_equal(index(jnp.eye(25)), range(25))
    np.testing.assert_array_equal(index(jnp.zeros((1, 25))), [0])
    _, steps = dive(SEA, jnp.array([1, 0, 1, 0, 1]))  # right, right, left, right, left: columns 1, 2, 1, 2, end
    np.testing.assert_array_equal(index(steps.next_obs), [6, 12, 16, 22, 0])


def test_the_meaning_is_drawn_from_the_key_for_every_column() -> None:
    drawn = [DeepSea(200, jax.random.key(seed)).right_is for seed in (0, 0, 1)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).any()
    assert set(drawn[0].tolist()) == {0, 1}
    assert 60 < int(drawn[0].sum()) < 140


def test_distractors_follow_the_cell_and_are_drawn_for_every_observation() -> None:
    plain, noisy = DeepSea(N, KEY), DeepSea(N, KEY, distractors=3)
    assert noisy.spec == EnvSpec("vector", (28,), (2,), states=25, parts=(("cell", 25), ("distractors", 3)))
    keys = jax.random.split(jax.random.key(1), 2 * N)

    @jax.jit
    def walk(sea: DeepSea) -> Step:
        def one(state: DeepSeaState, key: jax.Array) -> tuple[DeepSeaState, Step]:
            return sea.step(state, sea.right_is[state.column], key)

        return jax.lax.scan(one, sea.reset(KEY)[0], keys)[1]

    ours, other = walk(noisy), walk(plain)
    np.testing.assert_array_equal(ours.observation[:, :25], other.observation)
    np.testing.assert_array_equal(ours.next_obs[:, :25], other.next_obs)
    np.testing.assert_array_equal(ours.reward, other.reward)
    drawn = np.concatenate([ours.next_obs[:, 25:], ours.observation[N - 1 :: N, 25:]])
    assert len(np.unique(drawn)) == drawn.size  # also of the last observation of an episode and the first of the next
    np.testing.assert_array_equal(ours.observation[: N - 1], ours.next_obs[: N - 1])
