"""Evaluation on the host: one episode in each environment at a time.

Axes: K agents, E episodes, T steps, N environments.
"""

import threading
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Real

from action_balance.algorithms.base import Algorithm, make_algorithm
from action_balance.algorithms.rollout import make_actor
from action_balance.algorithms.state import Actor, TrainedAgent, TrainState
from action_balance.config.env import HostEnvConfig
from action_balance.config.train import TrainConfig
from action_balance.core.stacked import take
from action_balance.engines.callbacks import OnMessage
from action_balance.engines.evaluate import (
    ACTION_MODES,
    ActionMode,
    AnyArray,
    Decision,
    Evaluation,
    OnEpisodes,
    Recording,
    Trace,
    decide,
    evaluate_agents,
    mode_key,
)
from action_balance.envs.frame_stack import push
from action_balance.envs.host_base import HostEnvironment, first_masks, with_timeout
from action_balance.errors import MAX
from action_balance.signals import graceful_stop

#: The action mode whose first episode is traced.
TRACED: ActionMode = "sampled"
#: Steps after which episodes are abandoned: not every environment has a time limit.
MAX_STEPS = 100_000

#: Whose action bonus is computed.
Bonuses = Literal["none", "first", "all"]


@partial(jax.jit, static_argnames=("algorithm", "bonuses"))
def decide_all(
    actor: Actor,
    stacks: Real[Array, "N K *f"],
    frames: Real[AnyArray, "N *f"],
    began: Bool[AnyArray, " N"],
    key: PRNGKeyArray,
    time: Int[AnyArray, ""],
    mode: Int[AnyArray, ""],
    mask: Bool[AnyArray, "N A"] | None = None,
    *,
    algorithm: Algorithm,
    bonuses: Bonuses,
) -> tuple[Real[Array, "N K *f"], Real[Array, "N *c"], Decision]:
    stacks = jax.vmap(push)(stacks, frames, began)

    def key_of(number: Array | int) -> PRNGKeyArray:
        return jax.random.fold_in(jax.random.fold_in(key, number), time)

    def one(stack: Array, number: Array, mask: Array | None) -> Decision:
        return decide(actor, stack, 0, key_of(number), mode, algorithm, with_bonus=bonuses == "all", mask=mask)[0]

    made = jax.vmap(one)(stacks, jnp.arange(len(stacks)), mask)
    first: Decision = jax.tree.map(lambda leaf: leaf[0], made)
    if bonuses == "first":
        own = None if mask is None else mask[0]
        traced = decide(actor, stacks[0], 0, key_of(0), mode, algorithm, mask=own)[0]
        first = replace(first, beta=traced.beta, action_bonus=traced.action_bonus)
    return stacks, made.action, first


@dataclass(frozen=True)
class EpisodeRunner:
    """Plays episodes in environments on the host."""

    env: HostEnvConfig
    algorithm: Algorithm
    environment: HostEnvironment
    report: OnEpisodes
    stop: threading.Event
    record: bool

    def play(
        self,
        actor: Actor,
        mode: ActionMode,
        episodes: int,
        seed: tuple[int, ...],
        key: PRNGKeyArray,
        traced: bool = False,
    ) -> tuple[Evaluation, int]:
        """Play one episode in each of the first environments; what follows it there is ignored."""
        environment, spec, envs = self.environment, self.algorithm.spec, self.environment.envs_per_group
        needed: Bonuses = "all" if mode == "behaviour" else "first" if traced else "none"
        bonuses = needed if self.algorithm.config.beta_differs else "none"
        choose = partial(decide_all, algorithm=self.algorithm, bonuses=bonuses)
        receive = partial(environment.receive, 0)
        stacks, began = jnp.zeros((envs, *spec.shape), spec.dtype), np.ones(envs, bool)
        returns, lengths, ends = np.zeros(envs), np.zeros(envs, int), np.zeros(envs, int)
        playing, terminated, finished = np.arange(envs) < episodes, np.zeros(envs, bool), 0.0
        actions, scores, decisions = list[np.ndarray](), list[np.ndarray](), list[Decision]()
        frames, mask = environment.reset(seed)[0], first_masks(environment)[0]
        for time in range(MAX_STEPS):
            if self.stop.is_set():
                raise KeyboardInterrupt
            place = np.int32(ACTION_MODES.index(mode))
            stacks, action, first = choose(actor, stacks, frames, began, key, np.int32(time), place, mask)
            environment.send(0, np.asarray(action))
            step = receive() if self.env.in_process else with_timeout(receive)
            frames, began, mask = step.frame, step.ended, step.mask
            if self.record:
                actions.append(np.asarray(action))
                scores.append(step.score)
            if step.lost:  # episodes under way are played again from the beginning; the environment has reported it
                returns[playing], lengths[playing] = 0, 0
                decisions.clear()
                continue
            if traced and playing[0]:
                decisions.append(first)
            returns += np.where(playing, step.score, 0)
            lengths += playing
            terminated |= playing & step.terminated
            ends[playing] = time + 1
            playing &= ~step.ended
            now = np.where(playing, lengths / (self.env.episode_steps or MAX_STEPS), 1)[:episodes].sum()
            self.report(max(now - finished, 0.0))
            finished = max(now, finished)
            if not playing.any():
                break
        self.report(episodes - finished)
        played = [np.stack(actions), np.stack(scores)] if self.record else []
        recordings = tuple(
            Recording(seed, env, *(one[end - length : end, env] for one in played))
            for env, (end, length) in enumerate(zip(ends[:episodes], lengths[:episodes], strict=True))
            if self.record
        )
        trace = _trace(decisions, recordings[0].scores, bool(terminated[0])) if traced else None
        returns, lengths, terminated = returns[:episodes], lengths[:episodes], terminated[:episodes]
        made = Evaluation(returns, lengths, terminated, np.zeros(0, np.int32), trace, (recordings,))
        return made, int(playing.sum())


