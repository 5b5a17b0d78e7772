"""Playing Gymnasium environments without learning: full episodes of an agent, greedily, from pi, or from beta.

All episodes of an agent are played at once, one in each environment. Axes: E episodes, K agents.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.agent.evaluate import WAYS, Episode, Evaluation, Way, ways
from action_balance.agent.host_evaluate import actor_of, bonuses_needed, decide, emulator_seed
from action_balance.agent.loop import TrainConfig
from action_balance.agent.state import Actor, TrainState
from action_balance.envs.gym_make import Task
from action_balance.envs.gym_vector import GymEnvironment
from action_balance.envs.ready import gym_task

#: Steps after which an episode that has no end is left: not every environment has a time limit.
MOST_STEPS = 100_000


def evaluate_gym(
    config: TrainConfig,
    states: TrainState,
    episodes: int,
    seed: int,
    tell: Callable[[float], None] = lambda _: None,
    most_steps: int = MOST_STEPS,
) -> dict[Way, Evaluation]:
    """Full episodes of every agent of a run, by way of acting; numpy arrays with the axes of `Evaluation`, K before.

    Args:
        config: of the run.
        states: of all its seeds, with leading axis K.
        episodes: E, of each agent and each way of acting.
        seed: of all that is random in the episodes.
        tell: is told how many episodes more are done, of K x ways x E.
        most_steps: after which an episode is left.
    """
    task = gym_task(config.env)
    found: dict[Way, Evaluation] = {}
    for way in ways(config.agent):
        played = []
        for place in range(config.seeds):
            number = config.seed + place
            key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), number), WAYS.index(way))
            actor = actor_of(states, place, config.agent)
            luck = emulator_seed(seed, number, way)
            played.append(_play(task, config, actor, way, episodes, luck, key, tell, most_steps))
        returns, lengths, terminated = (cast(Any, np.stack(part)) for part in zip(*played, strict=True))
        nothing: Any = np.zeros((config.seeds, 0), np.int32)
        found[way] = Evaluation(returns, lengths, terminated, nothing, Episode(*[nothing] * len(fields(Episode))))
    return found


def _play(
    task: Task,
    config: TrainConfig,
    actor: Actor,
    way: Way,
    episodes: int,
    seed: tuple[int, ...],
    key: jax.Array,
    tell: Callable[[float], None],
    most_steps: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, length, and whether the task ended it, of each episode, (E,)."""
    environment = GymEnvironment(task, episodes, 1, seed, config.env.vectorize, config.env.stack)
    number, bonuses = np.int32(WAYS.index(way)), bonuses_needed(config.agent, way, filmed=False)
    stacks = jnp.zeros((episodes, *environment.observation_shape), task.layout.dtype)
    began = np.ones(episodes, bool)
    returns, lengths = np.zeros(episodes), np.zeros(episodes, int)
    playing, terminated = np.ones(episodes, bool), np.zeros(episodes, bool)
    try:
        frames = environment.reset()[0]
        for time in range(most_steps):
            stacks, action, _ = decide(
                actor, stacks, frames, began, key, np.int32(time), number, config=config.agent, bonuses=bonuses
            )
            environment.send(0, np.asarray(action))
            step = environment.receive(0)
            frames, began = step.frame, step.ended
            returns += np.where(playing, step.score, 0)
            lengths += playing
            terminated |= playing & step.terminated
            over = playing & step.ended
            playing &= ~step.ended
            if over.any():
                tell(float(over.sum()))
            if not playing.any():
                break
        tell(float(playing.sum()))
    finally:
        environment.close()
    return returns, lengths, terminated
