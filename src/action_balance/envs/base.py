"""The contract that environments on the device meet. One environment per call; ``vmap`` outside."""

from typing import Any, Protocol

import equinox as eqx
import jax
import numpy as np


class Step(eqx.Module):
    """What one step brought."""

    observation: jax.Array  # what the agent sees next: the first of a new episode, if this step ended one
    next_obs: jax.Array  # the observation that was reached, s_{t+1}, whether it ended the episode or not
    reward: jax.Array  # () float32
    terminated: jax.Array  # () bool, the task ended
    truncated: jax.Array  # () bool, the time limit was reached


class Environment(Protocol):
    """Pure functions over a state; what can be set is a field. Ended episodes begin anew by themselves."""

    @property
    def actions(self) -> int:
        """How many actions there are, A."""
        ...

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Shape of one observation."""
        ...

    @property
    def states(self) -> int:
        """How many states there are; 0 where they cannot be counted."""
        ...

    @property
    def episode_steps(self) -> int:
        """Steps of the longest episode."""
        ...

    def reachable(self) -> np.ndarray:
        """Which states an episode can come to, (S,) bool."""
        ...

    def reset(self, key: jax.Array) -> tuple[Any, jax.Array]:
        """A state at the beginning of an episode, and its observation."""
        ...

    def step(self, state: Any, action: jax.Array, key: jax.Array) -> tuple[Any, Step]:
        """One step; if it ends an episode, the state is that of the next."""
        ...

    def index(self, observation: jax.Array) -> jax.Array:
        """Number of the observed state, () int32, below `states`."""
        ...
