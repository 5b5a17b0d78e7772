"""The contract that environments on the host meet: emulators, which run in threads of their own.

N environments are stepped in G groups of M, so that one group is emulated while the agent thinks about another.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Protocol, TypeVar, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from action_balance.errors import EmulatorsLost as EmulatorsLost  # noqa: PLC0414
from action_balance.errors import UserError

T = TypeVar("T")


class EnvironmentFailed(UserError):
    """An environment that others wrote has gone wrong while it was played; the message is one line."""


#: Seconds without an answer after which emulators are given up: a step takes milliseconds.
TIMEOUT = 120.0


@dataclass(frozen=True)
class HostStep:
    """What one step brought to a group. Nobody writes to the arrays afterwards."""

    frame: np.ndarray  # (M, ...) the newest frame: the first of a new episode, if this step ended one
    next_obs: np.ndarray  # (M, ...) the frame of s_{t+1}, also where it ended the episode; `frame` itself if none ended
    reward: np.ndarray  # (M,) float32, what is learned from
    score: np.ndarray  # (M,) float32, what is reported
    terminated: np.ndarray  # (M,) bool, the game ended
    truncated: np.ndarray  # (M,) bool, the time limit was reached; never both
    lost: bool = False  # whether the episodes were cut because their environments were lost: they do not count

    @property
    def ended(self) -> np.ndarray:
        """Where `frame` is the first of a new episode, (M,) bool."""
        return self.terminated | self.truncated


class HostEnvironment(Protocol):
    """Ended episodes begin anew within the step that ended them. What comes is frames; the agent stacks them (`push`).

    A group is sent actions and then received from, in turn; the groups are independent of each other.
    """

    @property
    def actions(self) -> int | tuple[int, ...]:
        """A, or the choices of each component."""
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
        """The first frame of every environment, (G, M, ...). A second reset begins from the seed again."""
        ...

    def send(self, group: int, actions: np.ndarray) -> None:
        """Begin a step of one group with these actions, (M,) integers, or (M, C) of C components; returns at once."""
        ...

    def receive(self, group: int) -> HostStep:
        """Wait for the step of a group, and what it brought."""
        ...

    def close(self) -> None:
        """Stop the emulators."""
        ...


def with_timeout(receive: Callable[[], T], timeout: float = TIMEOUT) -> T:
    """What emulators bring, in a thread of its own: an answer that never comes is an error, and Ctrl-C works.

    Args:
        receive: waits for them.
        patience: seconds.
    """
    answers: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()

    def wait() -> None:
        try:
            answers.put((receive(), None))
        except BaseException as error:
            answers.put((None, error))

    threading.Thread(target=wait, daemon=True).start()
    try:
        answer, error = answers.get(timeout=timeout)
    except Empty:
        raise silent(timeout) from None
    if error is not None:
        raise error
    return cast(T, answer)


def silent(timeout: float) -> EmulatorsLost:
    """What to say of emulators that do not answer."""
    return EmulatorsLost(f"an environment has not answered for {timeout:.0f} seconds")


def push(stack: jax.Array, frame: jax.Array, began: jax.Array) -> jax.Array:
    """The stack with one more frame; where an episode began, everything before it is black.

    Args:
        stack: the last frames, oldest first, (K, ...).
        frame: the newest, (...).
        began: whether it is the first of an episode, () bool.
    """
    return jnp.concatenate([jnp.where(began, 0, stack[1:]), frame[None]])


class Frames(eqx.Module):
    """Frames in their order, each kept once; stacks of them are made when they are needed. Axes: T times, N, K."""

    frame: jax.Array  # (K - 1 + T, N, ...)
    began: jax.Array  # (K - 1 + T, N) bool, whether it is the first of an episode
    depth: int = eqx.field(static=True)  # K

    def newest(self) -> jax.Array:
        """The last T frames, (T, N, ...)."""
        return self.frame[self.depth - 1 :]

    def stacks(self) -> jax.Array:
        """The stacks that end with the last T frames, oldest frame first, as `push` makes them: (T, N, K, ...)."""
        times = len(self.frame) - self.depth + 1
        hidden = jnp.zeros_like(self.began[:times])
        parts = []
        for place in reversed(range(self.depth)):
            part = self.frame[place : place + times]
            parts.append(jnp.where(hidden.reshape(hidden.shape + (1,) * (part.ndim - 2)), 0, part))
            hidden = hidden | self.began[place : place + times]
        return jnp.stack(parts[::-1], axis=2)
