from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.envs.base import Step
from action_balance.envs.library.environment import LibraryEnvironment, LibraryState
from action_balance.envs.xminigrid.config import XMiniGridConfig
from action_balance.envs.xminigrid.environment import XMiniGrid

FLOOR, WALL, GOAL, KEY, LOCKED = [1, 7], [2, 6], [6, 2], [7, 5], [8, 5]
#: The agent begins in the upper left cell and looks down, at the key; the door is to the right of it.
GRID = [
    [WALL, WALL, WALL, WALL, WALL],
    [WALL, FLOOR, LOCKED, FLOOR, WALL],
    [WALL, KEY, WALL, FLOOR, WALL],
    [WALL, FLOOR, WALL, GOAL, WALL],
    [WALL, WALL, WALL, WALL, WALL],
]
FORWARD, RIGHT, LEFT, PICK_UP, TOGGLE = 0, 1, 2, 3, 5
PLAN = [PICK_UP, LEFT, TOGGLE, FORWARD, FORWARD, RIGHT, FORWARD, FORWARD]
CONFIG = XMiniGridConfig("xminigrid:MiniGrid-DoorKey-5x5", max_steps=8, show_carried=True)


@pytest.fixture(scope="module")
def played() -> tuple[LibraryState, Step]:
    """Two environments with the same grid, one solved in its last step; in the other the agent turns. Axes (8, 2)."""
    environment = CONFIG.make(jax.random.key(0))
    assert isinstance(environment, LibraryEnvironment)
    adapter = CONFIG.adapter
    assert isinstance(adapter, XMiniGrid)
    compact = adapter._compact
    actions = np.array([[move, LEFT] for move in PLAN])

    def begin(key: Any) -> LibraryState:
        state, _ = environment.reset(key)
        whole = compact.unpack(state.library)
        agent = whole.agent.replace(position=jnp.array([1, 1]), direction=jnp.array(2))
        state = LibraryState(compact.pack(whole.replace(grid=jnp.array(GRID, jnp.uint8), agent=agent)), state.steps)
        return jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), state)

    def step(states: LibraryState, given: tuple[Any, Any]) -> tuple[LibraryState, tuple[LibraryState, Step]]:
        states, outcome = jax.vmap(environment.step)(states, *given)
        return states, (states, outcome)

    @jax.jit
    def play(first: Any, then: Any) -> tuple[LibraryState, Step]:
        return jax.lax.scan(step, begin(first), (actions, jax.random.split(then, (8, 2))))[1]

    return play(jax.random.key(0), jax.random.key(1))


def test_the_agent_solves_door_key_by_hand(played: tuple[LibraryState, Step]) -> None:
    _, step = played
    assert np.asarray(step.reward)[:, 0] == pytest.approx([0] * 7 + [1 - 0.9 * 8 / 8])
    assert np.asarray(step.terminated).tolist() == [[False, False]] * 7 + [[True, False]]
    assert np.asarray(step.truncated).tolist() == [[False, False]] * 7 + [[False, True]]
    assert not np.asarray(step.reward)[:, 1].any()


def test_the_last_observation_is_that_of_the_goal_and_not_of_the_next_start(played: tuple[LibraryState, Step]) -> None:
    state, step = played
    last = np.asarray(step.next_obs)[7, 0]
    # It looks down from the goal: the wall is ahead, to its left (east) and right, behind which the key was.
    assert last[6].tolist() == [[0, 0], [0, 0], WALL, KEY, WALL, FLOOR, WALL]  # the key is in its pocket
    assert last[5].tolist() == [[0, 0], [0, 0], WALL, WALL, WALL, WALL, WALL]
    first = np.asarray(step.observation)[7, 0]
    assert first[6, 3].tolist() == FLOOR
    assert np.asarray(state.steps)[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 7, 0]


def test_the_agent_sees_what_it_carries(played: tuple[LibraryState, Step]) -> None:
    _, step = played
    own = np.asarray(step.next_obs)[:, :, 6, 3].tolist()
    assert own[0] == [KEY, FLOOR]
    assert np.asarray(step.next_obs)[0, 0, 5, 3].tolist() == FLOOR  # where the key was


def test_constants_are_not_carried_between_steps() -> None:
    adapter = CONFIG.adapter
    assert isinstance(adapter, XMiniGrid)
    state, observation = jax.eval_shape(adapter.reset, jax.random.key(0))
    assert sorted(leaf.shape for leaf in state) == [(), (), (2,), (2,), (5, 5, 2)]  # no key, no goal, no rules
    assert (observation.shape, CONFIG.spec.categories, CONFIG.spec.nvec) == ((7, 7, 2), (13, 12), (6,))
    assert adapter.episode_steps == 8
    assert adapter.render(jax.jit(adapter.reset)(jax.random.key(0))[0]).shape == (160, 160, 3)
