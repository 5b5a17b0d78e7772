"""Learning from one rollout: bonuses, advantages of both streams, epochs of PPO and of both predictors (Eq. 6).

Axes: T steps, N environments, A actions, B samples of a minibatch.
"""

from dataclasses import fields, replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from action_balance import distributions as components
from action_balance.agent.rollout import act, action_coef, behaviour_logits, bonus_view, policy_view
from action_balance.agent.state import Params, TargetParams, TrainState, Trajectory
from action_balance.bonuses.distillation import Distillation
from action_balance.config.agent import Config
from action_balance.core import ppo, returns
from action_balance.core.running_stats import RunningMeanStd
from action_balance.envs.frame_stack import Frames


class Samples(eqx.Module):
    """What the policy's loss needs of each sample; axes (T, N) before, (B,) inside a minibatch."""

    observation: Any  # (..., *shape), or `Frames` of stacks
    action: jax.Array
    log_prob: jax.Array
    action_bonus: jax.Array  # (..., A)
    advantage: jax.Array
    value_targets: jax.Array  # (..., 2)


class Pairs(eqx.Module):
    """What the predictors learn from; axes (T, N) before, (P,) inside a minibatch. Of stacks, the newest frames."""

    seen: jax.Array  # (..., *shape), s_t
    action: jax.Array
    next_obs: jax.Array  # (..., *shape), s_{t+1}


class Losses(eqx.Module):
    """The terms of the overall loss of a minibatch, and how far its policy has moved."""

    policy: jax.Array
    value_int: jax.Array
    value_ext: jax.Array
    entropy: jax.Array  # of beta
    next_state: jax.Array  # mean error of the predictor f_hat
    action: jax.Array  # mean error of the predictor g_hat
    clip_fraction: jax.Array
    furthest_ratio: jax.Array  # largest |ratio - 1|


class Whole(NamedTuple):
    """What the means of a minibatch are over."""

    samples: int
    pairs: int


class UpdateBatch(eqx.Module):
    """What the minibatches of an update learn from; nothing in it changes with them."""

    samples: Samples  # (T, N)
    pairs: Pairs  # (T, N)
    observations: RunningMeanStd  # with this rollout
    coef: jax.Array  # c of Eq. 5, as it was when acting
    environments: jax.Array  # (epochs * minibatches, N / minibatches) int32
    share_keys: jax.Array  # (epochs * minibatches,)
    acting: RunningMeanStd | None = None  # those that acted, where the policy sees whitened observations


class UpdateInfo(eqx.Module):
    """What an update tells besides the new state."""

    bonus: jax.Array  # (T, N), the raw next-state bonus
    scale: jax.Array  # (), what it was divided by
    value_targets: jax.Array  # (T, N, 2)
    losses: Losses  # each (epochs * minibatches,)
    drift: jax.Array  # (), largest |ratio - 1| between the policy that learns and the one that acted


def next_state_bonus(state: TrainState, trajectory: Trajectory, index: jax.Array, config: Config) -> jax.Array:
    """Bonus of every s_{t+1}, (T, N), with statistics, predictor and counts as they were before the rollout.

    Args:
        index: numbers of the states that were reached, (T, N).
    """
    if config.traits.next_state == "none":
        return jnp.zeros_like(trajectory.reward)
    if config.traits.next_state == "count":
        return 1 / jnp.sqrt(1.0 + state.state_visits[index])
    module = Distillation(state.target_params.next_state, state.params.next_state)
    return jax.vmap(jax.vmap(lambda seen: module.error(bonus_view(seen, state.observations, config))))(
        trajectory.next_obs
    )


