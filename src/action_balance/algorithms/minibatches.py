"""What the minibatches of an update consist of: all steps of some environments, or shuffled samples.

Axes: T steps, N environments, A choices of all action components, B samples and P bonus samples of a minibatch,
M minibatches of all epochs, P cells of a policy's memory with U units each.
"""

from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree

from action_balance.algorithms.base import Algorithm
from action_balance.algorithms.state import Samples
from action_balance.bonuses.base import Transitions
from action_balance.config.agent import AgentConfig
from action_balance.core.running_stats import RunningMeanStd
from action_balance.core.sharding import replicate, shard
from action_balance.envs.frame_stack import Frames


class Totals(NamedTuple):
    """The numbers of samples that the means of a minibatch are over."""

    samples: int
    transitions: int


class UpdateBatch(eqx.Module):
    """What the minibatches of an update learn from; it does not change between them."""

    samples: Samples  # (T, N)
    transitions: Transitions  # (T, N), for the bonuses
    obs_stats: RunningMeanStd  # with this rollout
    coef: Float[Array, ""]  # c of Eq. 5 when acting
    order: Int[Array, "M n"]  # of each minibatch: its environments, or its samples, numbered t * N + environment
    subset_keys: Key[Array, " M"]  # of the steps that the bonuses learn from
    acting_stats: RunningMeanStd | None = None  # those that acted, where the policy sees normalised observations
    rate: Float[Array, ""] | None = None  # learning rate, as a multiple of the first one; None where it is constant

    def decayed(self, changes: PyTree) -> PyTree:
        """What the optimiser adds to the parameters, with the learning rate of this update."""
        return changes if self.rate is None else jax.tree.map(lambda leaf: self.rate * leaf, changes)


#: A minibatch or one of its parts, (B,): samples, transitions for bonuses, totals, and the targets of all of it.
_Picked = tuple[Samples, Transitions, Totals, PyTree]


def pick(
    batch: UpdateBatch, number: Int[Array, ""], algorithm: Algorithm, part: Int[Array, ""] | int = 0, parts: int = 1
) -> tuple[Samples, Transitions, Totals]:
    """A minibatch, or one of its parts: some environments with all their steps, or some of the shuffled samples."""
    config = algorithm.config
    choose = _whole_environments if config.minibatch_of == "environments" else _shuffled
    samples, transitions, totals, whole = choose(batch, number, config, part, parts)
    samples = replace(samples, targets=algorithm.minibatch(samples.targets, whole))
    return shard(samples), shard(transitions), totals


def _whole_environments(
    batch: UpdateBatch, number: Array, config: AgentConfig, part: Array | int, parts: int
) -> _Picked:
    environments, steps = replicate(batch.order[number]), len(batch.samples.action)
    whole = jax.tree.map(lambda leaf: leaf[:, environments], batch.samples.targets)
    chosen = chosen_steps(batch.subset_keys[number], steps, len(environments), config)
    totals = Totals(steps * len(environments), len(chosen) * len(environments))
    if parts > 1:
        each = len(environments) // parts
        environments = jax.lax.dynamic_slice_in_dim(environments, part * each, each)
        chosen = jax.lax.dynamic_slice_in_dim(chosen, part * each, each, axis=1) if chosen.ndim > 1 else chosen
    samples = _flat(jax.tree.map(lambda leaf: leaf[:, environments], batch.samples))
    rows = chosen if chosen.ndim > 1 else slice(None)
    transitions = jax.tree.map(lambda leaf: _merge_axes(leaf[rows, environments]), batch.transitions)
    return samples, transitions, totals, whole


def _shuffled(batch: UpdateBatch, number: Array, config: AgentConfig, part: Array | int, parts: int) -> _Picked:
    """Samples of any steps and environments; bonuses learn from the first of them, whose order is random."""
    members, envs = batch.order[number], batch.samples.action.shape[1]
    whole = jax.tree.map(lambda leaf: leaf[members // envs, members % envs], batch.samples.targets)
    each = len(members) // parts
    count = max(1, round(config.exploration.update_proportion * each))
    totals = Totals(each * parts, count * parts)
    if parts > 1:
        members = jax.lax.dynamic_slice_in_dim(members, part * each, each)
    time, environment = members // envs, members % envs
    obs, rest = batch.samples.observation, replace(batch.samples, observation=None)
    samples: Samples = jax.tree.map(lambda leaf: leaf[time, environment], rest)
    seen = obs.at(time, environment) if isinstance(obs, Frames) else obs[time, environment]
    transitions = jax.tree.map(lambda leaf: leaf[time[:count], environment[:count]], batch.transitions)
    return replace(samples, observation=seen), transitions, totals, whole


def chosen_steps(key: PRNGKeyArray, steps: int, envs: int, config: AgentConfig) -> Int[Array, "..."]:
    """The steps that bonuses learn from, (P, envs): the same number of each environment, at random; (T,) if all are.

    RND drops every sample with the same probability instead; here the number of dropped samples is fixed, so that
    nothing has to be computed for them.
    """
    count = max(1, round(config.exploration.update_proportion * steps))
    if count == steps:
        return jnp.arange(steps)
    return jax.random.uniform(key, (steps, envs)).argsort(axis=0)[:count]


def _flat(samples: Samples) -> Samples:
    """Samples of a minibatch, (T, n), as (B,); frames become stacks."""
    obs = samples.observation
    samples = replace(samples, observation=obs.stacks() if isinstance(obs, Frames) else obs)
    flat: Samples = jax.tree.map(_merge_axes, samples)
    return flat


def _merge_axes(leaf: Array) -> Array:
    return leaf.reshape(-1, *leaf.shape[2:])
