"""The contract that environments on the host meet: emulators, which run in threads of their own.

N environments are stepped in G groups of M, so that one group is emulated while the agent thinks about another.
"""

from dataclasses import dataclass
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np


@dataclass(frozen=True)
class HostStep:
    """What one step brought to a group. Nobody writes to the arrays afterwards."""

    frame: np.ndarray  # (M, ...) the newest frame: the first of a new episode, if this step ended one
    reached: np.ndarray  # (M, ...) the frame of s_{t+1}, also where it ended the episode; `frame` itself if none ended
    reward: np.ndarray  # (M,) float32, what is learned from
    score: np.ndarray  # (M,) float32, what is reported
    terminated: np.ndarray  # (M,) bool, the game ended
    truncated: np.ndarray  # (M,) bool, the time limit was reached; never both

    @property
    def ended(self) -> np.ndarray:
        """Where `frame` is the first of a new episode, (M,) bool."""
        return self.terminated | self.truncated


class HostEnvironment(Protocol):
    """Ended episodes begin anew within the step that ended them. What comes is frames; the agent stacks them (`push`).

    A group is sent actions and then received from, in turn; the groups are independent of each other.
    """

    @property
    def actions(self) -> int:
        """A."""
        ...

    @property
    def frame_shape(self) -> tuple[int, ...]:
        """Shape of one frame."""
        ...

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Shape of what the policy sees: the stack, oldest frame first."""
        ...

    @property
    def groups(self) -> int:
        """G."""
        ...

    @property
    def envs_per_group(self) -> int:
        """M."""
        ...

    def reset(self) -> np.ndarray:
        """The first frame of every environment, (G, M, ...). Called once, before anything is sent."""
        ...

    def send(self, group: int, actions: np.ndarray) -> None:
        """Begin a step of one group with these actions, (M,) integers; returns at once."""
        ...

    def receive(self, group: int) -> HostStep:
        """Wait for the step of a group, and what it brought."""
        ...

    def close(self) -> None:
        """Stop the emulators."""
        ...


def push(stack: jax.Array, frame: jax.Array, began: jax.Array) -> jax.Array:
    """The stack with one more frame; where an episode began, everything before it is black.

    Args:
        stack: the last frames, oldest first, (K, ...).
        frame: the newest, (...).
        began: whether it is the first of an episode, () bool.
    """
    return jnp.concatenate([jnp.where(began, 0, stack[1:]), frame[None]])
