"""Training as pure functions: `init_state` makes a state, `train_step` one rollout and one update. ``vmap`` for seeds.

Axes: T steps, N environments, A choices of all action components, S enumerable states.
"""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from action_balance.algorithms import update
from action_balance.algorithms.base import Algorithm, Metrics
from action_balance.algorithms.metrics import update_metrics
from action_balance.algorithms.rollout import action_coef, empty_memory, rollout
from action_balance.algorithms.state import Params, TrainState, Trajectory, UpdateInfo
from action_balance.core.coefficient import adapt
from action_balance.core.keys import named_key
from action_balance.core.running_stats import ReturnScale, RewardScale, RunningMeanStd
from action_balance.core.sharding import each_environment, shard
from action_balance.core.visits import add_visits
from action_balance.envs.base import Environment
from action_balance.envs.mixed import empty_stats
from action_balance.exploration import warmup
from action_balance.exploration.episodes import Episodes, add_rewards, first_reward, summarize


def init_agent(algorithm: Algorithm, obs_stats: RunningMeanStd, key: PRNGKeyArray) -> TrainState:
    """A fresh agent without environments, such as those on the host need.

    Keys are derived from names: the first weights of the policy do not depend on which bonuses exist.
    """
    config, spec = algorithm.config, algorithm.spec
    made = {slot: bonus.init(named_key(key, slot), obs_stats) for slot, bonus in algorithm.bonuses.items()}
    policy = algorithm.network(named_key(key, "policy"))
    params = Params(policy, {slot: one[0] for slot, one in made.items()})
    return TrainState(
        params=params,
        bonus_states={slot: one[1] for slot, one in made.items()},
        optimizer=update.optimizer(config).init(params),
        obs_stats=obs_stats,
        return_scale=ReturnScale.empty(config.envs),
        env_state=None,
        observation=jnp.zeros(0),
        episode_return=jnp.zeros(0),
        visits=jnp.zeros((spec.states, algorithm.distribution.choices), jnp.int32),
        state_visits=jnp.zeros(spec.states, jnp.int32),
        first_reward=jnp.full((), -1, jnp.int32),
        key=named_key(key, "training"),
        updates=jnp.zeros((), jnp.int32),
        action_coef=jnp.asarray(config.exploration.action_coef_start, jnp.float32) if config.adapts else None,
        reward_scale=RewardScale.empty(config.envs) if config.algorithm.normalize_returns else None,
    )


def new_episodes(algorithm: Algorithm, state: TrainState) -> TrainState:
    """The agent when all environments begin new episodes, as environments on the host do when a run is resumed."""
    states = {slot: bonus.new_episodes(state.bonus_states[slot]) for slot, bonus in algorithm.bonuses.items()}
    scale = state.reward_scale
    begun = None if scale is None else replace(scale, filtered=jnp.zeros_like(scale.filtered))
    return replace(state, bonus_states=states, reward_scale=begun)


def init_state(environment: Environment, algorithm: Algorithm, key: PRNGKeyArray) -> TrainState:
    """A fresh agent with its environments on the device, and observation statistics of a random agent."""
    stats = warm_up(environment, algorithm, named_key(key, "warm-up"))
    return with_environments(init_agent(algorithm, stats, key), environment, algorithm, key)


def with_environments(
    state: TrainState, environment: Environment, algorithm: Algorithm, key: PRNGKeyArray
) -> TrainState:
    """An agent at the beginning of the first episodes."""
    envs = algorithm.config.envs
    environments, frame = each_environment(environment.reset)(jax.random.split(named_key(key, "reset"), envs))
    return replace(
        state,
        env_state=environments,
        observation=jax.vmap(algorithm.first_obs)(frame),
        episode_return=jnp.zeros(envs),
        memory=empty_memory(state.params.policy, envs),
    )


def warm_up(environment: Environment, algorithm: Algorithm, key: PRNGKeyArray) -> RunningMeanStd:
    config = algorithm.config
    stats, steps = empty_stats(algorithm.spec), warmup.warmup_steps(config)
    if not steps:
        return stats
    reset_key, key = jax.random.split(key)
    environments, _ = each_environment(environment.reset)(shard(jax.random.split(reset_key, config.envs)))

    def step(environments: Any, key: Array) -> tuple[Any, list[Array]]:
        action_key, step_key = jax.random.split(key)
        drawn = algorithm.distribution.uniform(action_key, config.envs)
        action = shard(jax.vmap(algorithm.executed)(drawn))
        step_keys = shard(jax.random.split(step_key, config.envs))
        environments, outcome = each_environment(environment.step)(environments, action, step_keys)
        return environments, [outcome.next_obs]

    return warmup.warm_up(stats, step, environments, jax.random.split(key, steps))


def train_step(environment: Environment, state: TrainState, algorithm: Algorithm) -> tuple[TrainState, Metrics]:
    """One rollout and one update: Algorithm 1."""
    config = algorithm.config
    coef = action_coef(config, state)
    state, trajectory = rollout(environment, state, algorithm)
    info = None
    if not config.uniform:
        state, info = update.learn(state, trajectory, algorithm)
    if algorithm.spec.states:
        # Every choice of every action component counts.
        taken = jax.vmap(jax.vmap(algorithm.distribution.one_hot))(trajectory.action).astype(jnp.int32)
        state = replace(
            state,
            visits=add_visits(state.visits, trajectory.index, taken),
            state_visits=add_visits(state.state_visits, trajectory.next_index),
        )
    state, episodes = track_episodes(state, trajectory)
    return conclude(state, trajectory, info, episodes, coef, algorithm)


def conclude(
    state: TrainState,
    trajectory: Trajectory,
    info: UpdateInfo | None,
    episodes: Episodes | None,
    coef: Float[Array, ""],
    algorithm: Algorithm,
) -> tuple[TrainState, Metrics]:
    """The end of an update: its metrics, and c for the next rollout, where c adapts."""
    before = algorithm.config.warmup_rollouts + state.updates
    reward_step = first_reward(state.first_reward, trajectory.reward, before)
    state = replace(state, first_reward=reward_step, updates=state.updates + 1)
    metrics = update_metrics(state, trajectory, info, episodes, coef, algorithm)
    if state.action_coef is None:
        return state, metrics
    exploration, target = algorithm.config.exploration, algorithm.config.target_kl
    limits = exploration.action_coef_min, exploration.action_coef_max
    adapted = adapt(state.action_coef, metrics[algorithm.distance_name], target, exploration.action_coef_rate, *limits)
    return replace(state, action_coef=adapted), metrics


def track_episodes(state: TrainState, trajectory: Trajectory) -> tuple[TrainState, Episodes]:
    """Add up the returns of the episodes under way, and summarise those that ended."""
    under_way, finished = jax.lax.scan(
        lambda returns, step: add_rewards(returns, *step), state.episode_return, (trajectory.reward, trajectory.ended)
    )
    return replace(state, episode_return=under_way), summarize(finished, trajectory.ended)