def advantages(
    trajectory: Trajectory, last_values: jax.Array, bonus: jax.Array, config: Config
) -> tuple[jax.Array, jax.Array]:
    """Advantages of the intrinsic and of the extrinsic stream, (T, N) each.

    The reward's stream ends with every episode, the time limit included. The bonus's goes on into the next one, or
    ends where the config says.

    Args:
        last_values: both values of what is seen after the last step, (N, 2).
        bonus: the scaled next-state bonus, (T, N).
    """
    settings = config.ppo
    ended = trajectory.terminated | trajectory.truncated
    cuts = {"never": jnp.zeros_like(ended), "terminated": trajectory.terminated, "episode": ended}
    next_values = jnp.concatenate([trajectory.values[1:], last_values[None]])

    def stream(
        rewards: jax.Array, values: jax.Array, next_values: jax.Array, cut: jax.Array, gamma: float
    ) -> jax.Array:
        discounts = gamma * (1.0 - cut)
        deltas = returns.td_errors(rewards, values, next_values, discounts)
        return returns.advantages(deltas, discounts * settings.gae_lambda)

    each_environment = jax.vmap(stream, in_axes=(1, 1, 1, 1, None), out_axes=1)
    values_int, values_ext = trajectory.values[..., 0], trajectory.values[..., 1]
    cut = cuts[settings.intrinsic_ends]
    intrinsic = each_environment(bonus, values_int, next_values[..., 0], cut, settings.gamma_int)
    extrinsic = each_environment(trajectory.reward, values_ext, next_values[..., 1], ended, settings.gamma_ext)
    return intrinsic, extrinsic


def loss(
    params: Params,
    targets: TargetParams,
    lesson: UpdateBatch,
    batch: Samples,
    pairs: Pairs,
    whole: Whole,
    config: Config,
) -> tuple[jax.Array, Losses]:
    """The overall loss of a minibatch (Eq. 6): PPO of the behaviour policy, plus both prediction errors.

    Args:
        batch: a minibatch, or a part of one, whose losses add up; axes (B,).
        pairs: those of its samples that the predictors learn from, (P,).
        whole: what the means of the minibatch are over.
    """

    parts = params.policy.parts

    def policy_terms(sample: Samples) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        logits, values = params.policy(policy_view(sample.observation, params.policy, lesson.acting, config))
        behaviour = behaviour_logits(logits, sample.action_bonus, lesson.coef, config, parts)
        ratio = jnp.exp(components.log_prob(behaviour, sample.action, parts) - sample.log_prob)
        surrogate = ppo.clipped_surrogate(ratio, sample.advantage, config.ppo.clip)
        return ratio, surrogate, ppo.value_loss(values, sample.value_targets), components.entropy(behaviour, parts)

    def mean(terms: jax.Array) -> jax.Array:
        return terms.sum() / whole.samples

    ratio, surrogate, value_losses, entropy = jax.vmap(policy_terms)(batch)
    terms = Losses(
        policy=mean(surrogate),
        value_int=mean(value_losses[:, 0]),
        value_ext=mean(value_losses[:, 1]),
        entropy=mean(entropy),
        next_state=next_state_errors(params, targets, lesson.observations, pairs, config).sum() / whole.pairs,
        action=action_errors(params, targets, lesson.observations, pairs, config).sum() / whole.pairs,
        clip_fraction=mean((jnp.abs(ratio - 1) > config.ppo.clip).astype(jnp.float32)),
        furthest_ratio=jnp.abs(ratio - 1).max(),
    )
    # A number, not a branch: every method has the same graph here, and so the same rounding.
    learns_int = float(config.intrinsic_coef > 0)
    values = terms.value_ext + learns_int * terms.value_int
    policy_loss = terms.policy + values - config.ppo.entropy_coef * terms.entropy
    return policy_loss + terms.next_state + terms.action, terms


def next_state_errors(
    params: Params, targets: TargetParams, observations: RunningMeanStd, pairs: Pairs, config: Config
) -> jax.Array:
    """Errors of f_hat for the states that were reached (Eq. 1), (P,)."""
    if config.traits.next_state != "rnd":
        return jnp.zeros(len(pairs.action))
    module = Distillation(targets.next_state, params.next_state)
    return jax.vmap(lambda seen: module.error(bonus_view(seen, observations, config)))(pairs.next_obs)


