from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.envs.base import Environment, Step
from action_balance.envs.grid.dynamics import GridState
from action_balance.envs.grid.environment import GridEnvironment
from action_balance.envs.grid.view import CellView
from action_balance.envs.grid.world import GridWorld
from action_balance.errors import UserError

LEFT, RIGHT, UP, DOWN = range(4)
KEY = jax.random.key(0)

#: 3 wide, 2 high, a goal in the upper right corner, four steps an episode.
WORLD = GridWorld.create(3, 2, goals=[(2, 1)], episode_steps=4)
#: The cells 0 to 5 row by row from the bottom.
SEEN: dict[CellView, list[list[float]]] = {
    "coordinates": [[-1, -1], [0, -1], [1, -1], [-1, 1], [0, 1], [1, 1]],
    "one-hot": [
        [1, 0, 0, 1, 0],
        [0, 1, 0, 1, 0],
        [0, 0, 1, 1, 0],
        [1, 0, 0, 0, 1],
        [0, 1, 0, 0, 1],
        [0, 0, 1, 0, 1],
    ],
}

both_views = pytest.mark.parametrize("view", SEEN)


@jax.jit
def follow(environment: Environment, actions: jax.Array) -> tuple[GridState, Step]:
    """The state before each step and what each step brought, from the start on."""

    def one(state: GridState, action: jax.Array) -> tuple[GridState, tuple[GridState, Step]]:
        following, step = environment.step(state, action, KEY)
        return following, (state, step)

    return jax.lax.scan(one, environment.reset(KEY)[0], actions)[1]


@both_views
def test_every_cell_is_seen_by_its_coordinates_or_one_hot(view: CellView) -> None:
    environment = GridEnvironment(WORLD, view)
    np.testing.assert_allclose(jax.jit(jax.vmap(environment.observe))(jnp.arange(6)), SEEN[view])
    spec = environment.spec
    assert (spec.shape, spec.nvec, spec.states) == ((len(SEEN[view][0]),), (4,), 6)


@both_views
@pytest.mark.parametrize(("width", "height"), [(40, 40), (1, 7), (257, 3)])
def test_the_index_inverts_what_is_seen(view: CellView, width: int, height: int) -> None:
    environment = GridEnvironment(GridWorld.create(width, height), view)
    # Compiled apart, as one program might never round what is seen.
    seen = jax.jit(jax.vmap(environment.observe))(jnp.arange(width * height))
    actual = jax.jit(jax.vmap(environment.index))(seen)
    np.testing.assert_array_equal(actual, range(width * height))
    assert actual.dtype == jnp.int32


@both_views
def test_at_a_goal_the_goal_is_reached_and_the_start_is_seen(view: CellView) -> None:
    states, steps = follow(GridEnvironment(WORLD, view), jnp.array([RIGHT, UP, RIGHT, UP]))
    seen = np.array(SEEN[view])
    np.testing.assert_array_equal(states.cell, [0, 1, 4, 0])
    np.testing.assert_allclose(steps.next_obs, seen[[1, 4, 5, 3]])
    np.testing.assert_allclose(steps.observation, seen[[1, 4, 0, 3]])
    np.testing.assert_array_equal(steps.reward, [0.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(steps.terminated, [False, False, True, False])
    assert not steps.truncated.any()


@both_views
def test_at_the_time_limit_the_last_cell_is_reached_and_the_start_is_seen(view: CellView) -> None:
    _, steps = follow(GridEnvironment(WORLD, view), jnp.array([RIGHT, LEFT, RIGHT, RIGHT, UP]))
    seen = np.array(SEEN[view])
    np.testing.assert_allclose(steps.next_obs, seen[[1, 0, 1, 2, 3]])
    np.testing.assert_allclose(steps.observation, seen[[1, 0, 1, 0, 3]])
    np.testing.assert_array_equal(steps.truncated, [False, False, False, True, False])
    assert not steps.terminated.any()
    assert not steps.reward.any()


def test_an_unknown_view_is_named_with_the_nearest() -> None:
    with pytest.raises(UserError, match="unknown view 'onehot': did you mean one-hot\\?"):
        GridEnvironment(WORLD, cast(CellView, "onehot"))
