"""Training where environments run on the host: acting, emulating and learning at the same time.

Every group of environments has a thread that waits for its emulators, asks the device for actions and hands them over;
so some groups are emulated while the agent decides for others. With lag 1, the pieces of an update are put between the
decisions of the next rollout, so that the emulators never wait for a whole update; that rollout is made by the policy
before the update. Which policy decides does not depend on how fast anything was: the same seed gives the same run, as
far as the device computes the same.
Environments that step in the thread that asks them to, and not aside, are played by the thread that made them: some
bear no other, such as those with a window or a database.
Axes: T steps, N environments, S seeds.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import lru_cache
from queue import Empty, SimpleQueue
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.agent.learner import Metrics
from action_balance.agent.state import TrainState
from action_balance.config.agent import Config, HostConfig
from action_balance.core.running_stats import RunningMeanStd
from action_balance.engines.host.actor import HostActor, Rollout, with_episodes
from action_balance.engines.host.compiled_update import CompiledUpdate, usual_place
from action_balance.envs.host_base import (
    TIMEOUT,
    EmulatorsLost,
    EnvironmentFailed,
    HostEnvironment,
    HostStep,
    silent,
    with_timeout,
)
from action_balance.envs.spec import EnvSpec

#: Share of a rollout over which the pieces of an update are spread; the rest is for what comes late.
SPREAD = 0.9

#: Seconds that a thread has to end its step, when all end.
GRACE = 5.0

#: One for every piece of an update that the device was asked for; in the end, what all seeds tell.
Learner = Generator[None, None, list[Metrics]]

# What is compiled for one run serves the next one of a study.
_programs = lru_cache(maxsize=8)(CompiledUpdate)

# Environments with a thread that may never come back. Whoever deletes them waits for it.
_given_up: list[HostEnvironment] = []


class HostTrainer:
    """Agents with their environments on the host, trained update by update.

    Each seed is an agent with groups of its own; the groups of all seeds share the cores. A seed's run is as if it were
    alone.
    """

    def __init__(
        self,
        config: Config,
        observation_shape: tuple[int, ...],
        actions: int | tuple[int, ...],
        make: Callable[[int, int], HostEnvironment],
        first_seed: int = 0,
        seeds: int = 1,
        dtype: str = "uint8",
        here: bool = False,
        seen: EnvSpec | None = None,
    ) -> None:
        """Nothing is started yet.

        Args:
            config: of the agents, with a lag.
            observation_shape: (K, ...).
            actions: A, or the choices of each component.
            make: environments of a seed, which go on after so many updates.
            first_seed: the others follow.
            seeds: S.
            dtype: of a frame.
            here: play in the thread that calls, because nothing would be won by another.
            seen: what the run is to keep of all this.
        """
        self.config, self._make, self._here, self.seen = config, make, here, seen
        self._shape, self._numbers = observation_shape, range(first_seed, first_seed + seeds)
        same = replace(config, host=HostConfig(groups=config.groups))  # lag and threads are the host's business
        self.programs = _programs(same, observation_shape, actions, dtype, usual_place())
        self._environments: list[HostEnvironment] = []
        self._threads: list[threading.Thread] = []
        self._ending = threading.Event()
        self._lost = False
        self._failed: Exception | None = None  # what ended the rollout that was under way
        self._waiting: list[Rollout] | None = None  # that nobody has learned from
        self._under_way = False
        self._left = 0  # rollouts that have not begun
        self.players: list[HostActor] = []

    def shapes(self) -> TrainState:
        """What `begin` would give, but for the numbers: what a checkpoint is read into."""

        def begin(key: jax.Array) -> TrainState:
            return self.programs.begin(RunningMeanStd.empty(self._shape[1:]), key)

        made: TrainState = jax.eval_shape(jax.vmap(begin), jax.random.split(jax.random.key(0), len(self._numbers)))
        return made

    def begin(self, stopped: Callable[[], bool] = lambda: False) -> TrainState:
        """Fresh states of the seeds, (S, ...), with statistics of what a random agent reaches.

        Args:
            stopped: whether to stop, which raises a KeyboardInterrupt; asked before environments are made, and after
                each step.
        """
        self._open(0, stopped)
        states = []
        for number, environment in zip(self._numbers, self._environments, strict=True):
            moments = self._warm_up(environment, number, stopped)
            states.append(self.programs.begin(moments, jax.random.fold_in(jax.random.key(number), 2)))
        return _stacked(states)

    def _open(self, update: int, stopped: Callable[[], bool] = lambda: False) -> None:
        if self._environments:
            return
        for number in self._numbers:
            if stopped():
                raise KeyboardInterrupt
            self._environments.append(self._make(number, update))

    def _warm_up(self, environment: HostEnvironment, number: int, stopped: Callable[[], bool]) -> RunningMeanStd:
        moments = RunningMeanStd.empty(self._shape[1:])
        traits, normalizes_obs = self.config.traits, self.programs.normalizes_obs and not self.config.traits.uniform
        if traits.next_state != "rnd" and not traits.action and not normalizes_obs:
            return moments  # nobody looks at them
        luck = np.random.default_rng([number, 1])
        size: tuple[int, ...] = (environment.groups, environment.envs_per_group)
        nvec = environment.spec.nvec
        size += (len(nvec),) if len(nvec) > 1 else ()
        environment.reset()

        def receive() -> list[HostStep]:
            return [environment.receive(group) for group in range(environment.groups)]

        for _ in range(self.config.bonus.warmup_rollouts * self.config.ppo.rollout_steps):
            actions = luck.integers(self.programs.actions, size=size)
            for group, chosen in enumerate(actions):
                environment.send(group, chosen.astype(np.int32))
            try:
                steps = receive() if self._here else with_timeout(receive, TIMEOUT)
            except EmulatorsLost:
                self._lost = True
                raise
            for step in steps:
                moments = self.programs.update(moments, step.next_obs)
            if stopped():
                raise KeyboardInterrupt
        return moments

    def start(self, states: TrainState) -> None:
        """Go on from these states of the seeds, (S, ...). The emulators begin with new episodes."""
        done = int(states.updates[0])
        self._open(done)
        self._left = self.config.updates - done
        for row, environment in enumerate(self._environments):
            state = jax.tree.map(lambda leaf, row=row: jnp.asarray(leaf)[row], states)
            self.players.append(HostActor(self.programs, environment, jax.device_put(state, self.programs.place)))
        self.begin_rollout()

    def begin_rollout(self) -> None:
        """The first step of a rollout, if one is left: then the emulators are busy while the host does other things."""
        self._under_way = self._left > 0
        if not self._under_way:
            return
        self._left -= 1
        for player in self.players:
            player.begin_rollout()
        for group in self.players[0].groups:
            for player in self.players:
                player.step(group, 0)

    def end_rollout(self, learner: Learner | None = None) -> list[Rollout]:
        """The other steps of a rollout, with a learner between them."""
        turns = [(player, group) for group in self.players[0].groups for player in self.players]
        each = self.programs.pieces + (self.programs.action_evaluations if self.config.host.lag else 0)
        pieces, calls = each * len(self.players), self.config.ppo.rollout_steps * len(turns)
        asked = 0
        steps = self._steps_here(turns) if self._here else self._steps_aside(turns, learner is not None)
        for call, _ in enumerate(steps, 1):
            while learner is not None and asked < min(pieces, call * pieces / (calls * SPREAD)):
                next(learner)
                asked += 1
        self._under_way = False
        return [player.end_rollout() for player in self.players]

    def _steps_here(self, turns: list[tuple[HostActor, int]]) -> Iterator[None]:
        """The steps of all groups, in this thread."""
        for number in range(1, self.config.ppo.rollout_steps):
            for player, group in turns:
                player.step(group, number)
                yield
        for player, group in turns:
            player.end_group(group)
            yield

    def _steps_aside(self, turns: list[tuple[HostActor, int]], every: bool) -> Iterator[None]:
        """The steps of all groups, in a thread for each; or, where nobody has to know of every step, their ends."""
        ticks: SimpleQueue[BaseException | None] = SimpleQueue()
        for place, turn in enumerate(turns):
            thread = threading.Thread(target=self._play, args=(*turn, ticks, every), name=f"group-{place}", daemon=True)
            thread.start()
            self._threads.append(thread)
        for _ in range((self.config.ppo.rollout_steps if every else 1) * len(turns)):
            self._wait(ticks)
            yield
        for thread in self._threads:
            thread.join()
        self._threads = []

    def _play(self, player: HostActor, group: int, ticks: "SimpleQueue[BaseException | None]", every: bool) -> None:
        """The rest of a group's rollout, in a thread of its own, which tells of every step or of its end."""
        try:
            for number in range(1, self.config.ppo.rollout_steps):
                if self._ending.is_set():
                    return
                player.step(group, number)
                if every:
                    ticks.put(None)
            player.end_group(group)
            ticks.put(None)
        except BaseException as error:
            ticks.put(error)

    def _wait(self, ticks: "SimpleQueue[BaseException | None]") -> None:
        """Until a group has made a step."""
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
        waits = [wait for player in self.players for wait in player.waits if wait is not None]
        if waits and time.monotonic() - min(waits) > TIMEOUT:
            raise silent(TIMEOUT)

    def advance(self) -> Metrics:
        """One update of every seed; what it tells, (S, ...).

        Where environments fail during an update, it is finished first: then the states are those of whole updates.
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
            except (EmulatorsLost, EnvironmentFailed) as error:
                self._failed = error
        told = _last(learner)
        if self._failed is None:
            self.begin_rollout()
        # Only now, because it waits for the device.
        known = jax.device_get(told)
        return _stacked([with_episodes(one, over) for one, over in zip(known, learned_from, strict=True)], np)

    def _learner(self, rollouts: list[Rollout]) -> Learner:
        told = []
        for player, over in zip(self.players, rollouts, strict=True):
            told.append((yield from player.learn(over, bool(self.config.host.lag))))
        return told

    def state(self) -> TrainState:
        """States of the seeds, (S, ...)."""
        return _stacked([player.state for player in self.players])

    def close(self) -> None:
        """Stop the emulators."""
        self._ending.set()
        for thread in self._threads:
            thread.join(timeout=GRACE)
        if self._lost or any(thread.is_alive() for thread in self._threads):
            _given_up.extend(self._environments)
        else:
            for environment in self._environments:
                environment.close()
        self._environments = []


def _last(learner: Learner) -> list[Metrics]:
    """What a learner tells in the end."""
    while True:
        try:
            next(learner)
        except StopIteration as end:
            told: list[Metrics] = end.value
            return told


def _stacked(trees: list[Any], library: Any = jnp) -> Any:
    return jax.tree.map(lambda *leaves: library.stack(leaves), *trees)
