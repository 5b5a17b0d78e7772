"""Training with environments on the host: acting, stepping and learning at the same time.

Every group of environments has a thread that waits for its steps, requests actions from the device and sends them; so
some groups step while the agent computes actions for others. With lag 1, the pieces of an update are interleaved with
the decisions of the next rollout, so that environments never wait for a whole update; that rollout uses the policy from
before the update. Which policy acts does not depend on timing: the same seed gives the same run, as far as the device
computes the same. Environments that step in the calling thread are stepped by the thread that made them: some work in
no other, such as those with a window or a database.
Axes: T steps, N environments, S seeds.
"""

import math
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from queue import Empty, SimpleQueue
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Int, Shaped

from action_balance.algorithms.base import Metrics
from action_balance.algorithms.learner import init_agent
from action_balance.algorithms.state import TrainState
from action_balance.config.agent import AgentConfig, HostConfig
from action_balance.core.running_stats import RunningMeanStd
from action_balance.core.stacked import stack, take
from action_balance.engines.base import Trainer, never
from action_balance.engines.host.actor import HostActor, HostRollout, with_episodes
from action_balance.engines.host.compiled_update import CompiledUpdate, default_sharding
from action_balance.engines.metrics_rows import HostMetrics
from action_balance.envs.host_base import (
    TIMEOUT,
    EnvironmentFailed,
    EnvironmentsLost,
    HostEnvironment,
    HostStep,
    first_masks,
    timeout_error,
    with_timeout,
)
from action_balance.envs.masks import sample_allowed
from action_balance.envs.mixed import empty_stats
from action_balance.envs.spec import EnvSpec
from action_balance.errors import MAX
from action_balance.exploration.warmup import loop, warm_up, warmup_steps

#: Share of a rollout over which the pieces of an update are spread; the rest is for those that are late.
SPREAD = 0.9

#: Seconds that a thread has to end its step when all are stopped.
GRACE = 5.0

#: Yields after every piece of an update that was requested from the device, and returns the metrics of all seeds.
Learner = Generator[None, None, list[Metrics]]

# What is compiled for one run serves the next one of a study.
_compiled = lru_cache(maxsize=8)(CompiledUpdate)

# Environments with a thread that may never return. Deleting them would wait for it.
_abandoned: list[HostEnvironment] = []


