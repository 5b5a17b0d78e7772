"""From a specification to the distribution over actions, and from what it draws to what an environment takes.

Axes: M actions, n numbers of an action.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Real, Shaped

from action_balance.config.agent import AgentConfig
from action_balance.distributions import Distribution, GaussianActions, MultiCategorical
from action_balance.envs.spec import EnvSpec, limits


def distribution_of(spec: EnvSpec, agent: AgentConfig) -> Distribution:
    """The kind of distribution that an agent has over the actions of an environment."""
    if spec.lists_actions:
        return MultiCategorical(spec.nvec)
    candidates = agent.exploration.candidates if agent.balances else 1
    return GaussianActions(spec.action_limits, spec.nvec, agent.network.squash_actions, candidates, agent.uniform)


def for_environment(spec: EnvSpec, executed: Real[Array, "..."]) -> Real[Array, "..."]:
    """An action in the units of the environment."""
    if spec.lists_actions:
        return executed
    origins, units = np.array(spec.action_units, np.float32).T
    low, high = np.array(limits(spec.bounds), np.float32).T
    numbers = jnp.clip(origins + units * executed[len(spec.nvec) :], low, high)  # which rounding may leave
    return jnp.concatenate([executed[: len(spec.nvec)], numbers])


def for_agent(spec: EnvSpec, taken: Shaped[np.ndarray, "M n"]) -> Shaped[np.ndarray, "M ..."]:
    """Actions of the environment, whose choices count from 0, as the agent knows them: numbers in its units."""
    if spec.lists_actions:
        return taken.astype(np.int32).reshape(-1, *spec.action_shape)
    (choices, numbers), (origins, units) = np.split(taken, [len(spec.nvec)], axis=1), np.array(spec.action_units).T
    numbers = np.clip((numbers - origins) / units, *np.array(spec.action_limits).T)
    return np.concatenate([choices, numbers], axis=1).astype(np.float32)
