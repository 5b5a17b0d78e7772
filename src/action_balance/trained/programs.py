"""What is compiled to use an agent, once for each size of a batch.

Axes: B observations, A choices, L preferences, n numbers of an action, P cells of a policy's memory with U units each.
"""

from functools import partial
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Real

from action_balance.algorithms.base import Algorithm
from action_balance.algorithms.rollout import act
from action_balance.algorithms.state import Actor, TrainedAgent
from action_balance.bonuses.base import ACTION, INTRINSIC, Batch, Transitions
from action_balance.engines.evaluate import decide

#: Where the random keys of a batch come from: one number of a stream, one key for the batch, or a key for each.
Keys = Literal["stream", "batch", "each"]


class Outputs(eqx.Module):
    """What an agent makes of observations."""

    pi: Float[Array, "B L"]  # preferences: logits, or means and log standard deviations
    beta: Any  # as pi, or `Balanced`
    values: Float[Array, "B 2"]  # intrinsic and extrinsic
    action_bonus: Any  # (B, A), zero without one; of one continuous action each, (B,)


@partial(jax.jit, static_argnames=("algorithm", "keys", "with_bonus"))
def choose(
    actor: Actor,
    obs: Real[Array, "B ..."],
    index: Int[Array, " B"],
    key: PRNGKeyArray,
    number: Int[Array, ""],
    mode: Int[Array, ""],
    mask: Bool[Array, "B A"] | None,
    memory: Float[Array, "B P U"] | None,
    *,
    algorithm: Algorithm,
    keys: Keys,
    with_bonus: bool,
) -> tuple[Real[Array, "B ..."], Float[Array, "B P U"] | None]:
    """Choose an action for each observation, as an evaluation does."""
    if keys == "stream":
        key = jax.random.fold_in(key, number)
    if keys != "each":
        key = jax.vmap(lambda row: jax.random.fold_in(key, row))(jnp.arange(len(obs)))

    def one(
        obs: Array, index: Array, key: Array, mask: Array | None, memory: Array | None
    ) -> tuple[Array, Array | None]:
        decision, memory = decide(actor, obs, index, key, mode, algorithm, with_bonus, mask, memory)
        return decision.action, memory

    return jax.vmap(one)(obs, index, key, mask, memory)


@partial(jax.jit, static_argnames="algorithm")
def view(
    actor: Actor,
    obs: Real[Array, "B ..."],
    index: Int[Array, " B"],
    mask: Bool[Array, "B A"] | None,
    memory: Float[Array, "B P U"] | None,
    actions: Float[Array, "B n"] | None,
    *,
    algorithm: Algorithm,
) -> Outputs:
    """Policies, values and the action bonus of observations: of continuous actions, that of the given ones, which are
    as they are executed, in units of the agent, or else of the most probable ones."""
    found, values, bonus, _ = jax.vmap(lambda one, i, m, before: act(actor, one, i, algorithm, m, before))(
        obs, index, mask, memory
    )
    epsilon = None if actor.epsilon is None else actor.epsilon.mean()
    beta = jax.vmap(lambda x, y, m: algorithm.behaviour_logits(x, y, actor.coef, m, epsilon))(found, bonus, mask)
    pi = jax.vmap(algorithm.policy)(found, mask)
    distribution = algorithm.distribution

    def bonus_of(obs: Array, index: Array, pi: Array, action: Array | None) -> Array:
        action = distribution.executed(distribution.mode(pi)) if action is None else action
        vector = jnp.append(distribution.one_hot(action), action[len(algorithm.spec.nvec) :])
        seen = algorithm.bonus_obs(obs, index, actor.obs_stats)
        return algorithm.bonuses[ACTION].scores_of(actor.bonus_params, actor.bonus_state, seen, vector[None])[0]

    if ACTION in algorithm.bonuses and not algorithm.spec.lists_actions:
        bonus = jax.vmap(bonus_of)(obs, index, pi, actions)
    return Outputs(pi, beta, values, bonus)


@partial(jax.jit, static_argnames="algorithm")
def state_bonus(
    agent: TrainedAgent, frames: Real[Array, "B ..."], index: Int[Array, " B"], *, algorithm: Algorithm
) -> Float[Array, " B"]:
    """The next-state bonus of reaching each of some states, for bonuses that depend on nothing else."""
    bonus = algorithm.bonuses[INTRINSIC]
    taken = jnp.zeros((1, len(frames), *algorithm.spec.action_shape), algorithm.distribution.dtype)
    frames, index, ended = frames[None], index[None], jnp.zeros((1, len(frames)), bool)  # a rollout of one step
    transitions = Transitions(frames, frames, taken, index, index, ended, ended)
    batch = Batch(transitions, agent.obs_stats, algorithm.config.exploration.observation_clip, jax.random.key(0))
    return bonus.reward(agent.params.bonuses[INTRINSIC], agent.bonus_states[INTRINSIC], batch)[0][0]
