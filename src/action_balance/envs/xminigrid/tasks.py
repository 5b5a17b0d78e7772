"""MiniGrid's KeyCorridor and MultiRoom, which XLand-MiniGrid does not have, built from its tiles and goals.

Chevalier-Boisvert et al., Minigrid & Miniworld, 2023; https://arxiv.org/abs/2306.13831.

As in MiniGrid, S is the side of a room with its walls, which neighbours share; time limits and rewards are the same.
MiniGrid draws the places of the rooms of a MultiRoom, which are in a row here. Doors, agent and objects are drawn for
every episode.
"""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray, UInt8
from xminigrid.core.constants import TILES_REGISTRY, Colors, Tiles
from xminigrid.core.goals import AgentHoldGoal, AgentOnTileGoal
from xminigrid.core.grid import horizontal_line, room, sample_direction, vertical_line
from xminigrid.core.rules import EmptyRule
from xminigrid.environment import Environment, EnvParams
from xminigrid.types import AgentState, EnvCarry, State

_COLORS = (Colors.RED, Colors.GREEN, Colors.BLUE, Colors.PURPLE, Colors.YELLOW, Colors.GREY)
#: All tiles by kind and colour; an array, which the library declares as a list.
_TILES: Any = TILES_REGISTRY
_WALL = _TILES[Tiles.WALL, Colors.GREY]
_GOAL = _TILES[Tiles.GOAL, Colors.GREEN]
_BALL = _TILES[Tiles.BALL, Colors.BLUE]
_NO_RULES = EmptyRule().encode()[None]


class _Rooms(Environment[EnvParams, EnvCarry]):
    """Rooms in a lattice, with a goal that is the same in all episodes."""

    def __init__(self, rows: int, columns: int, side: int, max_steps: int, goal: UInt8[Array, " 5"]) -> None:
        self.rows, self.columns, self.pitch, self.max_steps, self.goal = rows, columns, side - 1, max_steps, goal

    def default_params(self, **kwargs: Any) -> EnvParams:
        """The size of the grid and the time limit; see the library."""
        height, width = self.rows * self.pitch + 1, self.columns * self.pitch + 1
        return EnvParams(height=height, width=width, max_steps=self.max_steps).replace(**kwargs)

    def _place(self, key: PRNGKeyArray, row: int | Int[Array, ""], column: int) -> Int[Array, " 2"]:
        corner = jnp.array([row, column]) * self.pitch
        return corner + jax.random.randint(key, (2,), 1, self.pitch)

    def _state(self, key: PRNGKeyArray, grid: UInt8[Array, "H W 2"], position: Int[Array, " 2"]) -> State[EnvCarry]:
        return State(
            key=key,
            step_num=jnp.zeros((), jnp.int32),
            grid=grid,
            agent=AgentState(position=position, direction=sample_direction(key)),
            goal_encoding=self.goal,
            rule_encoding=_NO_RULES,
            carry=EnvCarry(),
        )


class MultiRoom(_Rooms):
    """N rooms in a row: each has a closed door to the next, and the last one has the goal."""

    def __init__(self, rooms: int, side: int) -> None:
        super().__init__(1, rooms, side, 20 * rooms, AgentOnTileGoal(tile=_GOAL).encode())

    def _generate_problem(self, params: EnvParams, key: jax.Array) -> State[EnvCarry]:
        doors_key, colors_key, goal_key, agent_key, key = jax.random.split(key, 5)
        grid = room(params.height, params.width)
        for column in range(1, self.columns):
            grid = vertical_line(grid, column * self.pitch, 0, params.height, _WALL)
        y = jax.random.randint(doors_key, (self.columns - 1,), 1, self.pitch)
        x = jnp.arange(1, self.columns) * self.pitch
        colors = jax.random.choice(colors_key, jnp.array(_COLORS), (self.columns - 1,))
        grid = grid.at[y, x].set(_TILES[Tiles.DOOR_CLOSED, colors])
        grid = grid.at[tuple(self._place(goal_key, 0, self.columns - 1))].set(_GOAL)
        return self._state(key, grid, self._place(agent_key, 0, 0))


class KeyCorridor(_Rooms):
    """A corridor between rooms: on the left, one has the key to the locked room on the right, where the ball is.

    The task is to pick up the ball. An agent carries one object: it has to put down the key before.
    """

    def __init__(self, rows: int, side: int) -> None:
        super().__init__(rows, 3, side, 30 * side**2, AgentHoldGoal(tile=_BALL).encode())

    def _generate_problem(self, params: EnvParams, key: jax.Array) -> State[EnvCarry]:
        doors_key, colors_key, rows_key, key_key, ball_key, agent_key, key = jax.random.split(key, 7)
        grid = room(params.height, params.width)
        for column in (1, 2):
            grid = vertical_line(grid, column * self.pitch, 0, params.height, _WALL)
        for row, column in itertools.product(range(1, self.rows), (0, 2)):
            grid = horizontal_line(grid, column * self.pitch, row * self.pitch, self.pitch, _WALL)
        # Doors of the left and of the right rooms, from above.
        y = jnp.arange(self.rows) * self.pitch + jax.random.randint(doors_key, (2, self.rows), 1, self.pitch)
        x = jnp.array([[self.pitch], [2 * self.pitch]])
        colors = jax.random.choice(colors_key, jnp.array(_COLORS), (2, self.rows))
        key_row, ball_row = jax.random.randint(rows_key, (2,), 0, self.rows)
        locked = jnp.stack([jnp.zeros(self.rows, bool), jnp.arange(self.rows) == ball_row])
        kinds = jnp.where(locked, Tiles.DOOR_LOCKED, Tiles.DOOR_CLOSED)
        grid = grid.at[y, x].set(_TILES[kinds, colors])
        key_tile = _TILES[Tiles.KEY, colors[1, ball_row]]
        grid = grid.at[tuple(self._place(key_key, key_row, 0))].set(key_tile)
        grid = grid.at[tuple(self._place(ball_key, ball_row, 2))].set(_BALL)
        return self._state(key, grid, self._place(agent_key, self.rows // 2, 1))


def make_task(name: str) -> Environment[EnvParams, EnvCarry]:
    kind, _, size = name.partition("-")
    if kind == "KeyCorridor":
        return KeyCorridor(rows=int(size[3]), side=int(size[1]))
    return MultiRoom(rooms=int(size[1]), side=int(size[-1]))
