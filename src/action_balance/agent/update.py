"""Learning from one rollout: bonuses, advantages of both streams, epochs of PPO and of both predictors (Eq. 6).

Axes: T steps, N environments, A actions, B samples of a minibatch.
"""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from action_balance.agent.config import Config
from action_balance.agent.rollout import act, action_coef, behaviour_logits
from action_balance.agent.state import Learned, Targets, TrainState, Trajectory
from action_balance.core import ppo, returns
from action_balance.core.distillation import Distillation
from action_balance.core.moments import Moments


class Samples(eqx.Module):
    """What the loss needs of each sample; axes (T, N) before, (B,) inside a minibatch."""

    observation: jax.Array  # (..., *shape)
    reached: jax.Array  # (..., *shape)
    action: jax.Array
    log_prob: jax.Array
    action_bonus: jax.Array  # (..., A)
    advantage: jax.Array
    value_targets: jax.Array  # (..., 2)


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


class Learning(eqx.Module):
    """What an update tells besides the new state."""

    bonus: jax.Array  # (T, N), the raw next-state bonus
    scale: jax.Array  # (), what it was divided by
    value_targets: jax.Array  # (T, N, 2)
    losses: Losses  # each (epochs * minibatches,)


def next_state_bonus(state: TrainState, trajectory: Trajectory, index: jax.Array, config: Config) -> jax.Array:
    """Bonus of every s_{t+1}, (T, N), with statistics, predictor and counts as they were before the rollout.

    Args:
        index: numbers of the states that were reached, (T, N).
    """
    if config.traits.next_state == "none":
        return jnp.zeros_like(trajectory.reward)
    if config.traits.next_state == "count":
        return 1 / jnp.sqrt(1.0 + state.reached[index])
    module = Distillation(state.targets.next_state, state.learned.next_state)
    whiten = state.observations.whiten
    return jax.vmap(jax.vmap(lambda seen: module.error(whiten(seen, config.bonus.observation_clip))))(
        trajectory.reached
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
    learned: Learned,
    targets: Targets,
    observations: Moments,
    samples: Samples,
    share: jax.Array,
    coef: jax.Array,
    config: Config,
) -> tuple[jax.Array, Losses]:
    """The overall loss of a minibatch (Eq. 6): PPO of the behaviour policy, plus both prediction errors.

    Args:
        samples: axes (B,).
        share: which samples the predictors learn from, (B,) of 0 and 1.
        coef: c of Eq. 5, as it was when acting.
    """

    def policy_terms(sample: Samples) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        logits, values = learned.policy(sample.observation)
        behaviour = behaviour_logits(logits, sample.action_bonus, coef, config)
        ratio = jnp.exp(ppo.log_prob(behaviour, sample.action) - sample.log_prob)
        surrogate = ppo.clipped_surrogate(ratio, sample.advantage, config.ppo.clip)
        return ratio, surrogate, ppo.value_loss(values, sample.value_targets), ppo.entropy(behaviour)

    def mean_of_share(errors: jax.Array) -> jax.Array:
        return (errors * share).sum() / jnp.maximum(share.sum(), 1)

    ratio, surrogate, value_losses, entropy = jax.vmap(policy_terms)(samples)
    terms = Losses(
        policy=surrogate.mean(),
        value_int=value_losses[:, 0].mean(),
        value_ext=value_losses[:, 1].mean(),
        entropy=entropy.mean(),
        next_state=mean_of_share(next_state_errors(learned, targets, observations, samples, config)),
        action=mean_of_share(action_errors(learned, targets, observations, samples, config)),
        clip_fraction=(jnp.abs(ratio - 1) > config.ppo.clip).mean(),
        furthest_ratio=jnp.abs(ratio - 1).max(),
    )
    # A number, not a branch: every method has the same graph here, and so the same rounding.
    learns_int = float(config.intrinsic_coef > 0)
    values = terms.value_ext + learns_int * terms.value_int
    policy_loss = terms.policy + values - config.ppo.entropy_coef * terms.entropy
    return policy_loss + terms.next_state + terms.action, terms


