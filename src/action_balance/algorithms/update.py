"""Learning from one rollout: bonuses, targets of both reward streams, epochs of the agent and of the bonuses (Eq. 6).

Axes: T steps, N environments, A choices of all action components, B samples and P bonus samples of a minibatch,
M minibatches of all epochs.
"""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from action_balance.algorithms.base import Algorithm, Experience
from action_balance.algorithms.minibatches import Totals, UpdateBatch, pick
from action_balance.algorithms.rollout import make_actor
from action_balance.algorithms.sequences import final_values, policy_outputs, values_after
from action_balance.algorithms.state import Losses, Params, Samples, TrainState, Trajectory, UpdateInfo
from action_balance.bonuses.base import Batch, Transitions
from action_balance.config.agent import AgentConfig
from action_balance.core import losses
from action_balance.core.keys import named_key
from action_balance.core.running_stats import RunningMeanStd
from action_balance.core.sharding import merge_axes, shard
from action_balance.envs.frame_stack import Frames


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


def loss(
    params: Params,
    bonus_states: dict[str, Any],
    batch: UpdateBatch,
    samples: Samples,
    transitions: Transitions,
    totals: Totals,
    algorithm: Algorithm,
    key: PRNGKeyArray,
) -> tuple[Float[Array, ""], Losses]:
    """The overall loss of a minibatch (Eq. 6): that of the algorithm, plus the losses of the bonuses."""
    first, second = policy_outputs(params.policy, samples, batch.acting_stats, algorithm)
    alone = replace(samples, observation=None, began=None, memory=None)
    total, terms = algorithm.loss(first, second, alone, batch.coef, lambda one: one.sum() / totals.samples)
    for slot, bonus in algorithm.bonuses.items():
        if jax.tree.leaves(params.bonuses[slot]):  # counts have nothing to train
            clip = algorithm.config.exploration.observation_clip
            seen = Batch(transitions, batch.obs_stats, clip, named_key(key, slot))
            errors = bonus.loss(params.bonuses[slot], bonus_states[slot], seen)
            terms[slot] = errors.sum() / totals.transitions
            total = total + terms[slot]
    return total, terms


def loss_names(params: Params, algorithm: Algorithm) -> list[str]:
    trained = [slot for slot, one in params.bonuses.items() if jax.tree.leaves(one)]
    return [*algorithm.terms, *trained]


def optimizer(config: AgentConfig) -> optax.GradientTransformation:
    """Adam for everything that is trained, with the learning rate of the first update."""
    return optax.adam(config.algorithm.learning_rate)


def clip_gradients(found: Params, config: AgentConfig) -> Params:
    """The gradients of a minibatch, of which those of the policy network are clipped where the config says so."""
    most = config.algorithm.max_grad_norm
    return found if most is None else replace(found, policy=losses.clip_by_norm(found.policy, most))


def learning_rate_factor(updates: Int[Array, ""], config: AgentConfig) -> Float[Array, ""] | None:
    """The learning rate of an update, in units of that of the first."""
    start, end = config.algorithm.learning_rate, config.algorithm.learning_rate_end
    return None if end is None else losses.linear_decay(1.0, end / start, updates / config.updates)


