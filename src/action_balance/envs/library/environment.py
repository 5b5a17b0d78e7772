"""Environments of libraries: new episodes begin here, after the observation that ended the last one was kept."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree, Real, Shaped

from action_balance.envs.base import Step
from action_balance.envs.library.adapter import Adapter, quiet
from action_balance.envs.library.begin import begin_few, begin_if
from action_balance.envs.spec import EnvSpec


class LibraryState(eqx.Module):
    """An episode under way."""

    library: PyTree  # the state as the library knows it
    steps: Int[Array, ""]  # of this episode so far


class LibraryEnvironment(eqx.Module):
    """An environment of a library as an `Environment`."""

    adapter: Adapter = eqx.field(static=True)
    max_steps: int | None = eqx.field(static=True, default=None)  # time limit that is applied here

    @property
    def spec(self) -> EnvSpec:
        return self.adapter.spec

    @property
    def episode_steps(self) -> int:
        return self.max_steps or self.adapter.episode_steps

    def reachable(self) -> Bool[np.ndarray, " S"]:
        return np.zeros(0, bool)

    def reset(self, key: PRNGKeyArray) -> tuple[LibraryState, Shaped[Array, "..."]]:
        with quiet():
            state, observation = self.adapter.reset(key)
        first = LibraryState(jax.tree.map(_strong, state), jnp.zeros((), jnp.int32))
        return first, observation.astype(self.spec.dtype)

    def advance(self, state: LibraryState, action: Real[Array, "..."], key: PRNGKeyArray) -> tuple[LibraryState, Step]:
        """Take one step as `step` does, without a new episode: what was reached is also what is observed."""
        step_key, _ = jax.random.split(key)
        with quiet():
            reached, next_obs, reward, terminated, truncated, info = self.adapter.step(step_key, state.library, action)
        steps = state.steps + 1
        if self.max_steps is not None:
            late = steps >= self.max_steps
            terminated = terminated & ~late if getattr(self.adapter, "ends_alike", False) else terminated
            truncated = (truncated | late) & ~terminated
        next_obs, reward = next_obs.astype(self.spec.dtype), jnp.asarray(reward, jnp.float32)
        info = {name: jnp.asarray(value, jnp.float32) for name, value in info.items()}
        return LibraryState(reached, steps), Step(next_obs, next_obs, reward, terminated, truncated, info)

    def step(self, state: LibraryState, action: Real[Array, "..."], key: PRNGKeyArray) -> tuple[LibraryState, Step]:
        reached, outcome = self.advance(state, action, key)
        _, reset_key = jax.random.split(key)
        ended = outcome.terminated | outcome.truncated
        begin = begin_few if getattr(self.adapter, "slow_reset", False) else begin_if
        following, observation = begin(ended, self.reset, reset_key, (reached, outcome.next_obs))
        return following, replace(outcome, observation=observation)

    def index(self, observation: Shaped[Array, "..."]) -> Int[Array, ""]:
        del observation
        return jnp.zeros((), jnp.int32)


def _strong(leaf: Any) -> Array:
    """An array whose type does not depend on what it is combined with: libraries begin with Python's numbers."""
    array = jnp.asarray(leaf)
    return (
        array if jnp.issubdtype(array.dtype, jax.dtypes.prng_key) else jax.lax.convert_element_type(array, array.dtype)
    )
