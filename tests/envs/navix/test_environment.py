from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.envs.base import Step
from action_balance.envs.library.adapter import quiet
from action_balance.envs.library.environment import LibraryEnvironment, LibraryState
from action_balance.envs.navix.config import NavixConfig

with quiet():
    from action_balance.envs.navix.environment import Navix, encode

LEFT, RIGHT, FORWARD, PICK_UP, TOGGLE = 0, 1, 2, 3, 5
#: From (1, 1), where the agent looks east at the door: the key is below, and the goal in the lower right corner.
PLAN = [RIGHT, PICK_UP, LEFT, TOGGLE, FORWARD, FORWARD, RIGHT, FORWARD, FORWARD]
CONFIG = NavixConfig("navix:Navix-DoorKey-5x5-v0", max_steps=9)
FLOOR, WALL, KEY = 1, 2, 5


@pytest.fixture(scope="module")
def adapter() -> Navix:
    """DoorKey with a time limit of 9 steps."""
    made = CONFIG.adapter
    assert isinstance(made, Navix)
    return made


@pytest.fixture(scope="module")
def played(adapter: Navix) -> tuple[LibraryState, Step]:
    """Two environments with the same grid, one solved in its last step; in the other the agent turns. Axes (9, 2)."""
    environment = CONFIG.make(jax.random.key(0))
    assert isinstance(environment, LibraryEnvironment)
    actions = np.array([[move, LEFT] for move in PLAN])

    def begin(key: Any) -> LibraryState:
        state, _ = environment.reset(key)
        steps, whole = adapter._compact.unpack(state.library)
        places = {"door": [[1, 2]], "wall": [[2, 2], [3, 2]], "key": [[2, 1]]}
        entities = {
            name: entity.replace(position=jnp.array(places[name])) if name in places else entity
            for name, entity in whole.entities.items()
        }
        state = LibraryState(adapter._compact.pack((steps, whole.replace(entities=entities))), state.steps)
        return jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), state)

    def step(states: LibraryState, given: tuple[Any, Any]) -> tuple[LibraryState, tuple[LibraryState, Step]]:
        states, outcome = jax.vmap(environment.step)(states, *given)
        return states, (states, outcome)

    @jax.jit
    def play(first: Any, then: Any) -> tuple[LibraryState, Step]:
        return jax.lax.scan(step, begin(first), (actions, jax.random.split(then, (9, 2))))[1]

    return play(jax.random.key(0), jax.random.key(1))


def test_the_agent_solves_door_key_by_hand(played: tuple[LibraryState, Step]) -> None:
    _, step = played
    assert np.asarray(step.reward).tolist() == [[0, 0]] * 8 + [[1, 0]]
    assert np.asarray(step.terminated).tolist() == [[False, False]] * 8 + [[True, False]]
    assert np.asarray(step.truncated).tolist() == [[False, False]] * 8 + [[False, True]]


def test_the_last_observation_is_that_of_the_goal_and_not_of_the_next_start(played: tuple[LibraryState, Step]) -> None:
    state, step = played
    last = np.asarray(step.next_obs)[8, 0, :, :, 0]
    # It looks down from the corner: east, where the wall is, is to its left.
    assert last[6].tolist() == [WALL, WALL, WALL, FLOOR, WALL, FLOOR, WALL]
    assert (last[:6] == WALL).all()
    first = np.asarray(step.observation)[8, 0, :, :, 0]
    assert sorted(first[6, 4:6].tolist()) == [FLOOR, KEY]  # to the right of the start, where it looks east
    assert np.asarray(state.steps)[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 0]


def test_what_a_step_makes_anew_is_not_carried(adapter: Navix) -> None:
    state, observation = jax.eval_shape(adapter.reset, jax.random.key(0))
    assert sum(leaf.size * leaf.dtype.itemsize for leaf in state) < 200  # the rendering cache alone has 4,992 bytes
    assert (observation.shape, observation.dtype, adapter.episode_steps) == ((7, 7, 3), np.uint8, 9)
    assert adapter.action_names == ("turn left", "turn right", "forward", "pick up", "drop", "toggle", "done")


def test_walls_and_what_is_outside_of_the_grid_are_one_category() -> None:
    seen = jnp.array([[-1, 0], [100, 10]])
    assert encode(seen, (11,)).tolist() == [[[2], [0]], [[2], [10]]]


def test_every_symbol_is_below_its_number_of_categories() -> None:
    seen = jnp.array([[[4, 4, 254], [10, 0, 3]]], jnp.uint8)
    assert encode(seen, (11, 6, 4)).tolist() == [[[4, 4, 3], [10, 0, 3]]]
