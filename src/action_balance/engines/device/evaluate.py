"""Evaluation on the device: the episodes of an agent in one action mode are one compiled program.

Axes: K agents, E episodes, T steps, S enumerable states, P cells of a policy's memory with U units each.
"""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from action_balance.algorithms.base import Algorithm, make_algorithm
from action_balance.algorithms.rollout import empty_memory, make_actor
from action_balance.algorithms.state import Actor, TrainedAgent, TrainState
from action_balance.config.train import TrainConfig
from action_balance.core.stacked import take
from action_balance.engines.evaluate import (
    ACTION_MODES,
    ActionMode,
    Evaluation,
    OnEpisodes,
    Trace,
    decide,
    evaluate_agents,
    mode_key,
)
from action_balance.envs.base import Environment, Step
from action_balance.envs.replay import EpisodeRecord

#: Numbers that the episodes of one agent may occupy together: 400 MB.
ROOM = 100_000_000


def most_episodes(config: TrainConfig) -> int:
    """The most episodes of an agent that fit into memory; see `factory.most_episodes`."""
    environment = config.environment(jax.random.key(config.seed))
    state, _ = jax.eval_shape(environment.reset, jax.random.key(0))
    units = 2 * config.agent.recurrent_units  # of policy and values
    each = 4 * config.env.spec.size + units + 2 * sum(leaf.size for leaf in jax.tree.leaves(state))
    # Of each step: the reward and the random key. Everything else is kept of the first episode only.
    return max(1, ROOM // (3 * environment.episode_steps + each))


def episode_keys(
    key: PRNGKeyArray, number: Int[Array, ""] | int, steps: int
) -> tuple[PRNGKeyArray, Shaped[PRNGKeyArray, " T"]]:
    """Random keys of one episode, which do not depend on how many episodes follow."""
    reset_key, steps_key = jax.random.split(jax.random.fold_in(key, number))
    return reset_key, jax.random.split(steps_key, steps)


class _Progress(eqx.Module):
    """Episodes under way, and what is known of them."""

    time: Int[Array, ""]
    env_state: Any
    observation: Shaped[Array, "E ..."]
    memory: Float[Array, "E P U"] | None  # of the policy; None without one
    running: Bool[Array, " E"]
    rewards: Float[Array, "T E"]
    lengths: Int[Array, " E"]
    terminated: Bool[Array, " E"]
    visits: Int[Array, " S"]
    info: dict[str, Float[Array, " E"]]  # as it was in each episode's last step so far
    trace: Trace  # of the first episode


def evaluate_agent(
    environment: Environment,
    actor: Actor,
    algorithm: Algorithm,
    mode: Int[Array, ""],
    episodes: int,
    key: PRNGKeyArray,
) -> Evaluation:
    """Play episodes of one agent, until the last of them has ended."""
    steps = environment.episode_steps
    reset_keys, step_keys = jax.vmap(lambda number: episode_keys(key, number, steps))(jnp.arange(episodes))

    def index(observation: Array) -> Array:
        return environment.index(observation) if algorithm.spec.states else jnp.zeros((), jnp.int32)

    def step(
        env_state: Any, observation: Array, memory: Array | None, running: Array, key: Array
    ) -> tuple[Any, Step, Array, Array | None, Trace]:
        action_key, step_key = jax.random.split(key)
        number = index(algorithm.newest_frame(observation))
        decision, memory = decide(actor, observation, number, action_key, mode, algorithm, memory=memory)
        env_state, outcome = environment.step(env_state, decision.action, step_key)
        reward, ended = jnp.where(running, outcome.reward, 0.0), running & outcome.terminated
        over = outcome.terminated | outcome.truncated  # what the agent observes then means nothing
        observation = algorithm.following_obs(observation, outcome.observation, over)
        trace = Trace(decision, reward, ended, number, index(outcome.next_obs))
        return env_state, outcome, observation, memory, trace

    def take_step(now: _Progress) -> _Progress:
        env_state, outcome, observation, memory, made = jax.vmap(step)(
            now.env_state, now.observation, now.memory, now.running, step_keys[:, now.time]
        )
        return _Progress(
            time=now.time + 1,
            env_state=env_state,
            observation=observation,
            memory=memory,
            running=now.running & ~(outcome.terminated | outcome.truncated),
            rewards=now.rewards.at[now.time].set(made.reward),
            lengths=now.lengths + now.running,
            terminated=now.terminated | made.terminated,
            visits=now.visits.at[made.next_state].add(now.running),
            info=jax.tree.map(lambda new, old: jnp.where(now.running, new, old), outcome.info, now.info),
            trace=jax.tree.map(lambda all_steps, one: all_steps.at[now.time].set(one[0]), now.trace, made),
        )

    env_state, frame = jax.vmap(environment.reset)(reset_keys)
    observation, memory = jax.vmap(algorithm.first_obs)(frame), empty_memory(actor.policy, episodes)
    running = jnp.ones(episodes, bool)
    _, outcome, *_, made = jax.eval_shape(jax.vmap(step), env_state, observation, memory, running, step_keys[:, 0])
    begin = _Progress(
        time=jnp.zeros((), jnp.int32),
        env_state=env_state,
        observation=observation,
        memory=memory,
        running=running,
        rewards=jnp.zeros((steps, episodes), made.reward.dtype),
        lengths=jnp.zeros(episodes, jnp.int32),
        terminated=jnp.zeros(episodes, bool),
        visits=jnp.zeros(algorithm.spec.states, jnp.int32),
        info=jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), outcome.info),
        trace=jax.tree.map(lambda leaf: jnp.zeros((steps, *leaf.shape[1:]), leaf.dtype), made),
    )
    # As in training: with less precision another action may be chosen.
    with jax.default_matmul_precision("highest"):
        end = jax.lax.while_loop(lambda now: now.running.any() & (now.time < steps), take_step, begin)
    return Evaluation(end.rewards.T.sum(axis=1), end.lengths, end.terminated, end.visits, end.trace, info=end.info)


