"""Deep sea: an N x N chain in which only one of 2^N ways finds the treasure (Osband et al., 2019, bsuite).

The diver starts in the upper left corner and sinks one row a step. One action moves it right, at a cost of 0.01 / N,
the other left; which is which is drawn for every column. The treasure, reward 1, is at the bottom of the last column:
to reach it the diver must go right N times. An episode has N steps.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from action_balance.envs.base import Step
from action_balance.errors import UserError

#: The deepest sea: the diver sees N x N numbers at every step.
DEEPEST = 1000


def check_depth(size: int) -> None:
    """A `UserError` if the sea is too small, or too large for memory."""
    if size < 2:
        raise UserError(f"a deep sea of size {size} has nothing to explore: use 2 or more")
    if size > DEEPEST:
        raise UserError(f"a deep sea of size {size} does not fit into memory: use {DEEPEST} or less")


class DeepSeaState(eqx.Module):
    """Where the diver is."""

    row: jax.Array  # () int32
    column: jax.Array  # () int32


class DeepSea(eqx.Module):
    """The environment; the meaning of actions is drawn from the key it is made with."""

    size: int = eqx.field(static=True)
    right_is: jax.Array  # (N,) int32, the action that moves right, for every column

    def __init__(self, size: int, key: jax.Array) -> None:
        check_depth(size)
        self.size = size
        self.right_is = jax.random.bernoulli(key, shape=(size,)).astype(jnp.int32)

    @property
    def actions(self) -> int:
        """Two: left and right, in an order that the diver must find out."""
        return 2

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """One-hot over the cells."""
        return (self.size * self.size,)

    @property
    def states(self) -> int:
        """The cells."""
        return self.size * self.size

    @property
    def episode_steps(self) -> int:
        """One for every row."""
        return self.size

    def reachable(self) -> np.ndarray:
        """The lower left half: a diver that sinks one row goes at most one column to the right. (S,) bool."""
        return np.tri(self.size, dtype=bool).ravel()

    def _observe(self, state: DeepSeaState) -> jax.Array:
        # Below the last row there is nothing to see but the end: zeros, as in bsuite.
        return jax.nn.one_hot(jnp.where(state.row < self.size, state.row * self.size + state.column, -1), self.states)

    def reset(self, key: jax.Array) -> tuple[DeepSeaState, jax.Array]:
        """The upper left corner."""
        del key
        state = DeepSeaState(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))
        return state, self._observe(state)

    def step(self, state: DeepSeaState, action: jax.Array, key: jax.Array) -> tuple[DeepSeaState, Step]:
        """One row down, and left or right."""
        right = action == self.right_is[state.column]
        treasure = right & (state.column == self.size - 1) & (state.row == self.size - 1)
        column = jnp.clip(state.column + jnp.where(right, 1, -1), 0, self.size - 1)
        reached = DeepSeaState(state.row + 1, column)
        terminated = reached.row == self.size
        reward = jnp.where(treasure, 1.0, 0.0) - jnp.where(right, 0.01 / self.size, 0.0)
        first, first_observation = self.reset(key)
        following = jax.tree.map(lambda a, b: jnp.where(terminated, a, b), first, reached)
        seen = self._observe(reached)
        observation = jnp.where(terminated, first_observation, seen)
        return following, Step(observation, seen, reward, terminated, jnp.zeros((), bool))

    def index(self, observation: jax.Array) -> jax.Array:
        """The cell; 0 for the observation of the end."""
        return observation.argmax().astype(jnp.int32)
