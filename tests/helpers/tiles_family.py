"""An environment family of a user, on the device, in one file: a board that is seen as a small image."""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from action_balance.config.env import DeviceEnvConfig
from action_balance.config.fields import number
from action_balance.envs.base import Environment, Step
from action_balance.envs.spec import EnvSpec


@dataclass(frozen=True)
class Tiles(DeviceEnvConfig):
    """A board of tiles; the last one pays."""

    size: int = number(10, 2, 50)
    """Tiles along a side."""
    episode_steps: int = 30
    """Time limit of an episode."""

    label = "board of tiles"
    has_images = True

    def make(self, key: PRNGKeyArray) -> Environment:
        """The board; nothing is random about it."""
        del key
        return Board(self.size, self.episode_steps)


class State(eqx.Module):
    """Tile and time."""

    tile: Int[Array, ""]
    time: Int[Array, ""]


class Board(eqx.Module):
    """Actions move left, right, up and down. Planes of the image: here, the last tile, the border, and the time."""

    size: int = eqx.field(static=True)
    episode_steps: int = eqx.field(static=True)

    @property
    def spec(self) -> EnvSpec:
        """Four planes."""
        return EnvSpec("image", (self.size, self.size, 4), (4,), states=self.size**2)

    def reachable(self) -> Bool[np.ndarray, " S"]:
        """All tiles."""
        return np.ones(self.size**2, bool)

    def _observe(self, state: State) -> Float[Array, "H W 4"]:
        here = (jnp.arange(self.size**2) == state.tile).reshape(self.size, self.size)
        last = jnp.zeros_like(here).at[-1, -1].set(True)
        inside = jnp.zeros_like(here).at[1:-1, 1:-1].set(True)
        time = jnp.full(here.shape, state.time / self.episode_steps)
        return jnp.stack([here, last, ~inside, time], axis=-1).astype(jnp.float32)

    def reset(self, key: PRNGKeyArray) -> tuple[State, Float[Array, "H W 4"]]:
        """The first tile."""
        del key
        state = State(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))
        return state, self._observe(state)

    def step(self, state: State, action: Int[Array, ""], key: PRNGKeyArray) -> tuple[State, Step]:
        """One move."""
        row, column = jnp.divmod(state.tile, self.size)
        row = jnp.clip(row + jnp.array([0, 0, -1, 1])[action], 0, self.size - 1)
        column = jnp.clip(column + jnp.array([-1, 1, 0, 0])[action], 0, self.size - 1)
        reached = State(row * self.size + column, state.time + 1)
        terminated = reached.tile == self.size**2 - 1
        truncated = ~terminated & (reached.time >= self.episode_steps)
        first, first_obs = self.reset(key)
        ended = terminated | truncated
        following = State(jnp.where(ended, first.tile, reached.tile), jnp.where(ended, first.time, reached.time))
        next_obs = self._observe(reached)
        observation = jnp.where(ended, first_obs, next_obs)
        return following, Step(observation, next_obs, terminated.astype(jnp.float32), terminated, truncated)

    def index(self, observation: Float[Array, "H W 4"]) -> Int[Array, ""]:
        """The tile."""
        return observation[..., 0].ravel().argmax().astype(jnp.int32)
