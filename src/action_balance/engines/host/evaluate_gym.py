"""Playing Gymnasium environments without learning: full episodes of an agent, greedily, from pi, or from beta.

As many episodes are played at once as environments were trained in, one in each; then as many more. Axes: E episodes,
N environments, K agents.
"""

import threading
from collections.abc import Callable
from dataclasses import fields
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.agent.state import Actor, TrainState
from action_balance.config.env import HostEnvConfig
from action_balance.config.train import TrainConfig
from action_balance.engines.device.evaluate import ACTION_MODES, ActionMode, Episode, Evaluation, action_modes
from action_balance.engines.host.evaluate_atari import actor_of, bonuses_needed, decide, emulator_seed
from action_balance.engines.signals import graceful_stop
from action_balance.envs.host_base import HostEnvironment

#: Steps after which episodes that have no end are left: not every environment has a time limit.
MOST_STEPS = 100_000


def evaluate_gym(
    config: TrainConfig,
    states: TrainState,
    episodes: int,
    seed: int,
    tell: Callable[[float], None] = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
    most_steps: int = MOST_STEPS,
) -> dict[ActionMode, Evaluation]:
    """Full episodes of every agent of a run, by way of acting; numpy arrays with the axes of `Evaluation`, K before.

    Args:
        config: of the run.
        states: of all its seeds, with leading axis K.
        episodes: E, of each agent and each way of acting.
        seed: of all that is random in the episodes.
        tell: is told how many episodes more are done, of K x ways x E.
        say: is called with each line that the user should know.
        most_steps: after which episodes are left that have not ended.
    """
    assert isinstance(config.env, HostEnvConfig)
    envs = min(episodes, config.agent.envs)
    with graceful_stop() as stop:  # neither while workers begin nor within a step
        environment = config.env.make(envs, 1, (0,), say=say)
        try:
            found = _evaluate(config, environment, states, episodes, seed, tell, say, most_steps, stop)
            if stop.is_set():
                raise KeyboardInterrupt  # it came with the last step
            return found
        finally:
            environment.close()


def _evaluate(
    config: TrainConfig,
    environment: HostEnvironment,
    states: TrainState,
    episodes: int,
    seed: int,
    tell: Callable[[float], None],
    say: Callable[[str], None],
    most_steps: int,
    stop: threading.Event,
) -> dict[ActionMode, Evaluation]:
    found: dict[ActionMode, Evaluation] = {}
    for mode in action_modes(config.agent):
        played = []
        for place in range(config.seeds):
            number = config.seed + place
            key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), number), ACTION_MODES.index(mode))
            actor = actor_of(states, place, config.agent)
            luck, parts = emulator_seed(seed, number, mode), []
            for first in range(0, episodes, environment.envs_per_group):
                count = min(episodes - first, environment.envs_per_group)
                part_key = jax.random.fold_in(key, first)
                start = (*luck, first)
                part = _play(config, environment, actor, mode, count, start, part_key, tell, most_steps, stop)
                parts.append(part)
            played.append([np.concatenate(part) for part in zip(*parts, strict=True)])
            if left := sum(int(part[3].sum()) for part in parts):
                say(
                    f"{left} of {episodes} episodes ({mode}, seed {number}) had not ended after {most_steps:,} steps "
                    f"and were left: their returns are those until then"
                )
        returns, lengths, terminated, _ = (cast(Any, np.stack(part)) for part in zip(*played, strict=True))
        nothing: Any = np.zeros((config.seeds, 0), np.int32)
        found[mode] = Evaluation(returns, lengths, terminated, nothing, Episode(*[nothing] * len(fields(Episode))))
    return found


def _play(
    config: TrainConfig,
    environment: HostEnvironment,
    actor: Actor,
    mode: ActionMode,
    episodes: int,
    seed: tuple[int, ...],
    key: jax.Array,
    tell: Callable[[float], None],
    most_steps: int,
    stop: threading.Event,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return, length, whether the task ended it, and whether nothing did, of E <= N episodes, (E,)."""
    envs = environment.envs_per_group
    number, bonuses = np.int32(ACTION_MODES.index(mode)), bonuses_needed(config.agent, mode, filmed=False)
    stacks = jnp.zeros((envs, *environment.spec.shape), environment.spec.dtype)
    began = np.ones(envs, bool)
    returns, lengths = np.zeros(envs), np.zeros(envs, int)
    playing, terminated = np.arange(envs) < episodes, np.zeros(envs, bool)
    frames = environment.reset(seed)[0]
    for time in range(most_steps):
        if stop.is_set():
            raise KeyboardInterrupt
        stacks, action, _ = decide(
            actor, stacks, frames, began, key, np.int32(time), number, config=config.agent, bonuses=bonuses
        )
        environment.send(0, np.asarray(action))
        step = environment.receive(0)
        frames, began = step.frame, step.ended
        if step.lost:  # the episodes under way are played from their beginning; the environment has said so
            returns[playing], lengths[playing] = 0, 0
            continue
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
    return returns[:episodes], lengths[:episodes], terminated[:episodes], playing[:episodes]
