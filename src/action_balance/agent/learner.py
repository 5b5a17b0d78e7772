"""Training as pure functions: `begin` makes a state, `train_step` one rollout and one update. ``vmap`` for seeds.

Axes: T steps, N environments, A actions, S states that can be counted.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from action_balance import distributions as components
from action_balance.agent import update
from action_balance.agent.networks import networks
from action_balance.agent.rollout import action_coef, behaviour_logits, rollout
from action_balance.agent.state import TrainState, Trajectory
from action_balance.agent.update import UpdateInfo
from action_balance.config.agent import Config
from action_balance.core.balance import normalize
from action_balance.core.running_stats import ReturnScale, RunningMeanStd
from action_balance.envs.base import Environment


class Metrics(eqx.Module):
    """What one update tells; numbers but for the frequencies. Means are over the samples of the rollout."""

    episodes: jax.Array  # that ended
    episode_return: jax.Array  # mean of theirs; nan without any
    best_return: jax.Array  # the highest of theirs
    first_reward: jax.Array  # environment steps until the first positive reward; -1 before
    states: jax.Array  # distinct states reached so far; 0 where they cannot be counted
    action_frequency: jax.Array  # (A,), share of each action; of each choice within its component, where there are some
    entropy_pi: jax.Array
    entropy_beta: jax.Array
    entropy_bonus: jax.Array  # of the action bonus vector, divided by its sum
    entropy_added: jax.Array  # of softmax(Normalize(r)): what the bonus makes of a policy that is uniform
    kl_beta_pi: jax.Array
    bonus_mean: jax.Array  # raw next-state bonus
    bonus_scale: jax.Array  # what it is divided by
    action_bonus_mean: jax.Array  # raw action bonus
    loss_policy: jax.Array
    loss_value_int: jax.Array
    loss_value_ext: jax.Array
    loss_next_state: jax.Array
    loss_action: jax.Array
    clip_fraction: jax.Array
    first_ratio: jax.Array  # largest |ratio - 1| before the first step: 0 but for rounding, without lag
    explained_int: jax.Array  # variance of the targets that the intrinsic value explains
    explained_ext: jax.Array
    parameters_finite: jax.Array  # bool


def begin(environment: Environment, config: Config, key: jax.Array) -> TrainState:
    """Fresh networks, and statistics of observations from a random agent."""
    *network_keys, reset_key, warm_up_key, key = jax.random.split(key, 6)
    params, targets = networks(environment.spec.shape, environment.spec.nvec[0], config, network_keys)
    environments, observation = jax.vmap(environment.reset)(jax.random.split(reset_key, config.envs))
    return TrainState(
        params=params,
        target_params=targets,
        optimizer=update.optimizer(config).init(params),
        observations=warm_up(environment, config, warm_up_key),
        returns=ReturnScale.empty(config.envs),
        environment=environments,
        observation=observation,
        episode_return=jnp.zeros(config.envs),
        visits=jnp.zeros((environment.spec.states, environment.spec.nvec[0]), jnp.int32),
        state_visits=jnp.zeros(environment.spec.states, jnp.int32),
        first_reward=jnp.full((), -1, jnp.int32),
        key=key,
        updates=jnp.zeros((), jnp.int32),
    )


def begin_on_host(
    observation_shape: tuple[int, ...],
    actions: int | tuple[int, ...],
    observations: RunningMeanStd,
    config: Config,
    key: jax.Array,
    normalizes_obs: bool = False,
) -> TrainState:
    """Fresh networks for environments on the host, with statistics of observations that are already there."""
    *network_keys, key = jax.random.split(key, 4)
    params, targets = networks(observation_shape, actions, config, network_keys, normalizes_obs)
    return TrainState(
        params=params,
        target_params=targets,
        optimizer=update.optimizer(config).init(params),
        observations=observations,
        returns=ReturnScale.empty(config.envs),
        environment=None,
        observation=jnp.zeros(0),
        episode_return=jnp.zeros(0),
        visits=jnp.zeros((0, components.choices(actions)[0]), jnp.int32),
        state_visits=jnp.zeros(0, jnp.int32),
        first_reward=jnp.full((), -1, jnp.int32),
        key=key,
        updates=jnp.zeros((), jnp.int32),
    )


def warm_up(environment: Environment, config: Config, key: jax.Array) -> RunningMeanStd:
    """Statistics of what a random agent reaches."""
    empty = RunningMeanStd.empty(environment.spec.shape)
    if config.traits.next_state != "rnd" and not config.traits.action:
        return empty  # nobody looks at them
    reset_key, key = jax.random.split(key)
    environments, _ = jax.vmap(environment.reset)(jax.random.split(reset_key, config.envs))

    def step(carry: tuple[Any, RunningMeanStd], key: jax.Array) -> tuple[tuple[Any, RunningMeanStd], None]:
        environments, moments = carry
        action_key, step_key = jax.random.split(key)
        action = jax.random.randint(action_key, (config.envs,), 0, environment.spec.nvec[0])
        step_keys = jax.random.split(step_key, config.envs)
        environments, outcome = jax.vmap(environment.step)(environments, action, step_keys)
        return (environments, moments.update(outcome.next_obs)), None

    steps = config.bonus.warmup_rollouts * config.ppo.rollout_steps
    return jax.lax.scan(step, (environments, empty), jax.random.split(key, steps))[0][1]


def train_step(environment: Environment, state: TrainState, config: Config) -> tuple[TrainState, Metrics]:
    """One rollout and one update."""
    before = state
    state, trajectory = rollout(environment, state, config)
    if environment.spec.states:
        index = jax.vmap(jax.vmap(environment.index))(trajectory.next_obs)
        acted_from = jax.vmap(jax.vmap(environment.index))(trajectory.observation)
    else:
        index = acted_from = jnp.zeros_like(trajectory.action)
    learning = None
    if not config.traits.uniform:
        state, learning = update.learn(state, trajectory, index, config)
    if environment.spec.states:
        state = replace(
            state,
            visits=state.visits.at[acted_from, trajectory.action].add(1),
            state_visits=state.state_visits.at[index].add(1),
        )
    state, episodes = _follow_episodes(state, trajectory)
    state = replace(state, first_reward=_first_reward(state, trajectory, config), updates=state.updates + 1)
    coef = action_coef(config, before.updates)
    return state, metrics(state, trajectory, learning, episodes, coef, config)


class Episodes(NamedTuple):
    """Those that ended in a rollout."""

    number: jax.Array
    mean_return: jax.Array  # nan without any
    best_return: jax.Array


def _follow_episodes(state: TrainState, trajectory: Trajectory) -> tuple[TrainState, Episodes]:
    """Returns of the episodes under way, and what the others came to."""

    def step(total: jax.Array, now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        reward, ended = now
        total = total + reward
        return jnp.where(ended, 0.0, total), jnp.where(ended, total, 0.0)

    ended = trajectory.terminated | trajectory.truncated
    under_way, finished = jax.lax.scan(step, state.episode_return, (trajectory.reward, ended))
    episodes = ended.sum()
    returned = jnp.where(episodes > 0, finished.sum() / jnp.maximum(episodes, 1), jnp.nan)
    best = jnp.where(episodes > 0, jnp.where(ended, finished, -jnp.inf).max(), jnp.nan)
    return replace(state, episode_return=under_way), Episodes(episodes, returned, best)


def _first_reward(state: TrainState, trajectory: Trajectory, config: Config) -> jax.Array:
    """Environment steps, all environments counted, until a positive reward was first seen."""
    positive = (trajectory.reward > 0).any(axis=1)
    when = (state.updates * config.ppo.rollout_steps + positive.argmax() + 1) * config.envs
    return jnp.where((state.first_reward < 0) & positive.any(), when, state.first_reward)


def _explained(targets: jax.Array, values: jax.Array) -> jax.Array:
    spread = targets.var()
    return jnp.where(spread > 0, 1 - (targets - values).var() / jnp.where(spread > 0, spread, 1), jnp.nan)


def _each(function: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """A function of one step, for those of a rollout, (T, N)."""
    return jax.vmap(jax.vmap(function))


def _shares(bonus: jax.Array) -> jax.Array:
    total = bonus.sum()
    return bonus / jnp.where(total > 0, total, 1)


def metrics(
    state: TrainState,
    trajectory: Trajectory,
    learning: UpdateInfo | None,
    episodes: Episodes,
    coef: jax.Array,
    config: Config,
) -> Metrics:
    """What an update tells.

    Args:
        state: after it.
        trajectory: what it learned from.
        learning: nothing where nothing is learned.
        episodes: that ended in the trajectory.
        coef: c of Eq. 5, as it was when acting.
    """
    parts = state.params.policy.parts
    bonus = trajectory.action_bonus
    behaviour = _each(lambda x, y: behaviour_logits(x, y, coef, config, parts))(trajectory.logits, bonus)
    entropy = _each(lambda logits: components.entropy(logits, parts))
    shares = _each(lambda r: components.normalized(r, _shares, parts))(bonus)
    added = _each(lambda r: components.normalized(r, lambda one: normalize(one, config.bonus.normalize), parts))(bonus)
    nothing = jnp.zeros(())
    losses = None if learning is None else learning.losses
    actions = trajectory.logits.shape[-1]
    leaves = jax.tree.leaves(state.params)
    return Metrics(
        episodes=episodes.number,
        episode_return=episodes.mean_return,
        best_return=episodes.best_return,
        first_reward=state.first_reward,
        states=(state.state_visits > 0).sum(),
        action_frequency=_each(lambda action: components.frequency(action, actions, parts))(trajectory.action).mean(
            axis=(0, 1)
        ),
        entropy_pi=entropy(trajectory.logits).mean(),
        entropy_beta=entropy(behaviour).mean(),
        entropy_bonus=jax.scipy.special.entr(shares).sum(axis=-1).mean(),
        entropy_added=entropy(added).mean(),
        kl_beta_pi=_each(lambda x, y: components.kl_divergence(x, y, parts))(behaviour, trajectory.logits).mean(),
        bonus_mean=nothing if learning is None else learning.bonus.mean(),
        bonus_scale=nothing if learning is None else learning.scale,
        action_bonus_mean=trajectory.action_bonus.mean(),
        loss_policy=nothing if losses is None else losses.policy.mean(),
        loss_value_int=nothing if losses is None else losses.value_int.mean(),
        loss_value_ext=nothing if losses is None else losses.value_ext.mean(),
        loss_next_state=nothing if losses is None else losses.next_state.mean(),
        loss_action=nothing if losses is None else losses.action.mean(),
        clip_fraction=nothing if losses is None else losses.clip_fraction.mean(),
        first_ratio=nothing if learning is None else jnp.maximum(learning.losses.furthest_ratio[0], learning.drift),
        explained_int=nothing
        if learning is None
        else _explained(learning.value_targets[..., 0], trajectory.values[..., 0]),
        explained_ext=nothing
        if learning is None
        else _explained(learning.value_targets[..., 1], trajectory.values[..., 1]),
        parameters_finite=jnp.stack([jnp.isfinite(leaf).all() for leaf in leaves]).all(),
    )