def action_errors(
    params: Params, targets: TargetParams, observations: RunningMeanStd, pairs: Pairs, config: Config
) -> jax.Array:
    """Errors of g_hat for the pairs that were taken (Eq. 2), or their mean over all actions, (P,).

    Of an action with components, their sum over the components: each has a pair of its own.
    """
    if not config.traits.action:
        return jnp.zeros(len(pairs.action))
    module = Distillation(targets.action, params.action)
    parts = params.policy.parts

    def error(seen: jax.Array, action: jax.Array) -> jax.Array:
        seen = bonus_view(seen, observations, config)
        if parts is None:
            return module.error(seen, action) if config.bonus.learns_from == "taken" else module.all_errors(seen).mean()
        every = module.all_errors(seen)
        if config.bonus.learns_from == "taken":
            return every[components.places(action, parts)].sum()
        return jnp.stack([one.mean() for one in components.split(every, parts)]).sum()

    return jax.vmap(error)(pairs.seen, pairs.action)


def optimizer(config: Config) -> optax.GradientTransformation:
    """Adam with a constant rate for all that is learned; no clipping of gradients."""
    return optax.adam(config.ppo.learning_rate)


def prepare(
    state: TrainState,
    trajectory: Trajectory,
    index: jax.Array,
    last_values: jax.Array,
    coef: jax.Array,
    config: Config,
    acting: RunningMeanStd | None = None,
    drift: jax.Array | None = None,
) -> tuple[TrainState, UpdateBatch, UpdateInfo]:
    """All of an update but its minibatches: the state with new statistics, and what to learn.

    In this order (RND): bonuses with everything as it was before the rollout; then the statistics absorb it; then
    training with the new statistics.

    Args:
        index: numbers of the states that were reached, (T, N); whatever, where states cannot be counted.
        last_values: both values of what is seen after the last step, (N, 2).
        coef: c of Eq. 5, as it was when acting.
        acting: the statistics that acted, where the policy sees whitened observations.
        drift: where the policy that learns is not the one that acted, what it adds to log beta(a|s), (T, N). The
            trajectory then has its log-probabilities and its values: steps are clipped around the policy that learns
            (Hilton et al., 2022, https://arxiv.org/abs/2110.00641), and weigh as much as it would take them.
    """
    bonus = next_state_bonus(state, trajectory, index, config)
    observations = state.observations.update(trajectory.next_obs.reshape(-1, *trajectory.next_obs.shape[2:]))
    return_scale = state.returns.update(bonus, config.ppo.gamma_int)
    intrinsic, extrinsic = advantages(trajectory, last_values, bonus / return_scale.scale, config)
    value_targets = trajectory.values + jnp.stack([intrinsic, extrinsic], axis=-1)
    advantage = config.intrinsic_coef * intrinsic + config.ppo.extrinsic_coef * extrinsic
    weight = jnp.ones(()) if drift is None else jnp.exp(drift)
    samples = Samples(
        observation=trajectory.observation,
        action=trajectory.action,
        log_prob=trajectory.log_prob,
        action_bonus=trajectory.action_bonus,
        advantage=advantage if drift is None else weight * advantage,
        value_targets=value_targets,
    )
    key, order_key, share_key = jax.random.split(state.key, 3)
    count = config.ppo.epochs * config.ppo.minibatches
    environments = jnp.arange(config.envs)
    order_keys = jax.random.split(order_key, config.ppo.epochs)
    orders = jax.vmap(lambda key: jax.random.permutation(key, environments))(order_keys).reshape(count, -1)
    seen = trajectory.observation
    seen = seen.newest() if isinstance(seen, Frames) else seen
    pairs = Pairs(seen, trajectory.action, trajectory.next_obs)
    lesson = UpdateBatch(samples, pairs, observations, coef, orders, jax.random.split(share_key, count), acting)
    nothing = Losses(*[jnp.zeros(count) for _ in fields(Losses)])
    state = replace(state, observations=observations, returns=return_scale, key=key)
    return state, lesson, UpdateInfo(bonus, return_scale.scale, value_targets, nothing, jnp.abs(weight - 1).max())


