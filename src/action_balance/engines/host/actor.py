"""One agent with its environments on the host: it acts group by group, and learns piece by piece.

Axes: T steps, N environments, M environments of a group.
"""

import time
from collections.abc import Generator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from action_balance.algorithms.base import Metrics
from action_balance.algorithms.metrics import episode_metrics
from action_balance.algorithms.state import Actor, TrainState
from action_balance.engines.host.compiled_update import CompiledUpdate, Decider
from action_balance.engines.host.rollout_buffer import EpisodeEnds, RolloutBuffer
from action_balance.envs.host_base import HostEnvironment, first_masks
from action_balance.exploration.episodes import Episodes, add_rewards, summarize

#: Folded into the key of acting: far from the small numbers that keys are split by.
ACTING = 0x616374


class HostRollout:
    """What the host keeps of a rollout, (T, N), and the buffers of the groups when it is complete."""

    def __init__(self, actor: Actor, decide: Decider, steps: int, envs: int, groups: int) -> None:
        self.actor, self.decide = actor, decide
        self.reward = np.zeros((steps, envs), np.float32)
        self.terminated = np.zeros((steps, envs), bool)
        self.truncated = np.zeros((steps, envs), bool)
        self.buffers: list[RolloutBuffer | None] = [None] * groups
        self.finished = np.zeros((steps, envs))  # raw returns where episodes ended that count
        self.counted = np.zeros((steps, envs), bool)  # where they ended


class HostActor:
    """One seed. Its groups may be stepped in threads of their own: they share nothing that is written."""

    def __init__(self, compiled: CompiledUpdate, environment: HostEnvironment, state: TrainState) -> None:
        self.compiled, self.environment, self.state = compiled, environment, state
        config = compiled.config
        self.steps, self.envs, self.size = config.algorithm.rollout_steps, config.envs, compiled.group
        self.groups = range(environment.groups)
        self._key = jax.random.fold_in(state.key, ACTING)
        self.rollouts = int(state.updates)  # complete ones; a rollout under way when a run stops is lost
        self.returns = np.zeros(self.envs)  # of the episodes under way, all of which began here
        began = np.ones(self.size, bool)
        self.newest: list[tuple[Any, EpisodeEnds | None, Any]] = [
            (frame, EpisodeEnds(began, frame), mask)
            for frame, mask in zip(environment.reset(), first_masks(environment), strict=True)
        ]
        self.buffers = [compiled.empty(np.int32(group * self.size), self._rollout_key()) for group in self.groups]
        self.waits: list[float | None] = [None for _ in self.groups]  # since when the host waits for a group
        self.rollout: HostRollout

    def _rollout_key(self) -> PRNGKeyArray:
        return jax.random.fold_in(self._key, self.rollouts)

    def begin_rollout(self) -> None:
        actor = self.compiled.actor(self.state)
        self.rollout = HostRollout(actor, self.compiled.decider(actor), self.steps, self.envs, len(self.groups))

    def step(self, group: int, number: int) -> None:
        """Receive the step before, choose actions, and let the environments of a group start this one."""
        if number:
            self._receive(group, number - 1)
        self.buffers[group], action = self.rollout.decide(self.buffers[group], *self.newest[group])
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
        self.returns[mine], finished = add_rewards(self.returns[mine], step.score, ended)
        if not step.lost:
            rollout.finished[number, mine], rollout.counted[number, mine] = finished, ended
        self.newest[group] = (step.frame, EpisodeEnds(ended, step.next_obs) if ended.any() else None, step.mask)

    def end_group(self, group: int) -> None:
        """Receive the last step of a group's rollout."""
        self._receive(group, self.steps - 1)
        frame, ends, mask = self.newest[group]
        frame = jnp.asarray(frame)  # it is needed twice
        key = jax.random.fold_in(self._key, self.rollouts + 1)
        complete, following = self.compiled.conclude(self.buffers[group], frame, ends, mask, key)
        self.rollout.buffers[group] = complete
        self.buffers[group], self.newest[group] = following, (frame, ends, mask)

    def end_rollout(self) -> HostRollout:
        self.rollouts += 1
        return self.rollout

    def learn(self, rollout: HostRollout, lag: bool = False) -> Generator[None, None, Metrics]:
        """Request an update from the device, piece by piece."""
        compiled, actor = self.compiled, rollout.actor
        evaluations = []
        if lag and compiled.action_evaluations:
            policy = self.state.params.policy
            for buffer in rollout.buffers:
                for first in range(0, self.size, compiled.evaluated_envs):
                    evaluations.append(
                        compiled.evaluate_actions(
                            policy, buffer, actor.obs_stats, actor.coef, actor.epsilon, np.int32(first)
                        )
                    )
                    yield
        prepared = compiled.prepare(
            self.state,
            actor,
            tuple(rollout.buffers),
            rollout.reward,
            rollout.terminated,
            rollout.truncated,
            tuple(evaluations) or None,
        )
        yield
        if prepared.learner is not None:
            batch, accumulator = prepared.batch, prepared.accumulator
            params, optimizer, bonus_states = prepared.learner
            for _ in range(compiled.minibatches // compiled.at_once):
                for _ in range(compiled.parts - 1):
                    accumulator = compiled.accumulate(params, bonus_states, batch, accumulator)
                    yield
                params, accumulator, optimizer = compiled.apply(params, bonus_states, batch, accumulator, optimizer)
                yield
            learner = prepared.learner._replace(params=params, optimizer=optimizer)
            prepared = prepared._replace(batch=None, accumulator=accumulator, learner=learner)
        self.state, metrics = compiled.finish(prepared, actor.coef)
        yield
        return metrics


def with_episodes(metrics: dict[str, Any], rollout: HostRollout) -> dict[str, Any]:
    """Add the metrics of the episodes that ended, which only the host knows."""
    number, mean, best = summarize(rollout.finished, rollout.counted)
    known: dict[str, Any] = episode_metrics(Episodes(np.int32(number), np.float32(mean), np.float32(best)))
    return known | metrics
