"""The network on whole rollouts: sample by sample, or with a memory step by step through the episodes.

Axes: T steps, N environments, n environments of a minibatch and B samples of all their steps, A choices of all action
components, P cells of a policy's memory with U units each.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from action_balance.algorithms.base import Algorithm
from action_balance.algorithms.networks import Policy
from action_balance.algorithms.rollout import forget
from action_balance.algorithms.state import Samples, TrainState, Trajectory
from action_balance.core.running_stats import RunningMeanStd
from action_balance.core.sharding import shard
from action_balance.envs.frame_stack import Frames


def policy_outputs(
    policy: Policy, samples: Samples, stats: RunningMeanStd | None, algorithm: Algorithm
) -> tuple[Float[Array, "B A"], Float[Array, "B V"]]:
    """The outputs of both heads for a minibatch.

    Only the recurrent part of a memory goes step by step: trunk and heads see all steps at once.
    """
    memory = policy.memory

    def seen(obs: Array) -> Any:
        return algorithm.policy_obs(obs, stats)

    def outputs(obs: Array) -> tuple[Array, Array]:
        return policy(seen(obs))

    if memory is None:
        return jax.vmap(outputs)(samples.observation)
    if samples.memory is None or samples.began is None:
        raise TypeError("this policy has a memory: pass its states and where episodes begin")
    cells, envs = memory, len(samples.memory)

    def inputs(obs: Array) -> Array:
        return cells.project(policy.features(seen(obs)))

    def step(state: Array, drawn: tuple[Array, Array]) -> tuple[Array, Array]:
        projected, began = drawn
        state = jax.vmap(cells.advance)(projected, forget(state, began))
        return state, state

    def by_step(leaf: Array) -> Array:
        # Every device goes through all steps of its environments.
        return shard(leaf.reshape(-1, envs, *leaf.shape[1:]), axis=1)

    drawn = by_step(jax.vmap(inputs)(samples.observation)), by_step(samples.began)
    states = jax.lax.scan(step, shard(samples.memory), drawn)[1]
    return jax.vmap(policy.heads)(states.reshape(-1, *cells.shape))


def values_after(state: TrainState, policy: Policy, algorithm: Algorithm) -> Float[Array, "N 2"]:
    """Both values of the observations after a rollout."""

    def values(obs: Array, memory: Array | None) -> Array:
        first, second, _ = policy.step(algorithm.policy_obs(obs, state.obs_stats), memory)
        return algorithm.evaluate(first, second, None)[1]

    return jax.vmap(values)(state.observation, state.memory)


def final_values(
    trajectory: Trajectory, policy: Policy, stats: RunningMeanStd | None, algorithm: Algorithm
) -> Float[Array, "T N 2"]:
    """Both values of every s_{t+1}, also of one that ended an episode; zero if no time limit was reached."""

    def value(obs: Array, reached: Array, memory: Array | None) -> Array:
        if memory is not None:
            memory = policy.step(algorithm.policy_obs(obs, stats), memory)[2]
        first, second, _ = policy.step(algorithm.policy_obs(reached, stats), memory)
        return algorithm.evaluate(first, second, None)[1]

    def values() -> Array:
        obs, reached = trajectory.observation, trajectory.next_obs
        if isinstance(obs, Frames):  # the frames that were acted from, and the one that was reached
            obs = obs.stacks()
            reached = jnp.concatenate([obs[:, :, 1:], reached[:, :, None]], axis=2)
        return jax.vmap(jax.vmap(value))(obs, reached, trajectory.memory)

    return jax.lax.cond(trajectory.truncated.any(), values, lambda: jnp.zeros_like(trajectory.values))