def gradients(
    params: Params,
    targets: TargetParams,
    lesson: UpdateBatch,
    number: jax.Array,
    config: Config,
    part: jax.Array | int = 0,
    parts: int = 1,
) -> tuple[Params, Losses]:
    """Gradients of a minibatch and its losses, or one of so many parts of both, which add up.

    Args:
        number: of the minibatch.
        part: which of its parts, of whole environments.
        parts: how many there are.
    """
    environments, steps = lesson.environments[number], len(lesson.samples.action)
    chosen = chosen_steps(lesson.share_keys[number], steps, len(environments), config)
    whole = Whole(steps * len(environments), len(chosen) * len(environments))
    if parts > 1:
        each = len(environments) // parts
        environments = jax.lax.dynamic_slice_in_dim(environments, part * each, each)
        chosen = jax.lax.dynamic_slice_in_dim(chosen, part * each, each, axis=1) if chosen.ndim > 1 else chosen
    batch = _flat(jax.tree.map(lambda leaf: leaf[:, environments], lesson.samples))
    rows = chosen if chosen.ndim > 1 else slice(None)
    pairs = jax.tree.map(lambda leaf: _merged(leaf[rows, environments]), lesson.pairs)
    gradient: Any = jax.grad(loss, has_aux=True)
    found: tuple[Params, Losses] = gradient(params, targets, lesson, batch, pairs, whole, config)
    return found


def chosen_steps(key: jax.Array, steps: int, envs: int, config: Config) -> jax.Array:
    """Steps that the predictors learn from: as many of each environment, at random, (P, n); or all, (T,).

    RND leaves out every sample with the same probability instead; here as many are left out each time, so that nothing
    has to be computed for them.
    """
    count = max(1, round(config.bonus.share * steps))
    if count == steps:
        return jnp.arange(steps)
    return jax.random.uniform(key, (steps, envs)).argsort(axis=0)[:count]


def learn(state: TrainState, trajectory: Trajectory, index: jax.Array, config: Config) -> tuple[TrainState, UpdateInfo]:
    """One update.

    Args:
        index: numbers of the states that were reached, (T, N); whatever, where states cannot be counted.
    """
    last_values = jax.vmap(lambda seen: act(state, seen, config)[1])(state.observation)
    coef = action_coef(config, state.updates)
    state, lesson, learning = prepare(state, trajectory, index, last_values, coef, config)
    adam = optimizer(config)

    def minibatch(
        carry: tuple[Params, optax.OptState], number: jax.Array
    ) -> tuple[tuple[Params, optax.OptState], Losses]:
        params, optimizer_state = carry
        found, losses = gradients(params, state.target_params, lesson, number, config)
        changes, optimizer_state = adam.update(found, optimizer_state)
        return (optax.apply_updates(params, changes), optimizer_state), losses

    numbers = jnp.arange(len(lesson.share_keys))
    (params, optimizer_state), losses = jax.lax.scan(minibatch, (state.params, state.optimizer), numbers)
    return replace(state, params=params, optimizer=optimizer_state), replace(learning, losses=losses)


def _flat(samples: Samples) -> Samples:
    """Samples of a minibatch, (T, n), as (B,); frames become stacks."""
    seen = samples.observation
    samples = replace(samples, observation=seen.stacks() if isinstance(seen, Frames) else seen)
    flat: Samples = jax.tree.map(_merged, samples)
    return flat


def _merged(leaf: jax.Array) -> jax.Array:
    """With time and environments as one axis."""
    return leaf.reshape(-1, *leaf.shape[2:])