def _trace(decisions: list[Decision], scores: Float[np.ndarray, " T"], terminated: bool) -> Trace:
    made: Decision = jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *decisions)
    last, unknown = np.arange(len(scores)) == len(scores) - 1, np.zeros(len(scores), np.int32)
    return Trace(made, scores, last & terminated, unknown, unknown)


def env_seed(seed: int, number: int, mode: ActionMode) -> tuple[int, ...]:
    """Random seed of the environments: another one for every agent and action mode, and none that training uses."""
    return seed, number, ACTION_MODES.index(mode), 1  # those of training are shorter, as if zeros followed


def evaluate(
    config: TrainConfig,
    states: TrainState | TrainedAgent,
    episodes: int,
    seed: int,
    report: OnEpisodes,
    on_message: OnMessage,
    record: bool,
) -> dict[ActionMode, Evaluation]:
    """Play episodes of all agents of a run; see `factory.evaluate_run`.

    All episodes of an agent are played at once if the family says so. Otherwise as many are played at once as
    environments were trained in, then as many more.
    """
    env = cast(HostEnvConfig, config.env)
    envs = episodes if env.episodes_at_once else min(episodes, config.agent.envs)
    algorithm = make_algorithm(config.agent, env.spec)

    @jax.jit
    def actor_of(states: TrainState | TrainedAgent, place: Int[Array, ""]) -> Actor:
        return make_actor(take(states, place), algorithm)

    def of_agent(runner: EpisodeRunner, mode: ActionMode, place: int) -> Evaluation:
        actor = actor_of(states, jnp.asarray(place))
        number = config.seed + place
        key = mode_key(seed, number, ACTION_MODES.index(mode))
        parts, abandoned = [], 0
        for first in range(0, episodes, envs):
            count, part = min(episodes - first, envs), () if env.episodes_at_once else (first,)
            part_key = jax.random.fold_in(key, first) if part else key
            traced = record and mode == TRACED and place == first == 0
            made, left = runner.play(actor, mode, count, (*env_seed(seed, number, mode), *part), part_key, traced)
            parts.append(made)
            abandoned += left
        if abandoned:
            on_message(
                f"{abandoned} of {episodes} episodes ({mode}, seed {number}) did not end within {MAX_STEPS:,} steps "
                f"and were stopped: their returns cover only these steps"
            )
        return _joined(parts)

    with graceful_stop() as stop:  # neither while environments start nor during a step
        environment = env.make(envs, 1, (0,), config.agent.host.threads, on_message)
        runner = EpisodeRunner(env, algorithm, environment, report, stop, record)
        try:
            found = evaluate_agents(config, partial(of_agent, runner))
            if stop.is_set():
                raise KeyboardInterrupt  # it came with the last step
            return found
        finally:
            environment.close()


def most_episodes(config: TrainConfig) -> int:
    """The most episodes of an agent that can be evaluated; see `factory.most_episodes`."""
    return cast(HostEnvConfig, config.env).episodes_at_once or MAX


def _joined(parts: list[Evaluation]) -> Evaluation:
    """The episodes of one agent, which were played one part after the other."""
    numbers = zip(*((one.returns, one.lengths, one.terminated) for one in parts), strict=True)
    returns, lengths, terminated = map(np.concatenate, numbers)
    recordings = tuple(one for part in parts for one in part.recordings[0])
    return Evaluation(returns, lengths, terminated, parts[0].visits, parts[0].trace, (recordings,))
