"""The contract of environments on the device. One environment per call; ``vmap`` outside."""

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Real, Shaped

from action_balance.envs.spec import EnvSpec


class Step(eqx.Module):
    """Outcome of one step."""

    observation: Shaped[Array, "..."]  # what the agent sees next: the first of a new episode if this step ended one
    next_obs: Shaped[Array, "..."]  # the observation that was reached, s_{t+1}, also where it ended the episode
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]  # the task ended
    truncated: Bool[Array, ""]  # the time limit was reached
    info: dict[str, Float[Array, ""]] = eqx.field(default_factory=dict)  # numbers of the episode so far, by name


@runtime_checkable
class Environment(Protocol):
    """Pure functions of a state; parameters are fields. A new episode begins within the step that ended one."""

    @property
    def spec(self) -> EnvSpec:
        """Observations and actions."""
        ...

    @property
    def episode_steps(self) -> int:
        """Length of the longest episode."""
        ...

    def reachable(self) -> Bool[np.ndarray, " S"]:
        """Which states an episode can reach; empty where states cannot be enumerated."""
        ...

    def reset(self, key: PRNGKeyArray) -> tuple[Any, Shaped[Array, "..."]]:
        """Begin an episode."""
        ...

    def step(self, state: Any, action: Real[Array, "..."], key: PRNGKeyArray) -> tuple[Any, Step]:
        """Take one step."""
        ...

    def index(self, observation: Shaped[Array, "..."]) -> Int[Array, ""]:
        """Number of the observed state, below `EnvSpec.states`."""
        ...