def next_state_errors(
    learned: Learned, targets: Targets, observations: Moments, samples: Samples, config: Config
) -> jax.Array:
    """Errors of f_hat for the states that were reached (Eq. 1), (B,)."""
    if config.traits.next_state != "rnd":
        return jnp.zeros_like(samples.advantage)
    module = Distillation(targets.next_state, learned.next_state)
    return jax.vmap(lambda seen: module.error(observations.whiten(seen, config.bonus.observation_clip)))(
        samples.reached
    )


def action_errors(
    learned: Learned, targets: Targets, observations: Moments, samples: Samples, config: Config
) -> jax.Array:
    """Errors of g_hat for the pairs that were taken (Eq. 2), or their mean over all actions, (B,)."""
    if not config.traits.action:
        return jnp.zeros_like(samples.advantage)
    module = Distillation(targets.action, learned.action)

    def error(seen: jax.Array, action: jax.Array) -> jax.Array:
        seen = observations.whiten(seen, config.bonus.observation_clip)
        return module.error(seen, action) if config.bonus.learns_from == "taken" else module.all_errors(seen).mean()

    return jax.vmap(error)(samples.observation, samples.action)


def optimizer(config: Config) -> optax.GradientTransformation:
    """Adam with a constant rate for all that is learned; no clipping of gradients."""
    return optax.adam(config.ppo.learning_rate)


def learn(state: TrainState, trajectory: Trajectory, index: jax.Array, config: Config) -> tuple[TrainState, Learning]:
    """One update.

    In this order (RND): bonuses with everything as it was before the rollout; then the statistics absorb it; then
    training with the new statistics.

    Args:
        index: numbers of the states that were reached, (T, N); whatever, where states cannot be counted.
    """
    bonus = next_state_bonus(state, trajectory, index, config)
    observations = state.observations.absorb(trajectory.reached.reshape(-1, *trajectory.reached.shape[2:]))
    return_scale = state.returns.absorb(bonus, config.ppo.gamma_int)
    last_values = jax.vmap(lambda seen: act(state, seen, config)[1])(state.observation)
    intrinsic, extrinsic = advantages(trajectory, last_values, bonus / return_scale.scale, config)
    value_targets = trajectory.values + jnp.stack([intrinsic, extrinsic], axis=-1)
    samples = Samples(
        observation=trajectory.observation,
        reached=trajectory.reached,
        action=trajectory.action,
        log_prob=trajectory.log_prob,
        action_bonus=trajectory.action_bonus,
        advantage=config.intrinsic_coef * intrinsic + config.ppo.extrinsic_coef * extrinsic,
        value_targets=value_targets,
    )
    key, order_key, share_key = jax.random.split(state.key, 3)
    coef = action_coef(config, state.updates)
    adam = optimizer(config)
    gradient: Any = jax.grad(loss, has_aux=True)

    def minibatch(
        carry: tuple[Learned, optax.OptState], chosen: tuple[jax.Array, jax.Array]
    ) -> tuple[tuple[Learned, optax.OptState], Losses]:
        learned, optimizer_state = carry
        environments, key = chosen
        batch = jax.tree.map(lambda x: x[:, environments].reshape(-1, *x.shape[2:]), samples)
        share = (jax.random.uniform(key, batch.action.shape) < config.bonus.share).astype(jnp.float32)
        gradients, terms = gradient(learned, state.targets, observations, batch, share, coef, config)
        changes, optimizer_state = adam.update(gradients, optimizer_state)
        return (optax.apply_updates(learned, changes), optimizer_state), terms

    count = config.ppo.epochs * config.ppo.minibatches
    environments = jnp.arange(config.envs)
    order_keys = jax.random.split(order_key, config.ppo.epochs)
    orders = jax.vmap(lambda key: jax.random.permutation(key, environments))(order_keys).reshape(count, -1)
    begin = (state.learned, state.optimizer)
    (learned, optimizer_state), losses = jax.lax.scan(minibatch, begin, (orders, jax.random.split(share_key, count)))
    state = replace(
        state,
        learned=learned,
        optimizer=optimizer_state,
        observations=observations,
        returns=return_scale,
        key=key,
    )
    return state, Learning(bonus, return_scale.scale, value_targets, losses)
