"""A task that needs memory: the first observation of an episode shows which action the last one rewards."""

from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from action_balance.config.env import DeviceEnvConfig
from action_balance.envs.base import Environment, Step
from action_balance.envs.spec import EnvSpec


@dataclass(frozen=True)
class RecallConfig(DeviceEnvConfig):
    """The task as an environment family."""

    stack: int = 1
    """Frames that the agent sees."""

    has_images = False

    @property
    def spec(self) -> EnvSpec:
        """One frame, or a stack."""
        spec = Recall().spec
        return spec if self.stack == 1 else replace(spec, kind="vector-stack", shape=(self.stack, *spec.shape))

    def make(self, key: PRNGKeyArray) -> Environment:
        """The task; nothing is drawn once."""
        del key
        return Recall()


class State(eqx.Module):
    """What to recall, and when."""

    cue: Int[Array, ""]
    time: Int[Array, ""]


class Recall(eqx.Module):
    """Episodes of three steps: the cue is seen before the first, and the time always. The third action is rewarded if
    it is the cue. An episode with the cue 1 ends by its time limit."""

    episode_steps: int = eqx.field(static=True, default=3)

    @property
    def spec(self) -> EnvSpec:
        """Cue 0 or cue 1, and the time."""
        return EnvSpec("vector", (3,), (2,))

    def reachable(self) -> Bool[np.ndarray, " S"]:
        """States are not enumerated."""
        return np.zeros(0, bool)

    def _observe(self, state: State) -> Float[Array, " 3"]:
        shown = (state.cue == jnp.arange(2)) & (state.time == 0)
        return jnp.concatenate([shown.astype(jnp.float32), (1.0 + state.time)[None]])

    def reset(self, key: PRNGKeyArray) -> tuple[State, Float[Array, " 3"]]:
        """A new cue."""
        state = State(jax.random.randint(key, (), 0, 2), jnp.zeros((), jnp.int32))
        return state, self._observe(state)

    def step(self, state: State, action: Int[Array, ""], key: PRNGKeyArray) -> tuple[State, Step]:
        """Only the last action counts."""
        reached = State(state.cue, state.time + 1)
        ended = reached.time == self.episode_steps
        first, first_obs = self.reset(key)
        following = jax.tree.map(lambda new, old: jnp.where(ended, new, old), first, reached)
        reward = (ended & (action == state.cue)).astype(jnp.float32)
        next_obs = self._observe(reached)
        seen = jnp.where(ended, first_obs, next_obs)
        return following, Step(seen, next_obs, reward, ended & (state.cue == 0), ended & (state.cue == 1))

    def index(self, observation: Float[Array, " 3"]) -> Int[Array, ""]:
        """Nothing is enumerated."""
        del observation
        return jnp.zeros((), jnp.int32)
