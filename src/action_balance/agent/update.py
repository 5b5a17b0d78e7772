"""Learning from one rollout: bonuses, advantages of both reward streams, epochs of PPO and of the bonuses (Eq. 6).

Axes: T steps, N environments, A choices of all action components, B samples and P bonus samples of a minibatch,
M minibatches of all epochs.
"""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from action_balance.agent.context import AgentContext
from action_balance.agent.minibatches import Samples, Totals, UpdateBatch, pick
from action_balance.agent.rollout import make_actor
from action_balance.agent.sequences import final_values, policy_outputs, values_after
from action_balance.agent.state import Params, TrainState, Trajectory
from action_balance.bonuses.base import INTRINSIC, Batch, Transitions
from action_balance.config.agent import AgentConfig
from action_balance.core import ppo, returns
from action_balance.core.keys import named_key
from action_balance.core.running_stats import RunningMeanStd
from action_balance.core.sharding import merge_axes, shard
from action_balance.envs.frame_stack import Frames

#: The terms of the loss of a minibatch, by name. Those of bonuses are named after their slot.
Losses = dict[str, Float[Array, "..."]]

#: The term of which the largest value counts; all others add up over the parts of a minibatch.
LARGEST = "furthest_ratio"


class UpdateInfo(eqx.Module):
    """What an update reports besides the new state."""

    reward: Float[Array, "T N"]  # raw intrinsic reward
    scale: Float[Array, ""]  # its divisor
    value_targets: Float[Array, "T N 2"]
    losses: Losses  # each (M,)
    drift: Float[Array, ""]  # largest |ratio - 1| between the policy that learns and the one that acted


def bonus_transitions(trajectory: Trajectory) -> Transitions:
    """The transitions of a rollout as bonuses see them."""
    obs = trajectory.observation
    return Transitions(
        frame=obs.newest() if isinstance(obs, Frames) else obs,
        next_frame=trajectory.next_obs,
        action=trajectory.action,
        index=trajectory.index,
        next_index=trajectory.next_index,
        terminated=trajectory.terminated,
        truncated=trajectory.truncated,
    )


def intrinsic_rewards(
    state: TrainState, transitions: Transitions, context: AgentContext
) -> tuple[Float[Array, "T N"], dict[str, Any]]:
    """Intrinsic rewards of a rollout, with everything as it was before it, and the bonuses' states after it."""
    rewards, states = jnp.zeros(transitions.index.shape), {}
    for slot, bonus in context.bonuses.items():
        clip, key = context.config.bonus.observation_clip, named_key(state.key, slot)
        rollout = Batch(transitions, state.obs_stats, clip, key)
        found, states[slot] = bonus.reward(state.params.bonuses[slot], state.bonus_states[slot], rollout)
        rewards = found if slot == INTRINSIC else rewards
    return rewards, states


def advantages(
    trajectory: Trajectory,
    last_values: Float[Array, "N 2"],
    bonus: Float[Array, "T N"],
    config: AgentConfig,
    final_values: Float[Array, "T N 2"] | None = None,
) -> tuple[Float[Array, "T N"], Float[Array, "T N"]]:
    """Generalised advantages of both reward streams (Section III-E).

    The extrinsic stream is cut at every end of an episode, time limits included. The intrinsic stream continues into
    the next episode, unless the config says otherwise. Where truncation is bootstrapped, the return that a time limit
    cuts continues with the value of the last observation (Pardo et al., 2018, https://arxiv.org/abs/1712.00378).
    """
    settings = config.ppo
    ended = trajectory.ended
    cuts = {"never": jnp.zeros_like(ended), "terminated": trajectory.terminated, "episode": ended}
    next_values = jnp.concatenate([trajectory.values[1:], last_values[None]])
    limits = trajectory.truncated & ~trajectory.terminated

    def stream(rewards: Array, place: int, cut: Array, gamma: float) -> Array:
        values, following, zero = trajectory.values[..., place], next_values[..., place], cut
        if final_values is not None:
            following = jnp.where(cut & limits, final_values[..., place], following)
            zero = cut & ~limits

        def one(rewards: Array, values: Array, following: Array, zero: Array, cut: Array) -> Array:
            deltas = returns.td_errors(rewards, values, following, gamma * (1.0 - zero))
            return returns.advantages(deltas, gamma * (1.0 - cut) * settings.gae_lambda)

        each_environment = jax.vmap(one, in_axes=1, out_axes=1)
        found: Array = each_environment(rewards, values, following, zero, cut)
        return found

    intrinsic = stream(bonus, 0, cuts[settings.intrinsic_ends], settings.gamma_int)
    extrinsic = stream(trajectory.reward, 1, ended, settings.gamma_ext)
    return intrinsic, extrinsic


