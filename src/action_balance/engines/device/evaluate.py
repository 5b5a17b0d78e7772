"""Playing without learning: full episodes of an agent, greedily, from pi, or from beta.

Axes: E episodes, T steps of the longest, A actions, S states that can be counted; K seeds outside.
"""

import math
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from action_balance.agent.rollout import act, action_coef, behaviour_logits
from action_balance.agent.state import TrainState
from action_balance.config.agent import Config
from action_balance.config.train import TrainConfig
from action_balance.envs.base import Environment

#: How to act: by the largest logit of pi, by a sample of pi, or by a sample of beta (Eq. 5).
ActionMode = Literal["greedy", "sampled", "behaviour"]
ACTION_MODES: tuple[ActionMode, ...] = get_args(ActionMode)

#: Numbers that the episodes of a seed may take together: 400 MB.
ROOM = 100_000_000


class Episode(eqx.Module):
    """One episode, step by step. Steps after its end are not `running`, and mean nothing."""

    running: jax.Array  # (T,) bool
    state: jax.Array  # (T,) int32, number of the state that was acted from
    next_state: jax.Array  # (T,) int32, number of the state that was reached
    action: jax.Array  # (T,) int32
    reward: jax.Array  # (T,)
    terminated: jax.Array  # (T,) bool, the task ended
    logits: jax.Array  # (T, A), of pi
    behaviour: jax.Array  # (T, A), logits of beta
    action_bonus: jax.Array  # (T, A)


class Evaluation(eqx.Module):
    """What episodes of one agent came to."""

    returns: jax.Array  # (E,), not discounted
    lengths: jax.Array  # (E,) int32
    terminated: jax.Array  # (E,) bool, the task ended; the time limit, otherwise
    visits: jax.Array  # (S,) int32, how often each state was reached, counted as `TrainState.reached`
    first: Episode  # the first of the episodes; empty where steps are not kept


def action_modes(config: Config) -> tuple[ActionMode, ...]:
    """The ways of acting that a method has; one that acts at random has no largest logit to be greedy about."""
    if config.traits.uniform:
        return ("sampled",)
    return ACTION_MODES if config.traits.action else ("greedy", "sampled")


def most_episodes(environment: Environment) -> int:
    """How many episodes can be played at once."""
    each_step = 3 * environment.spec.nvec[0] + 8
    return max(1, ROOM // (environment.episode_steps * each_step + 4 * math.prod(environment.spec.shape)))


def play(environment: Environment, state: TrainState, config: Config, mode: jax.Array, key: jax.Array) -> Episode:
    """One episode from its beginning; the agent stays as it is.

    Args:
        way: place of the way of acting in `WAYS`. A number, so that all ways are one program: it compiles once.
    """
    coef = action_coef(config, state.updates)
    reset_key, steps_key = jax.random.split(key)
    world, observation = environment.reset(reset_key)

    def number(seen: jax.Array) -> jax.Array:
        return environment.index(seen) if environment.spec.states else jnp.zeros((), jnp.int32)

    def step(
        carry: tuple[Any, jax.Array, jax.Array], key: jax.Array
    ) -> tuple[tuple[Any, jax.Array, jax.Array], Episode]:
        world, observation, running = carry
        logits, _, bonus = act(state, observation, config)
        behaviour = behaviour_logits(logits, bonus, coef, config)
        action_key, step_key = jax.random.split(key)
        sampled, behaving = (jax.random.categorical(action_key, which) for which in (logits, behaviour))
        action = jnp.stack([logits.argmax(), sampled, behaving])[mode]
        world, outcome = environment.step(world, action, step_key)
        made = Episode(
            running=running,
            state=number(observation),
            next_state=number(outcome.next_obs),
            action=action,
            reward=jnp.where(running, outcome.reward, 0.0),
            terminated=running & outcome.terminated,
            logits=logits,
            behaviour=behaviour,
            action_bonus=bonus,
        )
        running = running & ~(outcome.terminated | outcome.truncated)
        return (world, outcome.observation, running), made

    begin = (world, observation, jnp.ones((), bool))
    return jax.lax.scan(step, begin, jax.random.split(steps_key, environment.episode_steps))[1]


def evaluate(
    environment: Environment, state: TrainState, config: Config, mode: jax.Array, episodes: int, key: jax.Array
) -> Evaluation:
    """So many episodes of one agent. Each has a key of its own: the first ones do not depend on how many follow."""
    keys = jax.vmap(lambda number: jax.random.fold_in(key, number))(jnp.arange(episodes))
    # As in training: with less precision another action may come out.
    with jax.default_matmul_precision("highest"):
        played = jax.vmap(lambda key: play(environment, state, config, mode, key))(keys)
    return Evaluation(
        returns=played.reward.sum(axis=1),
        lengths=played.running.sum(axis=1),
        terminated=played.terminated.any(axis=1),
        visits=jnp.zeros(environment.spec.states, jnp.int32).at[played.next_state].add(played.running),
        first=jax.tree.map(lambda leaf: leaf[0], played),
    )


def evaluate_run(config: TrainConfig, states: TrainState, episodes: int, seed: int) -> dict[ActionMode, Evaluation]:
    """Episodes of every agent of a run, by way of acting; numpy arrays with the axes of `Evaluation`, and K before.

    Args:
        config: of the run.
        states: of all its seeds, with leading axis K.
        episodes: E, of each seed and each way.
        seed: of all that is random in the episodes.
    """
    chosen = action_modes(config.agent)

    def one_seed(agent: tuple[jax.Array, TrainState]) -> Evaluation:
        number, state = agent
        environment = config.environment(jax.random.key(number))
        key = jax.random.fold_in(jax.random.key(seed), number)

        def one_way(mode: jax.Array) -> Evaluation:
            return evaluate(environment, state, config.agent, mode, episodes, jax.random.fold_in(key, mode))

        return jax.lax.map(one_way, jnp.array([ACTION_MODES.index(mode) for mode in chosen]))

    # One after the other: only the episodes of one seed need memory, and they are as if it were alone.
    numbers = jnp.arange(config.seed, config.seed + config.seeds)
    found = jax.tree.map(np.asarray, jax.jit(lambda states: jax.lax.map(one_seed, (numbers, states)))(states))
    return {mode: jax.tree.map(lambda leaf, place=place: leaf[:, place], found) for place, mode in enumerate(chosen)}