def prepare(
    state: TrainState,
    trajectory: Trajectory,
    last_values: Float[Array, "N 2"],
    coef: Float[Array, ""],
    algorithm: Algorithm,
    acting_stats: RunningMeanStd | None = None,
    drift: Float[Array, "T N"] | None = None,
) -> tuple[TrainState, UpdateBatch, UpdateInfo]:
    """Everything of an update but its minibatches.

    The order is that of RND: rewards with everything as it was before the rollout; then the statistics are updated;
    then training uses the new statistics. If the policy that learns is not the one that acted, the trajectory has its
    log-probabilities and values, and ``drift`` is what it adds to log beta(a|s).
    """
    config = algorithm.config
    transitions = bonus_transitions(trajectory)
    rewards, bonus_states = algorithm.rewards(
        state.params.bonuses, state.bonus_states, state.obs_stats, transitions, state.key
    )
    obs_stats = state.obs_stats
    if algorithm.uses_obs_stats:
        obs_stats = obs_stats.update(merge_axes(trajectory.next_obs))
    return_scale = state.return_scale.update(rewards, config.algorithm.gamma_int)
    reward_scale, scaled = state.reward_scale, trajectory
    if reward_scale is not None:
        reward_scale = reward_scale.update(trajectory.reward, trajectory.ended, config.algorithm.gamma_ext)
        scaled = replace(trajectory, reward=trajectory.reward / reward_scale.scale)
    bootstraps = config.algorithm.bootstrap_truncation
    limits = final_values(trajectory, state.params.policy, acting_stats, algorithm) if bootstraps else None
    targets = algorithm.targets(Experience(scaled, rewards / return_scale.scale, last_values, limits, drift))
    samples = Samples(
        observation=trajectory.observation,
        action=trajectory.action,
        action_bonus=trajectory.action_bonus,
        targets=targets.samples,
        mask=trajectory.mask,
        epsilon=trajectory.epsilon,
        **_sequences(trajectory),
    )
    key, order_key, subset_key = jax.random.split(state.key, 3)
    count = config.algorithm.epochs * config.algorithm.minibatches
    members = jnp.arange(config.steps_per_update if config.minibatch_of == "samples" else config.envs)
    order_keys = jax.random.split(order_key, config.algorithm.epochs)
    orders = jax.vmap(lambda key: jax.random.permutation(key, members))(order_keys).reshape(count, -1)
    subset_keys = jax.random.split(subset_key, count)
    if config.minibatch_of == "environments":
        # Devices that have all environments at some steps exchange nothing when environments are picked.
        samples, transitions = shard(shard(samples, axis=1)), shard(shard(transitions, axis=1))
    rate = learning_rate_factor(state.updates, config)
    batch = UpdateBatch(samples, transitions, obs_stats, coef, orders, subset_keys, acting_stats, rate)
    state = replace(state, obs_stats=obs_stats, return_scale=return_scale, reward_scale=reward_scale)
    state = replace(state, bonus_states=bonus_states, key=key)
    return state, batch, UpdateInfo(rewards, return_scale.scale, targets.noted, {})


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
    algorithm: Algorithm,
    part: Int[Array, ""] | int = 0,
    parts: int = 1,
) -> tuple[Params, Losses]:
    """Gradients and losses of a minibatch, or of one of its parts, which add up."""
    samples, transitions, totals = pick(batch, number, algorithm, part, parts)
    gradient: Any = jax.grad(loss, has_aux=True)
    key = jax.random.fold_in(batch.subset_keys[number], part)
    found: tuple[Params, Losses] = gradient(params, bonus_states, batch, samples, transitions, totals, algorithm, key)
    return found


def learn(state: TrainState, trajectory: Trajectory, algorithm: Algorithm) -> tuple[TrainState, UpdateInfo]:
    config = algorithm.config
    actor = make_actor(state, algorithm)
    last_values = values_after(state, actor.policy, algorithm)
    acting_stats = state.obs_stats if algorithm.spec.normalize_obs else None
    state, batch, info = prepare(state, trajectory, last_values, actor.coef, algorithm, acting_stats)
    adam = optimizer(config)

    def minibatch(carry: tuple[Params, optax.OptState], number: Array) -> tuple[tuple[Params, optax.OptState], Losses]:
        params, optimizer_state = carry
        found, losses = gradients(params, state.bonus_states, batch, number, algorithm)
        changes, optimizer_state = adam.update(clip_gradients(found, config), optimizer_state)
        return (optax.apply_updates(params, batch.decayed(changes)), optimizer_state), losses

    numbers = jnp.arange(len(batch.order))
    (params, optimizer_state), losses = jax.lax.scan(minibatch, (state.params, state.optimizer), numbers)
    return replace(state, params=params, optimizer=optimizer_state), replace(info, losses=losses)
