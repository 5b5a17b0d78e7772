"""Combination lock: a chain of N stages in which only one of K^N action sequences finds the reward.

The agent starts in the first stage. In each stage, exactly one of K actions opens the next; it is drawn for each stage.
Any other action ends the episode without a reward. Opening the last stage gives reward 1 and ends the episode, so an
episode has at most N steps. Axes: N stages.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from action_balance.envs.base import Step
from action_balance.envs.spec import EnvSpec


class LockState(eqx.Module):
    """The stage of the agent; N once the episode has ended."""

    stage: Int[Array, ""]


class Lock(eqx.Module):
    """The environment. Its state is seen one-hot; the action that opens each stage is drawn from a key."""

    size: int = eqx.field(static=True)
    actions: int = eqx.field(static=True)
    combination: Int[Array, " N"]  # the action that opens the next stage, for every stage

    def __init__(self, size: int, actions: int, key: PRNGKeyArray) -> None:
        self.size = size
        self.actions = actions
        self.combination = jax.random.randint(key, (size,), 0, actions, jnp.int32)

    @property
    def spec(self) -> EnvSpec:
        return EnvSpec("vector", (self.size,), (self.actions,), states=self.size)

    @property
    def episode_steps(self) -> int:
        return self.size

    def reachable(self) -> Bool[np.ndarray, " N"]:
        """All stages."""
        return np.ones(self.size, dtype=bool)

    def observe(self, stage: Int[Array, ""]) -> Float[Array, " N"]:
        """The stage one-hot; zeros at the end."""
        return jax.nn.one_hot(stage, self.size)

    def reset(self, key: PRNGKeyArray) -> tuple[LockState, Float[Array, " N"]]:
        del key
        state = LockState(jnp.zeros((), jnp.int32))
        return state, self.observe(state.stage)

    def step(self, state: LockState, action: Int[Array, ""], key: PRNGKeyArray) -> tuple[LockState, Step]:
        opens = action == self.combination[state.stage]
        reached = LockState(jnp.where(opens, state.stage + 1, self.size))
        terminated = reached.stage == self.size
        reward = jnp.where(opens & terminated, 1.0, 0.0)
        first, first_obs = self.reset(key)
        following = jax.tree.map(lambda a, b: jnp.where(terminated, a, b), first, reached)
        next_obs = self.observe(reached.stage)
        observation = jnp.where(terminated, first_obs, next_obs)
        return following, Step(observation, next_obs, reward, terminated, jnp.zeros((), bool))

    def index(self, observation: Float[Array, " N"]) -> Int[Array, ""]:
        """The stage; 0 for the observation after the end."""
        return observation.argmax().astype(jnp.int32)
