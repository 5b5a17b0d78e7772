"""Environments written in JAX with the interface of gymnax, as users write them."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct


@struct.dataclass
class Params:
    """Parameters of the line."""

    max_steps_in_episode: int = 4


@struct.dataclass
class Place:
    """A cell of the line."""

    cell: Any
    time: Any


class Line:
    """Three cells from left to right; the task ends behind the last one with a reward of 1. Seen as cell and time."""

    default_params = Params()
    num_actions = 2

    def __init__(self, cells: int = 3) -> None:
        self.cells = cells

    def observe(self, place: Place, params: Params) -> jax.Array:
        return jnp.array([place.cell, place.time / params.max_steps_in_episode])

    def reset_env(self, key: jax.Array, params: Params) -> tuple[Any, Any]:
        del key
        return self.observe(Place(0, 0), params), Place(0, 0)

    def step_env(self, key: jax.Array, state: Place, action: jax.Array, params: Params) -> tuple[Any, ...]:
        del key
        reached = Place(state.cell + action, state.time + 1)
        done = (reached.cell == self.cells) | (reached.time >= params.max_steps_in_episode)
        return self.observe(reached, params), reached, jnp.where(reached.cell == self.cells, 1, 0), done, {}


class Resetting:
    """Has gymnax's step only, which begins a new episode and hides where the last one ended."""

    default_params = Params()
    num_actions = 2

    def reset(self, key: jax.Array, params: Any = None) -> tuple[Any, Any]:
        return Line().reset_env(key, params or self.default_params)

    def step(self, key: jax.Array, state: Any, action: jax.Array, params: Any = None) -> tuple[Any, ...]:
        return Line().step_env(key, state, action, params or self.default_params)


class Honest(Resetting):
    """The same, but its step begins no new episode, and it says so; its discrete observation is the cell."""

    auto_reset = False

    def observation_space(self, params: Any) -> SimpleNamespace:
        del params
        return SimpleNamespace(n=4)

    def reset(self, key: jax.Array, params: Any = None) -> tuple[Any, Any]:
        return 0, super().reset(key, params)[1]

    def step(self, key: jax.Array, state: Any, action: jax.Array, params: Any = None) -> tuple[Any, ...]:
        _, reached, reward, _, info = super().step(key, state, action, params)
        # As in the step of gymnax 1.0: the end of the task, and the time limit.
        return reached.cell, reached, reward, reached.cell == 3, reached.time >= 4, info


class Wrapper:
    """Passes on whatever it does not have, as wrappers do."""

    def __init__(self, env: Any) -> None:
        self._env = env

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def step(self, key: jax.Array, state: Any, action: jax.Array, params: Any = None) -> Any:
        return self._env.step(key, state, action, params)


def make_line() -> tuple[Line, Params]:
    """As `gymnax.make`: the environment, and its parameters."""
    return Line(), Params(max_steps_in_episode=5)
