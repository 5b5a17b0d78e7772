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


def test_the_diver_starts_in_the_upper_left_corner() -> None:
    state, observation = SEA.reset(KEY)
    assert (int(state.row), int(state.column)) == (0, 0)
    np.testing.assert_array_equal(observation, np.eye(25)[0])


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


def test_the_optimal_way_returns_0_99_at_the_default_size_too() -> None:
    environment = DeepSea(20, jax.random.key(3))
    _, steps = dive(environment, environment.right_is)
    np.testing.assert_allclose(steps.reward.sum(), 0.99, rtol=1e-5)
    assert int(steps.terminated.sum()) == 1


def test_only_one_of_all_ways_finds_the_treasure() -> None:
    action_modes = jnp.array([[mode >> bit & 1 for bit in range(N)] for mode in range(2**N)])
    _, steps = jax.jit(jax.vmap(dive, in_axes=(None, 0)))(SEA, action_modes)
    found = np.asarray(steps.reward).max(axis=1) > 0.5
    assert action_modes[found].tolist() == [RIGHT_ON_THE_WAY]
    # Every other way only pays for its moves to the right.
    assert np.asarray(steps.reward)[~found].max() <= 0
    assert np.asarray(steps.reward)[~found].sum(axis=1).min() >= -0.01 * (N - 1) / N - 1e-7


@pytest.mark.parametrize("wrong", range(N))
def test_wrong_once_means_no_treasure(wrong: int) -> None:
    # All the rest is right for the column in which the diver then is.
    state, rewards = SEA.reset(KEY)[0], []
    for t in range(N):
        right = SEA.right_is[state.column]
        state, step = fast_step(SEA, state, 1 - right if t == wrong else right, KEY)
        rewards.append(float(step.reward))
    np.testing.assert_allclose(rewards, [0.0 if t == wrong else -0.002 for t in range(N)], rtol=1e-6)


def test_the_treasure_lies_at_the_bottom_of_the_last_column_only() -> None:
    for row, column in [(N - 1, N - 2), (N - 2, N - 1)]:
        _, step = fast_step(SEA, at(row, column), SEA.right_is[column], KEY)
        assert float(step.reward) < 0


def test_every_nth_step_ends_the_episode_and_the_next_begins_by_itself() -> None:
    actions = [0, 1, 1, 0, 1, *RIGHT_ON_THE_WAY, 0]
    states, steps = dive(SEA, jnp.array(actions))
    np.testing.assert_array_equal(steps.terminated, [t % N == N - 1 for t in range(11)])
    assert not steps.truncated.any()
    np.testing.assert_array_equal(states.row, [*range(N), *range(N), 0])
    np.testing.assert_allclose(steps.reward[N : 2 * N].sum(), 0.99, rtol=1e-6)


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


def test_sizes_are_two_actions_and_n_by_n_cells() -> None:
    assert SEA.spec == EnvSpec("vector", (25,), (2,), states=25)


def test_the_meaning_is_drawn_from_the_key_for_every_column() -> None:
    drawn = [DeepSea(200, jax.random.key(seed)).right_is for seed in (0, 0, 1)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).any()
    assert set(drawn[0].tolist()) == {0, 1}
    assert 60 < int(drawn[0].sum()) < 140


def test_seas_of_several_seeds_run_as_one() -> None:
    seas = eqx.filter_vmap(lambda key: DeepSea(N, key))(jax.random.split(KEY, 3))
    _, steps = jax.vmap(dive)(seas, seas.right_is)
    np.testing.assert_allclose(steps.reward.sum(axis=1), [0.99] * 3, rtol=1e-6)


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


def test_distractors_are_standard_normal() -> None:
    observed = DeepSea(2, KEY, distractors=10_000).reset(jax.random.key(2))[1]
    np.testing.assert_array_equal(observed[:4], [1, 0, 0, 0])
    assert abs(float(observed[4:].mean())) < 0.04
    assert abs(float(observed[4:].std()) - 1) < 0.03


def test_the_index_does_not_depend_on_distractors() -> None:
    sea = DeepSea(2, KEY, distractors=2)
    observed = jnp.array([[0, 0, 1, 0, 5.0, 9.0], [0, 0, 0, 0, 5.0, 9.0]])
    assert [int(sea.index(one)) for one in observed] == [2, 0]
