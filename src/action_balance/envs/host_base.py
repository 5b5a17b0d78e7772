"""The contract of environments on the host, which step in NumPy, in emulators or in processes; nothing imports JAX.

N environments step in G groups of M, so that one group steps while the agent computes actions for another.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Protocol, TypeVar, cast, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float32, Integer, Shaped

from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

T = TypeVar("T")

#: Seconds without an answer after which environments count as lost: a step takes milliseconds.
TIMEOUT = 120.0


class EnvironmentsLost(UserError):
    """Environments have stopped answering, and the steps under way are lost."""


class EnvironmentFailed(UserError):
    """The code of an environment has raised an exception, or returned something that cannot be used."""


@dataclass(frozen=True)
class HostStep:
    """Outcome of one step of a group. The arrays are not written to afterwards."""

    frame: Shaped[np.ndarray, "M ..."]  # the newest frame: the first of a new episode if this step ended one
    next_obs: Shaped[np.ndarray, "M ..."]  # the frame that was reached, also at the end of an episode
    reward: Float32[np.ndarray, " M"]  # what the agent learns from
    score: Float32[np.ndarray, " M"]  # what is reported
    terminated: Bool[np.ndarray, " M"]  # the task ended
    truncated: Bool[np.ndarray, " M"]  # the time limit was reached; never together with `terminated`
    lost: bool = False  # whether episodes were cut because their environments were lost: they are not counted
    mask: Bool[np.ndarray, "M A"] | None = None  # which choices the next action may be made of, where `spec.masked`

    @property
    def ended(self) -> Bool[np.ndarray, " M"]:
        """Where `frame` is the first of a new episode."""
        return self.terminated | self.truncated


@runtime_checkable
class HostEnvironment(Protocol):
    """N environments. A new episode begins within the step that ended one; the agent stacks the frames it receives.

    A group is sent actions and then received from, in turn; groups are independent of each other.
    """

    @property
    def spec(self) -> EnvSpec:
        """Observations, which are stacks of frames, and actions."""
        ...

    @property
    def groups(self) -> int:
        """G."""
        ...

    @property
    def envs_per_group(self) -> int:
        """M."""
        ...

    def reset(self, seed: tuple[int, ...] | None = None) -> Shaped[np.ndarray, "G M ..."]:
        """Begin an episode in every environment."""
        ...

    def send(self, group: int, actions: Integer[np.ndarray, "M ..."]) -> None:
        """Begin a step of one group and return at once."""
        ...

    def receive(self, group: int) -> HostStep:
        """Wait for the step of one group."""
        ...

    def close(self) -> None:
        """Stop the environments."""
        ...


@runtime_checkable
class MaskedEnvironment(HostEnvironment, Protocol):
    """N environments that forbid actions in some states: `EnvSpec.masked`."""

    @property
    def first_mask(self) -> Bool[np.ndarray, "G M A"]:
        """Which choices the first actions after `reset` may be made of."""
        ...


def first_masks(environment: HostEnvironment) -> list[Bool[np.ndarray, "M A"] | None]:
    """The masks of the first actions of each group; None where nothing is forbidden."""
    if not environment.spec.masked:
        return [None] * environment.groups
    return list(cast(MaskedEnvironment, environment).first_mask)


def with_timeout(receive: Callable[[], T], timeout: float = TIMEOUT) -> T:
    """Call a function that waits for environments, in a thread of its own so that Ctrl-C works."""
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
        raise timeout_error(timeout) from None
    if error is not None:
        raise error
    return cast(T, answer)


def timeout_error(timeout: float) -> EnvironmentsLost:
    return EnvironmentsLost(f"an environment has not answered for {timeout:.0f} seconds")
