"""Rollouts for bonuses, and bonuses whose features are the observations themselves."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.bonuses.base import INTRINSIC, Batch, Bonus, Transitions, make_bonus
from action_balance.config.agent import AgentConfig
from action_balance.config.frozen import FrozenDict
from action_balance.config.network import NetworkConfig
from action_balance.core.running_stats import RunningMeanStd
from action_balance.envs.spec import EnvSpec

#: Two numbers are observed, and there are three actions.
SPEC = EnvSpec("vector", (2,), (3,))
#: They change nothing.
STATS = RunningMeanStd.empty((2,))


class Identity(eqx.Module):
    """An encoder whose features are the observation."""

    def __call__(self, observation: Float[Array, " D"]) -> Float[Array, " D"]:
        """The observation itself."""
        return observation


def small_bonus(name: str, envs: int = 1, spec: EnvSpec = SPEC, **settings: Any) -> Bonus:
    """A next-state bonus with two features and small networks."""
    agent = AgentConfig(
        method="rnd",
        intrinsic=name,
        envs=envs,
        algorithm=PPOConfig(minibatches=1),
        network=NetworkConfig(bonus_hidden=4, bonus_outputs=3),
        bonus_settings=FrozenDict({name: {"features": 2, **settings}}),
    )
    bonus = make_bonus(name, INTRINSIC, agent, spec)
    assert bonus is not None
    return bonus


def transitions(
    next_frame: Any,
    frame: Any = None,
    ended: Any = None,
    action: Any = None,
    *,
    index: Any = None,
    stats: RunningMeanStd = STATS,
    seed: int = 0,
) -> Batch:
    """Transitions to these frames; by default from zeros, by action 0, within an episode. Ends are time limits."""
    after = jnp.asarray(next_frame, jnp.float32)
    before = jnp.zeros_like(after) if frame is None else jnp.asarray(frame, jnp.float32)
    zeros = jnp.zeros(after.shape[:-1], jnp.int32)
    truncated = zeros > 0 if ended is None else jnp.asarray(ended, bool)
    taken = zeros if action is None else jnp.asarray(action)
    taken = taken.astype(jnp.int32 if jnp.issubdtype(taken.dtype, jnp.integer) else jnp.float32)
    number = zeros if index is None else jnp.asarray(index)
    made = Transitions(before, after, taken, number, number, zeros > 0, truncated)
    return Batch(made, stats, 5.0, jax.random.key(seed))


def steps(batch: Batch, start: int, stop: int) -> Batch:
    """Some steps of a rollout."""
    part = jax.tree.map(lambda leaf: leaf[start:stop], batch.transitions)
    return Batch(part, batch.stats, batch.clip, batch.key)
