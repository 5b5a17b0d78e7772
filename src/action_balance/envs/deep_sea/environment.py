"""Deep sea: an N x N chain in which only one of 2^N action sequences finds the treasure.

Osband et al., Behaviour Suite for Reinforcement Learning, 2019; https://arxiv.org/abs/1908.03568.

The diver starts in the upper left corner and sinks one row per step. One action moves it right, at a cost of 0.01 / N,
the other left; which is which is drawn for every column. The treasure, reward 1, lies at the bottom of the last column:
to reach it, the diver must move right N times. An episode has N steps.

Distractors are random numbers in the observation that say nothing about the state. Axes: S cells, D numbers of an
observation.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from action_balance.envs.base import Step
from action_balance.envs.spec import EnvSpec


class DeepSeaState(eqx.Module):
    """Position of the diver."""

    row: Int[Array, ""]
    column: Int[Array, ""]


class DeepSea(eqx.Module):
    """The environment. Its state is seen one-hot; the meaning of its two actions is drawn from a key."""

    size: int = eqx.field(static=True)
    distractors: int = eqx.field(static=True)
    right_is: Int[Array, " N"]  # the action that moves right, for every column

    def __init__(self, size: int, key: PRNGKeyArray, distractors: int = 0) -> None:
        self.size = size
        self.distractors = distractors
        self.right_is = jax.random.bernoulli(key, shape=(size,)).astype(jnp.int32)

    @property
    def spec(self) -> EnvSpec:
        cells = self.size * self.size
        parts = (("cell", cells), ("distractors", self.distractors)) if self.distractors else ()
        return EnvSpec("vector", (cells + self.distractors,), (2,), states=cells, parts=parts)

    @property
    def episode_steps(self) -> int:
        return self.size

    def reachable(self) -> Bool[np.ndarray, " S"]:
        """The lower left half: a diver that sinks one row moves at most one column to the right."""
        return np.tri(self.size, dtype=bool).ravel()

    def observe(self, cell: Int[Array, ""], key: PRNGKeyArray) -> Float[Array, " D"]:
        seen = jax.nn.one_hot(cell, self.size * self.size)
        return jnp.concatenate([seen, jax.random.normal(key, (self.distractors,))]) if self.distractors else seen

    def _observe(self, state: DeepSeaState, key: PRNGKeyArray) -> Float[Array, " D"]:
        return self.observe(jnp.where(state.row < self.size, state.row * self.size + state.column, -1), key)

    def reset(self, key: PRNGKeyArray) -> tuple[DeepSeaState, Float[Array, " D"]]:
        state = DeepSeaState(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))
        return state, self._observe(state, key)

    def step(self, state: DeepSeaState, action: Int[Array, ""], key: PRNGKeyArray) -> tuple[DeepSeaState, Step]:
        right = action == self.right_is[state.column]
        treasure = right & (state.column == self.size - 1) & (state.row == self.size - 1)
        column = jnp.clip(state.column + jnp.where(right, 1, -1), 0, self.size - 1)
        reached = DeepSeaState(state.row + 1, column)
        terminated = reached.row == self.size
        reward = jnp.where(treasure, 1.0, 0.0) - jnp.where(right, 0.01 / self.size, 0.0)
        reached_key, first_key = jax.random.split(key)
        first, first_obs = self.reset(first_key)
        following = jax.tree.map(lambda a, b: jnp.where(terminated, a, b), first, reached)
        next_obs = self._observe(reached, reached_key)
        observation = jnp.where(terminated, first_obs, next_obs)
        return following, Step(observation, next_obs, reward, terminated, jnp.zeros((), bool))

    def index(self, observation: Float[Array, " D"]) -> Int[Array, ""]:
        """The cell; 0 for the observation after the last row. Distractors do not matter."""
        return observation[: self.size * self.size].argmax().astype(jnp.int32)
