"""A grid world as the neural agent sees it."""

from dataclasses import replace
from typing import Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from action_balance.envs.base import Step
from action_balance.envs.grid import world as grid
from action_balance.envs.grid.world import GridState, GridWorld
from action_balance.errors import check_name

#: What the agent sees of its cell: x and y scaled to [-1, 1], or both one-hot.
View = Literal["coordinates", "one-hot"]


class GridEnvironment(eqx.Module):
    """A `GridWorld` behind the contract."""

    world: GridWorld
    view: View = eqx.field(static=True, default="one-hot")

    def __check_init__(self) -> None:
        check_name("view", self.view, get_args(View))

    @property
    def actions(self) -> int:
        """Left, right, up, down."""
        return len(grid.MOVES)

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Two coordinates, or one place for every column and every row."""
        return (2,) if self.view == "coordinates" else (self.world.width + self.world.height,)

    @property
    def states(self) -> int:
        """The cells."""
        return self.world.cells

    @property
    def episode_steps(self) -> int:
        """The time limit."""
        return int(self.world.episode_steps)

    def reachable(self) -> np.ndarray:
        """The cells that a path within the time limit leads to, (S,) bool; no path goes on behind a goal."""
        goals, cells = np.asarray(self.world.goals), np.arange(self.world.cells)
        successor = np.where(goals[:, None], cells[:, None], self.world.successor)
        distance = replace(self.world, successor=successor).distances()
        return (distance >= 0) & (distance <= self.episode_steps)

    @property
    def _far(self) -> jax.Array:
        # The last x and y; 1 where there is only one, to divide by.
        return jnp.maximum(jnp.array([self.world.width, self.world.height]) - 1, 1)

    def observe(self, cell: jax.Array) -> jax.Array:
        """What is seen from a cell."""
        y, x = jnp.divmod(cell, self.world.width)
        if self.view == "one-hot":
            return jnp.concatenate([jax.nn.one_hot(x, self.world.width), jax.nn.one_hot(y, self.world.height)])
        return 2 * jnp.stack([x, y]) / self._far - 1

    def reset(self, key: jax.Array) -> tuple[GridState, jax.Array]:
        """The start."""
        del key
        state = grid.reset(self.world)
        return state, self.observe(state.cell)

    def step(self, state: GridState, action: jax.Array, key: jax.Array) -> tuple[GridState, Step]:
        """One move."""
        del key
        following, outcome = grid.step(self.world, state, action)
        return following, Step(
            self.observe(following.cell),
            self.observe(outcome.cell),
            outcome.reward,
            outcome.terminated,
            outcome.truncated,
        )

    def index(self, observation: jax.Array) -> jax.Array:
        """The cell."""
        width = self.world.width
        if self.view == "one-hot":
            x, y = observation[:width].argmax(), observation[width:].argmax()
        else:
            x, y = jnp.round((observation + 1) / 2 * self._far)
        return (y * width + x).astype(jnp.int32)