def loss(
    params: Params,
    bonus_states: dict[str, Any],
    batch: UpdateBatch,
    samples: Samples,
    transitions: Transitions,
    totals: Totals,
    context: AgentContext,
    key: PRNGKeyArray,
) -> tuple[Float[Array, ""], Losses]:
    """The overall loss of a minibatch (Eq. 6): PPO of the behaviour policy, plus the losses of the bonuses."""
    config, distribution = context.config, context.distribution

    def policy_terms(sample: Samples, logits: Array, values: Array) -> tuple[Array, Array, Array, Array]:
        behaviour = context.behaviour_logits(logits, sample.action_bonus, batch.coef, sample.mask)
        ratio = jnp.exp(distribution.log_prob(behaviour, sample.action) - sample.log_prob)
        surrogate = ppo.clipped_surrogate(ratio, sample.advantage, config.ppo.clip)
        return ratio, surrogate, ppo.value_loss(values, sample.value_targets), distribution.entropy(behaviour)

    def mean(terms: Array) -> Array:
        return terms.sum() / totals.samples

    logits, values = policy_outputs(params.policy, samples, batch.acting_stats, context)
    alone = replace(samples, observation=None, memory=None)
    ratio, surrogate, value_losses, entropy = jax.vmap(policy_terms)(alone, logits, values)
    terms: Losses = {
        "policy": mean(surrogate),
        "value_int": mean(value_losses[:, 0]),
        "value_ext": mean(value_losses[:, 1]),
        "entropy": mean(entropy),
        "clip_fraction": mean((jnp.abs(ratio - 1) > config.ppo.clip).astype(jnp.float32)),
        LARGEST: jnp.abs(ratio - 1).max(),
    }
    # A factor, not a branch: all methods have the same graph here, and so the same rounding.
    learns_int = float(config.intrinsic_coef > 0)
    value_loss = terms["value_ext"] + learns_int * terms["value_int"]
    if config.ppo.value_coef != 1:
        value_loss = config.ppo.value_coef * value_loss
    total = terms["policy"] + value_loss - config.entropy_coef * terms["entropy"]
    for slot, bonus in context.bonuses.items():
        if jax.tree.leaves(params.bonuses[slot]):  # counts have nothing to train
            seen = Batch(transitions, batch.obs_stats, config.bonus.observation_clip, named_key(key, slot))
            errors = bonus.loss(params.bonuses[slot], bonus_states[slot], seen)
            terms[slot] = errors.sum() / totals.transitions
            total = total + terms[slot]
    return total, terms


def loss_names(params: Params) -> list[str]:
    trained = [slot for slot, one in params.bonuses.items() if jax.tree.leaves(one)]
    return ["policy", "value_int", "value_ext", "entropy", "clip_fraction", LARGEST, *trained]


def optimizer(config: AgentConfig) -> optax.GradientTransformation:
    """Adam for everything that is trained, with the learning rate of the first update."""
    return optax.adam(config.ppo.learning_rate)


def clip_gradients(found: Params, config: AgentConfig) -> Params:
    """The gradients of a minibatch, of which those of the policy network are clipped where the config says so."""
    most = config.ppo.max_grad_norm
    return found if most is None else replace(found, policy=ppo.clip_by_norm(found.policy, most))


def learning_rate_factor(updates: Int[Array, ""], config: AgentConfig) -> Float[Array, ""] | None:
    """The learning rate of an update, in units of that of the first."""
    start, end = config.ppo.learning_rate, config.ppo.learning_rate_end
    return None if end is None else ppo.linear_decay(1.0, end / start, updates / config.updates)


