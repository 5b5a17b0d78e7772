"""Grid worlds as the neural agent observes them."""

from dataclasses import replace
from typing import get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from action_balance.envs.base import Step
from action_balance.envs.grid import dynamics
from action_balance.envs.grid.dynamics import GridState
from action_balance.envs.grid.view import CellView
from action_balance.envs.grid.world import MOVES, GridWorld
from action_balance.envs.spec import EnvSpec
from action_balance.errors import check_name


class GridEnvironment(eqx.Module):
    """A `GridWorld` as an `Environment`. Axes: S cells, D numbers of an observation."""

    world: GridWorld
    view: CellView = eqx.field(static=True, default="one-hot")

    def __check_init__(self) -> None:
        check_name("view", self.view, get_args(CellView))

    @property
    def spec(self) -> EnvSpec:
        size = 2 if self.view == "coordinates" else self.world.width + self.world.height
        return EnvSpec("vector", (size,), (len(MOVES),), states=self.world.cells)

    @property
    def episode_steps(self) -> int:
        return int(self.world.episode_steps)

    def reachable(self) -> Bool[np.ndarray, " S"]:
        """The cells that a path within the time limit leads to; no path continues behind a goal."""
        goals, cells = np.asarray(self.world.goals), np.arange(self.world.cells)
        successor = np.where(goals[:, None], cells[:, None], self.world.successor)
        distance = replace(self.world, successor=successor).distances()
        return (distance >= 0) & (distance <= self.episode_steps)

    @property
    def _far(self) -> Int[Array, "2"]:
        # The largest x and y, or 1, because they are divided by.
        return jnp.maximum(jnp.array([self.world.width, self.world.height]) - 1, 1)

    def observe(self, cell: Int[Array, ""]) -> Float[Array, " D"]:
        y, x = jnp.divmod(cell, self.world.width)
        if self.view == "one-hot":
            return jnp.concatenate([jax.nn.one_hot(x, self.world.width), jax.nn.one_hot(y, self.world.height)])
        return 2 * jnp.stack([x, y]) / self._far - 1

    def reset(self, key: PRNGKeyArray) -> tuple[GridState, Float[Array, " D"]]:
        del key
        state = dynamics.reset(self.world)
        return state, self.observe(state.cell)

    def step(self, state: GridState, action: Int[Array, ""], key: PRNGKeyArray) -> tuple[GridState, Step]:
        del key
        following, outcome = dynamics.step(self.world, state, action)
        return following, Step(
            self.observe(following.cell),
            self.observe(outcome.cell),
            outcome.reward,
            outcome.terminated,
            outcome.truncated,
        )

    def index(self, observation: Float[Array, " D"]) -> Int[Array, ""]:
        width = self.world.width
        if self.view == "one-hot":
            x, y = observation[:width].argmax(), observation[width:].argmax()
        else:
            x, y = jnp.round((observation + 1) / 2 * self._far)
        return (y * width + x).astype(jnp.int32)