class HostTrainer(Trainer):
    """Agents with their environments on the host.

    Each seed is an agent with groups of its own; the groups of all seeds share the cores. A seed's run is the same as
    if it were trained alone.
    """

    def __init__(
        self,
        config: AgentConfig,
        spec: EnvSpec,
        make: Callable[[int, int], HostEnvironment],
        first_seed: int = 0,
        seeds: int = 1,
        in_thread: bool = False,
    ) -> None:
        self.config, self._spec, self._make, self._in_thread = config, spec, make, in_thread
        self._seeds = range(first_seed, first_seed + seeds)
        same = replace(config, host=HostConfig(groups=config.groups))  # lag and threads do not matter to programs
        self.compiled = _compiled(same, spec, default_sharding())
        self._environments: list[HostEnvironment] = []
        self._threads: list[threading.Thread] = []
        self._ending = threading.Event()
        self._lost = False
        self._failed: Exception | None = None  # what ended the rollout that was under way
        self._waiting: list[HostRollout] | None = None  # a rollout that was not learned from
        self._under_way = False
        self._left = 0  # rollouts that have not begun
        self.actors: list[HostActor] = []

    spec = property(lambda self: self._spec)
    resume_note = "all environments were restarted: episodes in progress at the checkpoint are not counted"

    def state_shapes(self) -> TrainState:
        # Not the compiled program: one with options of the compiler is not part of another.
        init = partial(init_agent, self.compiled.algorithm, empty_stats(self.spec))
        return jax.eval_shape(jax.vmap(init), jax.random.split(jax.random.key(0), len(self._seeds)))

    def init_state(self, stopped: Callable[[], bool] = never) -> TrainState:
        """See `Trainer.init_state`; ``stopped`` is called before environments are made, and after each random step."""
        self._open(0, stopped)
        states = []
        for seed, environment in zip(self._seeds, self._environments, strict=True):
            stats = self._warm_up(environment, seed, stopped)
            states.append(self.compiled.init(stats, jax.random.fold_in(jax.random.key(seed), 2)))
        stacked: TrainState = stack(states)
        return stacked

    def _open(self, update: int, stopped: Callable[[], bool] = never) -> None:
        if self._environments:
            return
        for seed in self._seeds:
            if stopped():
                raise KeyboardInterrupt
            self._environments.append(self._make(seed, update))

    def _warm_up(self, environment: HostEnvironment, seed: int, stopped: Callable[[], bool]) -> RunningMeanStd:
        stats, steps = empty_stats(self.spec), warmup_steps(self.config)
        if not steps:
            return stats
        generator = np.random.default_rng([seed, 1])
        algorithm, nvec = self.compiled.algorithm, self.spec.nvec
        shape = environment.groups, environment.envs_per_group
        environment.reset()

        @jax.jit
        def numbers(number: Int[Array, ""]) -> Shaped[Array, "envs ..."]:
            drawn = algorithm.distribution.uniform(jax.random.key(number), math.prod(shape))
            return jax.vmap(algorithm.executed)(drawn)

        def receive() -> list[HostStep]:
            return [environment.receive(group) for group in range(environment.groups)]

        def draw(masks: list[Any]) -> np.ndarray:
            if self.spec.lists_actions and not self.spec.masked:
                return generator.integers(
                    nvec if len(nvec) > 1 else nvec[0], size=(*shape, *self.spec.action_shape), dtype=np.int64
                ).astype(np.int32)
            allowed = [sample_allowed(generator, mask, nvec) for mask in masks if mask is not None]
            if self.spec.lists_actions:
                return np.stack(allowed).astype(np.int32)
            actions = np.array(numbers(generator.integers(MAX))).reshape(*shape, -1)
            if allowed:
                actions[..., : len(nvec)] = np.reshape(allowed, (*shape, -1))
            return actions

        def step(masks: list[Any], _: int) -> tuple[list[Any], list[Any]]:
            actions = draw(masks)
            for group, chosen in enumerate(actions):
                environment.send(group, chosen)
            try:
                steps = receive() if self._in_thread else with_timeout(receive, TIMEOUT)
            except EnvironmentsLost:
                self._lost = True
                raise
            if stopped():
                raise KeyboardInterrupt
            return [one.mask for one in steps], [one.next_obs for one in steps]

        return warm_up(stats, step, first_masks(environment), range(steps), loop, self.compiled.update_stats)

    def start(self, states: TrainState) -> None:
        """See `Trainer.start`. The environments begin new episodes."""
        done = int(states.updates[0])
        self._open(done)
        self._left = self.config.updates - done
        for row, environment in enumerate(self._environments):
            state = take(states, row)
            state = self.compiled.new_episodes(state)
            self.actors.append(HostActor(self.compiled, environment, jax.device_put(state, self.compiled.sharding)))
        self.begin_rollout()

    def begin_rollout(self) -> None:
        """Make the first step of a rollout, if one is left: environments are busy while the host does other things."""
        self._under_way = self._left > 0
        if not self._under_way:
            return
        self._left -= 1
        for actor in self.actors:
            actor.begin_rollout()
        for group in self.actors[0].groups:
            for actor in self.actors:
                actor.step(group, 0)

    def end_rollout(self, learner: Learner | None = None) -> list[HostRollout]:
        """Make the other steps of a rollout, interleaved with a learner."""
        turns = [(actor, group) for group in self.actors[0].groups for actor in self.actors]
        each = self.compiled.pieces + (self.compiled.action_evaluations if self.config.host.lag else 0)
        pieces, calls = each * len(self.actors), self.config.algorithm.rollout_steps * len(turns)
        requested = 0
        steps = self._step_here(turns) if self._in_thread else self._step_in_threads(turns, learner is not None)
        for call, _ in enumerate(steps, 1):
            while learner is not None and requested < min(pieces, call * pieces / (calls * SPREAD)):
                next(learner)
                requested += 1
        self._under_way = False
        return [actor.end_rollout() for actor in self.actors]

    def _step_here(self, turns: list[tuple[HostActor, int]]) -> Iterator[None]:
        for number in range(1, self.config.algorithm.rollout_steps):
            for actor, group in turns:
                actor.step(group, number)
                yield
        for actor, group in turns:
            actor.end_group(group)
            yield

    def _step_in_threads(self, turns: list[tuple[HostActor, int]], every: bool) -> Iterator[None]:
        """The steps of all groups, each in a thread of its own; yields after every step, or after the last of each."""
        ticks: SimpleQueue[BaseException | None] = SimpleQueue()
        for place, turn in enumerate(turns):
            thread = threading.Thread(target=self._step, args=(*turn, ticks, every), name=f"group-{place}", daemon=True)
            thread.start()
            self._threads.append(thread)
        for _ in range((self.config.algorithm.rollout_steps if every else 1) * len(turns)):
            self._wait(ticks)
            yield
        for thread in self._threads:
            thread.join()
        self._threads = []

    def _step(self, actor: HostActor, group: int, ticks: "SimpleQueue[BaseException | None]", every: bool) -> None:
        """The rest of a group's rollout, in its thread."""
        try:
            for number in range(1, self.config.algorithm.rollout_steps):
                if self._ending.is_set():
                    return
                actor.step(group, number)
                if every:
                    ticks.put(None)
            actor.end_group(group)
            ticks.put(None)
        except BaseException as error:
            ticks.put(error)

    def _wait(self, ticks: "SimpleQueue[BaseException | None]") -> None:
        while True:
            try:
                error = ticks.get(timeout=1.0)
            except Empty:
                self._check_answers()
                continue
            if error is not None:
                raise error
            return

    def _check_answers(self) -> None:
        waits = [wait for actor in self.actors for wait in actor.waits if wait is not None]
        if waits and time.monotonic() - min(waits) > TIMEOUT:
            raise timeout_error(TIMEOUT)

    def advance(self) -> HostMetrics:
        """See `Trainer.advance`.

        If environments fail during an update, it is finished first: then the states are those of whole updates.
        """
        if self._failed is not None:
            raise self._failed
        if self._waiting is None:
            self._waiting = self.end_rollout()
            if self.config.host.lag:
                self.begin_rollout()
        learned_from, self._waiting = self._waiting, None
        learner = self._learner(learned_from)
        if self._under_way:
            try:
                self._waiting = self.end_rollout(learner)
            except (EnvironmentsLost, EnvironmentFailed) as error:
                self._failed = error
        metrics = _finish(learner)
        if self._failed is None:
            self.begin_rollout()
        # Only now, because it waits for the device.
        known = jax.device_get(metrics)
        pairs = zip(known, learned_from, strict=True)
        rows = [with_episodes(one, rollout) for one, rollout in pairs]
        found: HostMetrics = jax.tree.map(lambda *values: np.stack(values), *rows)
        return found

    def _learner(self, rollouts: list[HostRollout]) -> Learner:
        metrics = []
        for actor, rollout in zip(self.actors, rollouts, strict=True):
            metrics.append((yield from actor.learn(rollout, bool(self.config.host.lag))))
        return metrics

    def state(self) -> TrainState:
        states: TrainState = stack([actor.state for actor in self.actors])
        return states

    def visits(self) -> None:
        """States on the host are not enumerated."""

    def close(self) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join(timeout=GRACE)
        if self._lost or any(thread.is_alive() for thread in self._threads):
            _abandoned.extend(self._environments)
        else:
            for environment in self._environments:
                environment.close()
        self._environments = []


def _finish(learner: Learner) -> list[Metrics]:
    """Request the remaining pieces, and return what the learner returns."""
    while True:
        try:
            next(learner)
        except StopIteration as end:
            metrics: list[Metrics] = end.value
            return metrics