def prepare(
    state: TrainState,
    trajectory: Trajectory,
    last_values: Float[Array, "N 2"],
    coef: Float[Array, ""],
    context: AgentContext,
    acting_stats: RunningMeanStd | None = None,
    drift: Float[Array, "T N"] | None = None,
) -> tuple[TrainState, UpdateBatch, UpdateInfo]:
    """Everything of an update but its minibatches.

    The order is that of RND: rewards with everything as it was before the rollout; then the statistics are updated;
    then training uses the new statistics. If the policy that learns is not the one that acted, the trajectory has its
    log-probabilities and values, and ``drift`` is what it adds to log beta(a|s): ratios are clipped around the policy
    that learns (Hilton et al., 2022, https://arxiv.org/abs/2110.00641), and samples are weighted by importance.
    """
    config = context.config
    transitions = bonus_transitions(trajectory)
    rewards, bonus_states = intrinsic_rewards(state, transitions, context)
    obs_stats = state.obs_stats
    if context.uses_obs_stats:
        obs_stats = obs_stats.update(merge_axes(trajectory.next_obs))
    return_scale = state.return_scale.update(rewards, config.ppo.gamma_int)
    reward_scale, scaled = state.reward_scale, trajectory
    if reward_scale is not None:
        reward_scale = reward_scale.update(trajectory.reward, trajectory.ended, config.ppo.gamma_ext)
        scaled = replace(trajectory, reward=trajectory.reward / reward_scale.scale)
    bootstraps = config.ppo.bootstrap_truncation
    limits = final_values(trajectory, state.params.policy, acting_stats, context) if bootstraps else None
    intrinsic, extrinsic = advantages(scaled, last_values, rewards / return_scale.scale, config, limits)
    value_targets = trajectory.values + jnp.stack([intrinsic, extrinsic], axis=-1)
    advantage = config.intrinsic_coef * intrinsic + config.ppo.extrinsic_coef * extrinsic
    weight = jnp.ones(()) if drift is None else jnp.exp(drift)
    standardized = config.ppo.normalize_advantages
    samples = Samples(
        observation=trajectory.observation,
        action=trajectory.action,
        log_prob=trajectory.log_prob,
        action_bonus=trajectory.action_bonus,
        advantage=advantage if drift is None or standardized else weight * advantage,
        value_targets=value_targets,
        mask=trajectory.mask,
        weight=weight if drift is not None and standardized else None,
        **_sequences(trajectory),
    )
    key, order_key, subset_key = jax.random.split(state.key, 3)
    count = config.ppo.epochs * config.ppo.minibatches
    members = jnp.arange(config.steps_per_update if config.minibatch_of == "samples" else config.envs)
    order_keys = jax.random.split(order_key, config.ppo.epochs)
    orders = jax.vmap(lambda key: jax.random.permutation(key, members))(order_keys).reshape(count, -1)
    subset_keys = jax.random.split(subset_key, count)
    if config.minibatch_of == "environments":
        # Devices that have all environments at some steps exchange nothing when environments are picked.
        samples, transitions = shard(shard(samples, axis=1)), shard(shard(transitions, axis=1))
    rate = learning_rate_factor(state.updates, config)
    batch = UpdateBatch(samples, transitions, obs_stats, coef, orders, subset_keys, acting_stats, rate)
    state = replace(state, obs_stats=obs_stats, return_scale=return_scale, reward_scale=reward_scale)
    state = replace(state, bonus_states=bonus_states, key=key)
    return state, batch, UpdateInfo(rewards, return_scale.scale, value_targets, {}, jnp.abs(weight - 1).max())


def _sequences(trajectory: Trajectory) -> dict[str, Array]:
    """What a memory needs besides single samples: its states at the first step, (1, N), and where episodes begin."""
    if trajectory.memory is None:
        return {}
    ended = trajectory.ended
    return {"memory": trajectory.memory[:1], "began": jnp.zeros_like(ended).at[1:].set(ended[:-1])}


def gradients(
    params: Params,
    bonus_states: dict[str, Any],
    batch: UpdateBatch,
    number: Int[Array, ""],
    context: AgentContext,
    part: Int[Array, ""] | int = 0,
    parts: int = 1,
) -> tuple[Params, Losses]:
    """Gradients and losses of a minibatch, or of one of its parts, which add up."""
    samples, transitions, totals = pick(batch, number, context.config, part, parts)
    gradient: Any = jax.grad(loss, has_aux=True)
    key = jax.random.fold_in(batch.subset_keys[number], part)
    found: tuple[Params, Losses] = gradient(params, bonus_states, batch, samples, transitions, totals, context, key)
    return found


def learn(state: TrainState, trajectory: Trajectory, context: AgentContext) -> tuple[TrainState, UpdateInfo]:
    config = context.config
    actor = make_actor(state, context)
    last_values = values_after(state, actor.policy, context)
    acting_stats = state.obs_stats if context.spec.normalize_obs else None
    state, batch, info = prepare(state, trajectory, last_values, actor.coef, context, acting_stats)
    adam = optimizer(config)

    def minibatch(carry: tuple[Params, optax.OptState], number: Array) -> tuple[tuple[Params, optax.OptState], Losses]:
        params, optimizer_state = carry
        found, losses = gradients(params, state.bonus_states, batch, number, context)
        changes, optimizer_state = adam.update(clip_gradients(found, config), optimizer_state)
        return (optax.apply_updates(params, batch.decayed(changes)), optimizer_state), losses

    numbers = jnp.arange(len(batch.order))
    (params, optimizer_state), losses = jax.lax.scan(minibatch, (state.params, state.optimizer), numbers)
    return replace(state, params=params, optimizer=optimizer_state), replace(info, losses=losses)
