"""Evaluation on the device: all episodes of an agent are one compiled program. Axes: K agents, E episodes, T steps."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from action_balance.agent.algorithm import Algorithm
from action_balance.agent.rollout import make_actor
from action_balance.agent.state import Actor, TrainedAgent, TrainState
from action_balance.config.train import TrainConfig
from action_balance.engines.evaluate import ACTION_MODES, ActionMode, Evaluation, Report, Trace, action_modes, decide
from action_balance.engines.messages import OnMessage
from action_balance.envs.base import Environment

#: Numbers of episodes by name.
Info = dict[str, Array]

#: Numbers that the episodes of one agent may occupy together: 400 MB.
ROOM = 100_000_000


def most_episodes(config: TrainConfig) -> int:
    """The most episodes of an agent that fit into memory; see `factory.most_episodes`."""
    environment = config.environment(jax.random.key(config.seed))
    each_step = 3 * sum(environment.spec.nvec) + 8
    return max(1, ROOM // (environment.episode_steps * each_step + 4 * environment.spec.size))


def evaluate_agent(
    environment: Environment,
    actor: Actor,
    algorithm: Algorithm,
    mode: Int[Array, ""],
    episodes: int,
    key: PRNGKeyArray,
) -> Evaluation:
    """Play episodes of one agent.

    Args:
        environment: the environment.
        actor: the agent.
        algorithm: settings, distribution and bonuses.
        mode: place of the action mode in `ACTION_MODES`.
        episodes: E.
        key: random key of all episodes. Each has one of its own: it does not depend on how many follow.

    Returns:
        The episodes. The trace has as many steps as the longest possible episode; those after its end mean nothing.
    """

    def index(observation: Array) -> Array:
        return environment.index(observation) if algorithm.spec.states else jnp.zeros((), jnp.int32)

    def step(carry: tuple[Any, Array, Array], key: Array) -> tuple[tuple[Any, Array, Array], tuple[Trace, Array, Info]]:
        env_state, observation, running = carry
        action_key, step_key = jax.random.split(key)
        number = index(observation)
        decision = decide(actor, observation, number, action_key, mode, algorithm)
        env_state, outcome = environment.step(env_state, decision.action, step_key)
        reward, ended = jnp.where(running, outcome.reward, 0.0), running & outcome.terminated
        trace = Trace(decision, reward, ended, number, index(outcome.next_obs))
        following = running & ~(outcome.terminated | outcome.truncated)
        return (env_state, outcome.observation, following), (trace, running, outcome.info)

    def play(number: Array) -> tuple[Trace, Array, Info]:
        reset_key, steps_key = jax.random.split(jax.random.fold_in(key, number))
        begin = (*environment.reset(reset_key), jnp.ones((), bool))
        trace, running, info = jax.lax.scan(step, begin, jax.random.split(steps_key, environment.episode_steps))[1]
        return trace, running, {name: values[running.sum() - 1] for name, values in info.items()}

    # As in training: with less precision another action may be chosen.
    with jax.default_matmul_precision("highest"):
        traces, running, info = jax.vmap(play)(jnp.arange(episodes))
    return Evaluation(
        returns=traces.reward.sum(axis=1),
        lengths=running.sum(axis=1),
        terminated=traces.terminated.any(axis=1),
        visits=jnp.zeros(algorithm.spec.states, jnp.int32).at[traces.next_state].add(running),
        info=info,
        trace=jax.tree.map(lambda leaf: leaf[0], traces),
    )


def evaluate(
    config: TrainConfig,
    states: TrainState | TrainedAgent,
    episodes: int,
    seed: int,
    report: Report = lambda _: None,
    on_message: OnMessage = lambda _: None,
    record: bool = False,
) -> dict[ActionMode, Evaluation]:
    """Play episodes of all agents of a run; see `factory.evaluate_run`. Nothing has to be recorded."""
    del on_message, record
    algorithm, modes = Algorithm(config.agent, config.env.spec), action_modes(config.agent)

    def one_agent(agent: tuple[Array, TrainState | TrainedAgent]) -> Evaluation:
        number, state = agent
        environment = config.environment(jax.random.key(number))
        actor = make_actor(state, algorithm)
        key = jax.random.fold_in(jax.random.key(seed), number)

        def one_mode(mode: Array) -> Evaluation:
            return evaluate_agent(environment, actor, algorithm, mode, episodes, jax.random.fold_in(key, mode))

        return jax.lax.map(one_mode, jnp.array([ACTION_MODES.index(mode) for mode in modes]))

    # One after the other: only the episodes of one agent need memory, and they are as if it were alone.
    numbers = jnp.arange(config.seed, config.seed + config.seeds)
    found = jax.tree.map(np.asarray, jax.jit(lambda states: jax.lax.map(one_agent, (numbers, states)))(states))

    def of_mode(place: int) -> Evaluation:
        mine: Evaluation = jax.tree.map(lambda leaf: leaf[:, place], found)
        return replace(mine, trace=jax.tree.map(lambda leaf: leaf[0, : mine.lengths[0, 0]], mine.trace))

    report(config.seeds * len(modes) * episodes)
    return {mode: of_mode(place) for place, mode in enumerate(modes)}