def evaluate(
    config: TrainConfig,
    states: TrainState | TrainedAgent,
    episodes: int,
    seed: int,
    report: OnEpisodes = lambda _: None,
) -> dict[ActionMode, Evaluation]:
    algorithm = make_algorithm(config.agent, config.env.spec)

    @jax.jit
    def play(place: Int[Array, ""], mode: Int[Array, ""], states: TrainState | TrainedAgent) -> Evaluation:
        number = config.seed + place
        environment = config.environment(jax.random.key(number))
        actor = make_actor(take(states, place), algorithm)
        return evaluate_agent(environment, actor, algorithm, mode, episodes, mode_key(seed, number, mode))

    def one_agent(mode: ActionMode, place: int) -> Evaluation:
        found = play(jnp.asarray(place), jnp.asarray(ACTION_MODES.index(mode)), states)
        made: Evaluation = jax.tree.map(np.asarray, found if place == 0 else replace(found, trace=None))
        report(episodes)
        return replace(made, trace=jax.tree.map(lambda leaf: leaf[: made.lengths[0]], made.trace))

    return evaluate_agents(config, one_agent)


def first_record(config: TrainConfig, seed: int, mode: ActionMode, trace: Trace) -> EpisodeRecord:
    steps = config.environment(jax.random.key(config.seed)).episode_steps

    @jax.jit
    def draw() -> tuple[PRNGKeyArray, Shaped[PRNGKeyArray, " T"]]:
        reset_key, keys = episode_keys(mode_key(seed, config.seed, ACTION_MODES.index(mode)), 0, steps)
        return reset_key, jax.vmap(lambda key: jax.random.split(key)[1])(keys[: len(trace.reward)])

    reset_key, step_keys = draw()
    return EpisodeRecord(reset_key, step_keys, trace.decision.action, trace.reward, bool(trace.terminated[-1]))
