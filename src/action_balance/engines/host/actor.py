"""One agent with its environments on the host: it acts group by group, and learns piece by piece.

Axes: T steps, N environments, M of a group.
"""

import time
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.agent.learner import Metrics
from action_balance.agent.state import Actor, TrainState
from action_balance.engines.host.compiled_update import CompiledUpdate, Decider
from action_balance.engines.host.rollout_buffer import EpisodeEnds, RolloutBuffer
from action_balance.envs.host_base import HostEnvironment

#: What the key of acting is derived with: far from the small numbers that keys are split by.
ACTING = 0x616374


class Rollout:
    """What the host keeps of a rollout, (T, N), and the recordings of the groups when it is over."""

    def __init__(self, actor: Actor, decide: Decider, steps: int, envs: int, groups: int) -> None:
        self.actor, self.decide = actor, decide
        self.reward = np.zeros((steps, envs), np.float32)
        self.terminated = np.zeros((steps, envs), bool)
        self.truncated = np.zeros((steps, envs), bool)
        self.whole: list[RolloutBuffer | None] = [None] * groups
        self.returns: list[list[float]] = [[] for _ in range(groups)]  # of the episodes that ended, raw
        self.first_reward = -1  # environment steps, all environments counted, until a reward was positive


class HostActor:
    """One seed. The groups may be played in threads of their own: they share nothing that is written."""

    def __init__(self, programs: CompiledUpdate, environment: HostEnvironment, state: TrainState) -> None:
        self.programs, self.environment, self.state = programs, environment, state
        config = programs.config
        self.steps, self.envs, self.size = config.ppo.rollout_steps, config.envs, programs.group
        self.groups = range(environment.groups)
        self._key = jax.random.fold_in(state.key, ACTING)
        self.rollouts = int(state.updates)  # that are over; what was under way when a run ended is lost
        self.first_reward = int(state.first_reward)
        self.returns = np.zeros(self.envs)  # of the episodes under way, all begun here
        began = np.ones(self.size, bool)
        self.newest: list[tuple[Any, EpisodeEnds | None]] = [
            (frame, EpisodeEnds(began, frame)) for frame in environment.reset()
        ]
        self.recordings = [programs.empty(np.int32(group * self.size), self._rollout_key()) for group in self.groups]
        self.waits: list[float | None] = [None for _ in self.groups]  # since when the emulators are waited for
        self.rollout: Rollout

    def _rollout_key(self) -> jax.Array:
        return jax.random.fold_in(self._key, self.rollouts)

    def begin_rollout(self) -> None:
        """The policy as it is now decides from here on."""
        actor = self.programs.actor(self.state)
        self.rollout = Rollout(actor, self.programs.decider(actor), self.steps, self.envs, len(self.groups))

    def step(self, group: int, number: int) -> None:
        """Wait for the step before, decide, and let the emulators begin with this one."""
        if number:
            self._receive(group, number - 1)
        frame, ended = self.newest[group]
        self.recordings[group], action = self.rollout.decide(self.recordings[group], frame, ended)
        self.environment.send(group, np.asarray(action))

    def _receive(self, group: int, number: int) -> None:
        self.waits[group] = time.monotonic()
        step = self.environment.receive(group)
        self.waits[group] = None
        mine = slice(group * self.size, (group + 1) * self.size)
        rollout, ended = self.rollout, step.ended
        rollout.reward[number, mine] = step.reward
        rollout.terminated[number, mine] = step.terminated
        rollout.truncated[number, mine] = step.truncated
        self.returns[mine] += step.score
        self.newest[group] = (step.frame, None)
        if ended.any():
            self.newest[group] = (step.frame, EpisodeEnds(ended, step.next_obs))
            places = mine.start + np.flatnonzero(ended)
            if not step.lost:
                rollout.returns[group] += self.returns[places].tolist()
            self.returns[places] = 0

    def end_group(self, group: int) -> None:
        """Wait for the last step of a rollout."""
        self._receive(group, self.steps - 1)
        frame, ended = self.newest[group]
        frame = jnp.asarray(frame)  # it is needed twice
        key = jax.random.fold_in(self._key, self.rollouts + 1)
        whole, following = self.programs.conclude(self.recordings[group], frame, ended, key)
        self.rollout.whole[group] = whole
        self.recordings[group], self.newest[group] = following, (frame, ended)

    def end_rollout(self) -> Rollout:
        """What can be learned from, when all groups have ended."""
        over = self.rollout
        positive = (over.reward > 0).any(axis=1)
        if self.first_reward < 0 and positive.any():
            self.first_reward = (self.rollouts * self.steps + int(positive.argmax()) + 1) * self.envs
        over.first_reward = self.first_reward
        self.rollouts += 1
        return over

    def learn(self, over: Rollout, lag: bool = False) -> Generator[None, None, Metrics]:
        """Ask the device for an update, piece by piece; in the end, what it tells.

        Args:
            over: what to learn from.
            lag: whether the policy may have learned since it acted.
        """
        programs = self.programs
        action_evaluations = []
        if lag and programs.action_evaluations:
            policy, actor = self.state.params.policy, over.actor
            for whole in over.whole:
                for first in range(0, self.size, programs.evaluated_envs):
                    asked = programs.evaluate_actions(policy, whole, actor.observations, actor.coef, np.int32(first))
                    action_evaluations.append(asked)
                    yield
        state, made, lesson, learning, gathered, packed_learner = programs.prepare(
            self.state,
            over.actor,
            tuple(over.whole),
            over.reward,
            over.terminated,
            over.truncated,
            tuple(action_evaluations) or None,
        )
        yield
        if packed_learner is not None:
            params, optimizer, targets = packed_learner
            for _ in range(programs.minibatches):
                for _ in range(programs.parts - 1):
                    gathered = programs.gather(params, targets, lesson, gathered)
                    yield
                params, gathered, optimizer = programs.apply(params, targets, lesson, gathered, optimizer)
                yield
            packed_learner = packed_learner._replace(params=params, optimizer=optimizer)
        self.state, metrics = programs.finish(
            state, made, learning, gathered, packed_learner, over.actor.coef, np.int32(over.first_reward)
        )
        yield
        return metrics


def with_episodes(metrics: Metrics, over: Rollout) -> Metrics:
    """What only the host knows."""
    returns = np.array([one for group in over.returns for one in group], np.float64)
    known: dict[str, Any] = {
        "episodes": np.int32(len(returns)),
        "episode_return": np.float32(returns.mean() if len(returns) else np.nan),
        "best_return": np.float32(returns.max() if len(returns) else np.nan),
    }
    return replace(metrics, **known)
