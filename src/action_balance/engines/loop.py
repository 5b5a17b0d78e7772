"""The training loop: updates, metrics, checkpoints; interrupted at any moment, it goes on where it was.

Axes: S seeds, trained by one program.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from action_balance.agent import learner as train
from action_balance.agent.learner import Metrics
from action_balance.agent.state import TrainState
from action_balance.config.env import EnvConfig, HostEnvConfig
from action_balance.config.legacy import upgrade_env_spec
from action_balance.config.train import TrainConfig
from action_balance.engines.device.seeds import Seeds
from action_balance.engines.host.trainer import HostTrainer
from action_balance.engines.memory import memory
from action_balance.engines.messages import MessageLog, Say
from action_balance.engines.metrics_rows import Progress, check_finite, progress, rows, score
from action_balance.engines.signals import graceful_stop
from action_balance.envs.host_base import EmulatorsLost, EnvironmentFailed, HostEnvironment
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError
from action_balance.runs import MetricsLog, RunFolder
from action_balance.runs.folder import Status

#: Visits of all pairs are kept at about so many moments of a run, in worlds with at most so many pairs.
VISITS_KEPT, MOST_PAIRS = 60, 40_000

#: Where the manifest of a run has the `EnvSpec` that its agents were built for; 0.1.0 wrote "seen".
ENV_SPEC, SEEN = "env_spec", "seen"

#: What a resumed run on the host tells: a checkpoint does not hold its environments.
BEGIN_ANEW = "all environments began anew: the episodes that were under way at the checkpoint are not counted"


class Trainer:
    """The compiled functions of a run in a world that is compiled with the agent."""

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.seeds = Seeds(config.seed, config.seeds)

        def begin(key: jax.Array) -> TrainState:
            return train.begin(config.environment(key), config.agent, jax.random.fold_in(key, 2))

        def step(key: jax.Array, state: TrainState) -> tuple[TrainState, Metrics]:
            return train.train_step(config.environment(key), state, config.agent)

        self._begin_one = begin
        self._begin = self.seeds.compile(begin, arguments=0)
        self.step = self.seeds.compile(step, arguments=1)  # of states in their places

    def begin(self, stopped: Callable[[], bool] = lambda: False) -> TrainState:
        """Fresh states of the seeds, (S, ...); nothing is begun when it is to be stopped."""
        if stopped():
            raise KeyboardInterrupt
        return self.seeds.cut(self._begin())

    def shapes(self) -> TrainState:
        """What `begin` would give, but for the numbers: what a checkpoint is read into."""
        return jax.eval_shape(jax.vmap(self._begin_one), self.seeds.cut(self.seeds.keys))

    def start(self, states: TrainState) -> None:
        """Go on from these states of the seeds, (S, ...)."""
        self._state = self.seeds.place(states)

    def advance(self) -> Metrics:
        """One update; what it tells, (S, ...)."""
        self._state, metrics = self.step(self._state)
        told: Metrics = jax.tree.map(np.asarray, self.seeds.cut(metrics))
        return told

    def visits(self) -> np.ndarray:
        """How often each pair was taken so far, in all seeds together, (states, actions)."""
        counts: np.ndarray = np.asarray(self.seeds.cut(self._state.visits)).sum(axis=0)
        return counts

    def state(self) -> TrainState:
        """States of the seeds, (S, ...)."""
        made: TrainState = self.seeds.cut(self._state)
        return made

    def close(self) -> None:
        """Nothing is to be stopped."""


def trainer(config: TrainConfig, say: Say = lambda _: None, before: EnvSpec | None = None) -> Trainer | HostTrainer:
    """What trains the agents of a run.

    Args:
        config: of the run.
        say: is called with what the user should know of environments on the host, from any thread.
        before: what agents that are there were made for, if that is known.
    """
    env = config.env
    if not isinstance(env, HostEnvConfig):
        config.check_spec(env.spec)
        return Trainer(config)
    agent, spec = config.with_defaults().agent, env.spec
    spec.check_unchanged(before, env.name)
    config.check_spec(spec)
    if text := env.describe():
        say(text)

    def make(seed: int, update: int) -> HostEnvironment:
        return env.make(agent.envs, agent.groups, (seed, update), agent.host.threads, say)

    here, seeds = env.in_process and agent.groups == 1, (config.seed, config.seeds)
    actions = spec.nvec if len(spec.nvec) > 1 else spec.nvec[0]
    return HostTrainer(agent, spec.shape, actions, make, *seeds, spec.dtype, here, spec)


def begin(
    path: Path,
    config: TrainConfig,
    command: Sequence[str],
    tell: Callable[[Progress], None],
    overwrite: bool = False,
    say: Say = lambda _: None,
) -> None:
    """Train from the beginning, in a new folder.

    Args:
        path: the folder.
        config: of the run.
        command: the command line that begins it.
        tell: is called after every update.
        overwrite: delete a run that is there.
        say: is called with each line that the user should know.
    """
    lines = MessageLog(say)
    with graceful_stop() as stop:
        run = trainer(config, lines)  # what it needs is missed before there is a folder
        folder = RunFolder.create(path, config.to_dict(), command, overwrite, _about(run), config.env.packages)
        with _ending(folder, config):
            _go_on(folder, config, run, folder.metrics(), None, 0, tell, stop, lines)
        _pass_on(stop, folder)


def resume(
    folder: RunFolder,
    command: Sequence[str],
    tell: Callable[[Progress], None],
    warn: Say,
    env: EnvConfig | None = None,
) -> None:
    """Go on from the newest intact checkpoint.

    Args:
        folder: of the run.
        command: the command line that resumes it.
        tell: is called after every update.
        warn: is called with each line that the user should know.
        env: the environment, in place of the one that the config names.
    """
    config = TrainConfig.from_dict(folder.config)
    config = replace(config, env=env or config.env)
    lines = MessageLog(warn)
    with graceful_stop() as stop:
        kept = folder.checkpoints().updates()
        run = trainer(config, lines, seen_by(folder) if kept else None)
        notes = [BEGIN_ANEW] if kept and config.env.engine == "host" else []
        restored, log = folder.resume(run.shapes() if kept else None, command, notes, _about(run), config.env.packages)
        for warning in restored.warnings:
            warn(warning)
        with _ending(folder, config):
            _go_on(folder, config, run, log, restored.state, restored.update, tell, stop, lines)
        _pass_on(stop, folder)


def seen_by(folder: RunFolder) -> EnvSpec | None:
    """What the agents of a run were made for, where its config does not say all and the run has kept it."""
    known = folder.manifest.get(ENV_SPEC) or upgrade_env_spec(folder.manifest.get(SEEN), folder.config)
    return EnvSpec.from_dict(known)


def _about(run: Trainer | HostTrainer) -> dict[str, Any]:
    return {ENV_SPEC: run.seen.to_dict()} if isinstance(run, HostTrainer) and run.seen is not None else {}


def _go_on(
    folder: RunFolder,
    config: TrainConfig,
    run: Trainer | HostTrainer,
    log: MetricsLog,
    state: TrainState | None,
    done: int,
    tell: Callable[[Progress], None],
    stop: threading.Event,
    lines: MessageLog,
) -> None:
    """The updates that are missing; from the beginning, where there is no state."""
    try:
        if state is None:
            state = run.begin(stop.is_set)
        if stop.is_set():
            raise KeyboardInterrupt
        run.start(state)
        del state
        _train(folder, config, run, log, done, tell, stop, lines)
    except EmulatorsLost as error:
        raise UserError(f"{error}; {_how_to_go_on(folder, config)}") from None
    finally:
        run.close()
        lines.keep(folder)


def _train(
    folder: RunFolder,
    config: TrainConfig,
    run: Trainer | HostTrainer,
    log: MetricsLog,
    done: int,
    tell: Callable[[Progress], None],
    stop: threading.Event,
    lines: MessageLog,
) -> None:
    checkpoints, total = folder.checkpoints(), config.agent.updates
    watched = -(-total // VISITS_KEPT)
    saved = began = time.perf_counter()
    for update in range(done + 1, total + 1):
        try:
            numbers = run.advance()
        except (EmulatorsLost, EnvironmentFailed):
            if update > done + 1:
                checkpoints.save(update - 1, run.state(), score(numbers))
            raise
        check_finite(numbers, update, checkpoints.updates(), config.agent.ppo.learning_rate)
        now = time.perf_counter()
        rate = config.seeds * config.agent.steps_per_update / (now - began)
        began = now
        steps = update * config.agent.steps_per_update
        log.append(
            rows(numbers, update, steps, config.seed),
            {"update": update, "steps": steps, "steps_per_second": rate, **memory()},
        )
        if isinstance(run, Trainer) and (update % watched == 0 or update == total):
            counts = run.visits()
            if 0 < counts.size <= MOST_PAIRS:
                log.append_visits(update, steps, counts)
        tell(progress(numbers, update, steps))
        lines.keep(folder)
        stopping = stop.is_set()
        if stopping or config.is_checkpoint_due(update, time.perf_counter() - saved):
            checkpoints.save(update, run.state(), score(numbers))
            saved = time.perf_counter()
        if stopping and update < total:
            raise KeyboardInterrupt


@contextmanager
def _ending(folder: RunFolder, config: TrainConfig) -> Iterator[None]:
    """Record how the run ended, and say how one goes on that has not finished."""
    status: Status = "failed"
    nothing = False
    try:
        yield
        status = "finished"
    except EnvironmentFailed as error:
        nothing = not folder.checkpoints().updates()
        hint = "no update was finished, so nothing is kept" if nothing else _how_to_go_on(folder, config)
        raise UserError(f"{error}; {hint}") from error
    except KeyboardInterrupt:
        status = "interrupted"
        raise KeyboardInterrupt(_how_to_go_on(folder, config)) from None
    finally:
        folder.finish(status)
        if nothing:
            RunFolder.delete(folder.path)  # what was mended can be trained there


def _how_to_go_on(folder: RunFolder, config: TrainConfig) -> str:
    kept = folder.checkpoints().updates()
    done = f"update {kept[-1] if kept else 0} of {config.agent.updates} is kept"
    return f"{done}; go on with: action-balance resume {folder.path}"


def _pass_on(stop: threading.Event, folder: RunFolder) -> None:
    """Whoever asked for a stop in the last update wants no other run to begin."""
    if stop.is_set():
        raise KeyboardInterrupt(f"the run in {folder.path} had just finished")
