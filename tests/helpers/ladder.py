"""A ladder: an adapter as environment libraries need it, whose numbers can be computed by hand."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from action_balance.envs.library.adapter import Adapter, Transition
from action_balance.envs.library.config import LibraryEnvConfig
from action_balance.envs.spec import EnvSpec


class Ladder:
    """Action 1 climbs a rung, action 0 does nothing. The task ends on rung 3, with a reward of 3.

    The first rung, 0 or 1, is drawn anew in every episode. The observation is the rung and the first rung.
    """

    spec = EnvSpec("vector", (2,), (2,))
    episode_steps = 100

    def reset(self, key: PRNGKeyArray) -> tuple[dict[str, Array | int], Array]:
        start = jax.random.bernoulli(key).astype(jnp.int32)
        return {"rung": start, "start": start, "climbed": 0}, jnp.stack([start, start])

    def step(self, key: PRNGKeyArray, state: dict[str, Array], action: Array) -> Transition:
        del key
        rung, climbed = state["rung"] + action, state["climbed"] + action
        done = rung == 3
        obs = jnp.stack([rung, state["start"]])
        reached = {"rung": rung, "start": state["start"], "climbed": climbed}
        return reached, obs, jnp.where(done, 3.0, 0.0), done, jnp.zeros((), bool), {"climbed": climbed}


@dataclass(frozen=True)
class LadderConfig(LibraryEnvConfig):
    """Ladders as a family, with a time limit of 5 steps."""

    max_steps: int | None = 5

    prefix: ClassVar[str] = "ladder:"
    library: ClassVar[str] = "jax"

    def make_adapter(self) -> Adapter:
        return Ladder()
