from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.envs.xminigrid.config import XMiniGridConfig
from action_balance.envs.xminigrid.environment import XMiniGrid

FORWARD, RIGHT, PICK_UP, PUT_DOWN, TOGGLE = 0, 1, 3, 4, 5
BALL, GOAL, KEY, LOCKED, CLOSED = 3, 6, 7, 8, 9


def adapter(name: str) -> XMiniGrid:
    """A task of ours."""
    made = XMiniGridConfig(f"xminigrid:{name}").adapter
    assert isinstance(made, XMiniGrid)
    return made


def layouts(task: XMiniGrid, number: int = 64) -> Any:
    """First states of episodes, as arrays."""
    states, _ = jax.jit(jax.vmap(task.reset))(jax.random.split(jax.random.key(0), number))
    return jax.tree.map(np.asarray, task._compact.unpack(states))


def find(tiles: np.ndarray, tile: int) -> list[tuple[int, int]]:
    """Where a kind of tile is."""
    return [(int(y), int(x)) for y, x in zip(*np.nonzero(tiles == tile), strict=True)]


def test_key_corridor_is_solved_by_hand() -> None:
    task = adapter("KeyCorridor-S3R1")  # key, door, agent, locked door and ball in one row
    state, _ = jax.jit(task.reset)(jax.random.key(0))
    whole = task._compact.unpack(state)
    assert whole.grid[1, 1:6, 0].tolist() == [KEY, CLOSED, 1, LOCKED, BALL]
    state = task._compact.pack(whole.replace(agent=whole.agent.replace(direction=jnp.array(3))))
    fetch = [TOGGLE, FORWARD, PICK_UP, RIGHT, RIGHT, FORWARD]
    plan = [*fetch, TOGGLE, FORWARD, RIGHT, RIGHT, PUT_DOWN, RIGHT, RIGHT, PICK_UP]

    def step(state: Any, action: jax.Array) -> Any:
        state, _, *outcome, _ = task.step(jax.random.key(0), state, action)
        return state, outcome

    _, (reward, terminated, truncated) = jax.jit(jax.lax.scan, static_argnums=0)(step, state, jnp.array(plan))
    assert np.asarray(terminated).tolist() == [False] * 13 + [True]
    assert not np.asarray(truncated).any()
    assert np.asarray(reward) == pytest.approx([0] * 13 + [1 - 0.9 * 14 / 270])


def test_the_ball_of_a_key_corridor_is_in_the_locked_room_whose_key_is_on_the_other_side() -> None:
    task = adapter("KeyCorridor-S4R3")
    found = layouts(task)
    assert found.grid.shape[1:3] == (10, 10)
    assert task.episode_steps == 30 * 16
    for grid, position in zip(found.grid, found.agent.position, strict=True):
        [ball], [key], [locked] = (find(grid[..., 0], tile) for tile in (BALL, KEY, LOCKED))
        assert len(find(grid[..., 0], CLOSED)) == 5
        assert locked[1] == 6
        assert ball[0] // 3 == locked[0] // 3
        assert ball[1] > 6
        assert key[1] < 3
        assert grid[key][1] == grid[locked][1]
        assert (position[0] // 3, position[1] // 3) == (1, 1)


def test_a_multi_room_is_a_row_of_rooms_with_the_goal_in_the_last() -> None:
    task = adapter("MultiRoom-N4-S5")
    found = layouts(task)
    assert found.grid.shape[1:3] == (5, 17)
    assert task.episode_steps == 80
    for grid, position in zip(found.grid, found.agent.position, strict=True):
        [goal] = find(grid[..., 0], GOAL)
        assert goal[1] > 12
        assert position[1] < 4
        assert sorted(x for _, x in find(grid[..., 0], CLOSED)) == [4, 8, 12]
