"""Grid worlds and the deep sea as transition tables in NumPy, for loops that step them from Python; no JAX.

The rules are those of `envs.grid` and `envs.deep_sea`; tests play both and compare. A state is an integer, and every
function of a state also works on an array of them. Axes: S states, A actions, D numbers of an observation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from jaxtyping import Bool, Float32, Int, Int32

from action_balance.envs.deep_sea.config import check_size
from action_balance.envs.grid.maps import corridor_world, goal_world, open_world
from action_balance.envs.grid.view import CellView
from action_balance.envs.grid.world import Cell, GridWorld
from action_balance.errors import UserError, check_name


@dataclass(frozen=True, eq=False)
class Map:
    """Where states are drawn, top row first."""

    walls: Bool[np.ndarray, "rows columns"]  # where no state is
    goals: Bool[np.ndarray, "rows columns"]
    place: Int[np.ndarray, "S 2"]  # row and column of each state


@dataclass(frozen=True, eq=False)
class Transitions:
    """All transitions of a world. A terminal state that has no cell, as in the deep sea, has the number S."""

    successor: Int32[np.ndarray, "S A"]
    reward: Float32[np.ndarray, "S A"]
    terminated: Bool[np.ndarray, "S A"]  # whether the task ends with this step
    start: int  # the state in which every episode begins
    episode_steps: int  # the time limit
    observe: Callable[[Any], np.ndarray]  # states, (...), to observations, (..., D) float32
    lowest: float  # lower bound of an observation's numbers; the upper bound is 1
    map: Map

    @property
    def states(self) -> int:
        return len(self.successor)

    @property
    def actions(self) -> int:
        return self.successor.shape[1]

    def step(self, state: Any, time: Any, action: Any) -> tuple[Any, Any, Any, Any]:
        terminated = self.terminated[state, action]
        truncated = ~terminated & (time + 1 >= self.episode_steps)
        return self.successor[state, action], self.reward[state, action], terminated, truncated


def grid(size: int = 40, episode_steps: int = 200, view: CellView = "one-hot", goal: Cell | None = None) -> Transitions:
    """The paper's square, with a goal or without (Sections IV-A and IV-B)."""
    if goal is None:
        return _of_grid(open_world(size, episode_steps), view)
    if len(goal) != 2:
        raise UserError(f"a goal is a cell (x, y), not {goal}")
    return _of_grid(goal_world((int(goal[0]), int(goal[1])), size, episode_steps), view)


def corridor(size: int = 11, length: int = 9, episode_steps: int = 200, view: CellView = "one-hot") -> Transitions:
    """Two rooms joined by a corridor, with a treasure in the right one (Figure 1)."""
    return _of_grid(corridor_world(size, length, episode_steps), view)


def _of_grid(world: GridWorld, view: CellView) -> Transitions:
    check_name("view", view, get_args(CellView))
    goals, successor = np.asarray(world.goals), np.asarray(world.successor)
    y, x = np.divmod(np.arange(world.cells), world.width)
    shape = (world.height, world.width)
    columns, rows = _observation_parts(world.width, world.height, view)

    def observe(state: Any) -> np.ndarray:
        row, column = divmod(state, world.width)
        return columns[column] + rows[row]

    return Transitions(
        successor=successor,
        reward=goals[successor].astype(np.float32),
        terminated=goals[successor],
        start=int(world.start),
        episode_steps=int(world.episode_steps),
        observe=observe,
        lowest=0.0 if view == "one-hot" else -1.0,
        map=Map(
            walls=np.asarray(world.walls).reshape(shape)[::-1],
            goals=goals.reshape(shape)[::-1],
            place=np.stack([world.height - 1 - y, x], axis=1),
        ),
    )


def _observation_parts(width: int, height: int, view: CellView) -> tuple[np.ndarray, np.ndarray]:
    """What each column and each row adds to an observation, (width, D) and (height, D)."""
    if view == "one-hot":
        both = np.eye(width + height, dtype=np.float32)
        return both[:width], both[width:]
    columns, rows = np.zeros((width, 2), np.float32), np.zeros((height, 2), np.float32)
    for axis, parts in enumerate((columns, rows)):
        cells = len(parts)
        parts[:, axis] = 2 * np.arange(cells, dtype=np.float32) / np.float32(max(cells - 1, 1)) - 1
    return columns, rows


def deep_sea(n: int = 20, seed: int = 0) -> Transitions:
    """The deep sea, an N x N chain in which only one of 2^N action sequences finds the treasure."""
    check_size(n)
    if seed < 0:
        raise UserError(f"the seed of a deep sea must be 0 or more, not {seed}")
    # Drawn without JAX, which must not run in the forked workers of asynchronous environments.
    return sea_of(np.random.default_rng(seed).integers(2, size=n))


def sea_of(right_is: Int[np.ndarray, " N"]) -> Transitions:
    size = len(right_is)
    states = size * size
    row, column = np.divmod(np.arange(states), size)
    right = right_is[column][:, None] == np.arange(2)
    reached = np.clip(column[:, None] + np.where(right, 1, -1), 0, size - 1)
    last = row == size - 1
    treasure = right & (last & (column == size - 1))[:, None]
    cost = np.where(right, np.float32(0.01 / size), np.float32(0))

    def observe(state: Any) -> np.ndarray:
        shape = np.shape(state)
        observation = np.zeros((np.size(state), states + 1), np.float32)
        observation[np.arange(len(observation)), state] = 1
        return observation[:, :states].reshape(*shape, states)

    return Transitions(
        successor=np.where(last[:, None], states, (row[:, None] + 1) * size + reached).astype(np.int32),
        reward=treasure.astype(np.float32) - cost,
        terminated=np.repeat(last[:, None], 2, axis=1),
        start=0,
        episode_steps=size,
        observe=observe,
        lowest=0.0,
        map=Map(
            walls=~np.tri(size, dtype=bool),
            goals=(last & (column == size - 1)).reshape(size, size),
            place=np.stack([row, column], axis=1),
        ),
    )
