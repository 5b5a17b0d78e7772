"""The training loop: updates, metrics, checkpoints; interrupted at any moment, it goes on where it was.

Axes: S seeds, trained by one program.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from action_balance.agent import learner as train
from action_balance.agent.learner import Metrics
from action_balance.agent.state import TrainState
from action_balance.config.agent import Config
from action_balance.config.serialization import build
from action_balance.engines.device.seeds import Seeds
from action_balance.engines.host.trainer import HostTrainer
from action_balance.engines.memory import memory
from action_balance.engines.messages import Lines, Say
from action_balance.engines.metrics_rows import Progress, check_finite, progress, rows, score
from action_balance.engines.signals import stop_between_updates
from action_balance.envs.base import Environment
from action_balance.envs.host_base import EmulatorsLost, EnvironmentFailed, HostEnvironment
from action_balance.envs.registry import EnvConfig, host_kind, make
from action_balance.envs.spec import Seen
from action_balance.errors import UserError, flag
from action_balance.runs import MetricsLog, RunFolder
from action_balance.runs.folder import Status

if TYPE_CHECKING:
    from action_balance.envs.gymnasium.make import Make

#: Seconds between two checkpoints of an Atari run, which are large.
PATIENCE = 300.0

#: Visits of all pairs are kept at about so many moments of a run, in worlds with at most so many pairs.
VISITS_KEPT, MOST_PAIRS = 60, 40_000

#: Where the manifest of a run says what its agents were made for.
SEEN = "seen"

#: What a resumed run on the host tells: a checkpoint does not hold its environments.
BEGIN_ANEW = "all emulators began anew: the episodes that were under way at the checkpoint are not counted"
GYM_ANEW = BEGIN_ANEW.replace("emulators", "environments")


@dataclass(frozen=True)
class TrainConfig:
    """One training run: what is stored as ``config.json``."""

    env: EnvConfig
    agent: Config = field(default_factory=Config)
    seed: int = 0
    """Seed of the first agent; the others follow."""
    seeds: int = 1
    """Agents that are trained together, each as it would be alone."""
    checkpoint_every: int | None = None
    """Updates between two checkpoints; usual: 50, or what takes five minutes in Atari."""

    def __post_init__(self) -> None:
        for name in ("seeds", "checkpoint_every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"{flag(name)} must be 1 or more, not {value}")
        if not 0 <= self.seed < 2**31 - self.seeds:
            raise UserError(f"--seed must be 0 or more and below {2**31 - self.seeds}, not {self.seed}")

        if self.env.on_host:
            self._check_on_host()
            return
        if self.agent.traits.embedding == "channel":
            raise UserError(f"an action channel is for images, and {self.env.name} has none: use action-balance-rnd")
        _check_unused(self.agent.image, f"{self.env.name} has no images")
        _check_unused(self.agent.host, f"{self.env.name} does not run on the host")

    def _check_on_host(self) -> None:
        kind = "an Atari game" if self.env.game is not None else "a Gymnasium environment"
        if self.agent.traits.next_state == "count":
            raise UserError(f"states of {kind} cannot be counted: use another --method, e.g. rnd")
        if self.env.game is not None:
            _check_unused(self.agent.net, "an Atari game has networks for images")
        elif self.agent.host.threads:
            raise UserError("--threads is for emulators of Atari: leave it out, or use --vectorize async")

    def check_networks(self, images: bool) -> None:
        """That no setting is of networks that a Gymnasium environment has not; known when it was made."""
        if images:
            _check_unused(self.agent.net, f"{self.env.name} has images")
            return
        _check_unused(self.agent.image, f"{self.env.name} has no images")
        if self.agent.traits.embedding == "channel":
            raise UserError(f"an action channel is for images, and {self.env.name} has none: use action-balance-rnd")

    def settled(self) -> "TrainConfig":
        """With what a run on the host chooses when it begins, where it was not asked for.

        The lag is 1 on a GPU, where acting and learning overlap. Environments that step in this process are one group:
        more would step in threads, which gains nothing, and which not every environment bears.
        """
        host = self.agent.host
        if not self.env.on_host:
            return self
        if host.lag is None:
            host = replace(host, lag=int(jax.default_backend() != "cpu"))
        if host.groups is None and self.env.steps_here:
            host = replace(host, groups=1)
        return replace(self, agent=replace(self.agent, host=host))

    def environment(self, key: jax.Array) -> Environment:
        """The environment of the seed with this key."""
        return make(self.env, jax.random.fold_in(key, 1))

    def as_data(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "TrainConfig":
        """From plain data; a `UserError` where a setting is not known, missing or of another kind."""
        made: TrainConfig = build(cls, data)
        return made


def _check_unused(settings: Any, why: str) -> None:
    for one in fields(settings):
        if getattr(settings, one.name) != one.default:
            raise UserError(f"{why}: leave out {flag(one.name)}")


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


def trainer(
    config: TrainConfig, make_env: "Make | None" = None, say: Say = lambda _: None, before: Seen | None = None
) -> Trainer | HostTrainer:
    """What trains the agents of a run.

    Args:
        config: of the run.
        make_env: makes a Gymnasium environment, in place of the one that the config names.
        say: is called with what the user should know of environments on the host, from any thread.
        before: what agents that are there were made for, if that is known.
    """
    if not config.env.on_host:
        return Trainer(config)
    agent, kind = config.settled().agent, host_kind(config.env, make_env, say)
    if kind.seen is not None:
        kind.seen.check(before, config.env.name)
        config.check_networks(kind.dtype == "uint8")
        say(kind.layout)

    def make(seed: int, update: int) -> HostEnvironment:
        return kind.make(agent.envs, agent.groups, (seed, update), agent.host.threads)

    here, seeds = config.env.steps_here and agent.groups == 1, (config.seed, config.seeds)
    return HostTrainer(agent, kind.observation_shape, kind.actions, make, *seeds, kind.dtype, here, kind.seen)


def begin(
    path: Path,
    config: TrainConfig,
    command: Sequence[str],
    tell: Callable[[Progress], None],
    overwrite: bool = False,
    say: Say = lambda _: None,
    make_env: "Make | None" = None,
) -> None:
    """Train from the beginning, in a new folder.

    Args:
        path: the folder.
        config: of the run.
        command: the command line that begins it.
        tell: is called after every update.
        overwrite: delete a run that is there.
        say: is called with each line that the user should know.
        make_env: makes a Gymnasium environment, in place of the one that the config names.
    """
    lines = Lines(say)
    with stop_between_updates() as stop:
        run = trainer(config, make_env, lines)  # what it needs is missed before there is a folder
        folder = RunFolder.create(path, config.as_data(), command, overwrite, _about(run), config.env.packages)
        with _ending(folder, config):
            _go_on(folder, config, run, folder.metrics(), None, 0, tell, stop, lines)
        _pass_on(stop, folder)


def resume(
    folder: RunFolder,
    command: Sequence[str],
    tell: Callable[[Progress], None],
    warn: Say,
    make_env: "Make | None" = None,
) -> None:
    """Go on from the newest intact checkpoint.

    Args:
        folder: of the run.
        command: the command line that resumes it.
        tell: is called after every update.
        warn: is called with each line that the user should know.
        make_env: makes a Gymnasium environment, in place of the one that the config names.
    """
    config = TrainConfig.from_data(folder.config)
    lines = Lines(warn)
    with stop_between_updates() as stop:
        kept = folder.checkpoints().updates()
        run = trainer(config, make_env, lines, seen_by(folder) if kept else None)
        anew = [BEGIN_ANEW] if config.env.game is not None else [GYM_ANEW] if config.env.gym is not None else []
        notes = anew if kept else []
        restored, log = folder.resume(run.shapes() if kept else None, command, notes, _about(run), config.env.packages)
        for warning in restored.warnings:
            warn(warning)
        with _ending(folder, config):
            _go_on(folder, config, run, log, restored.state, restored.update, tell, stop, lines)
        _pass_on(stop, folder)


def seen_by(folder: RunFolder) -> Seen | None:
    """What the agents of a run were made for, where its config does not say all and the run has kept it."""
    return Seen.from_data(folder.manifest.get(SEEN))


def _about(run: Trainer | HostTrainer) -> dict[str, Any]:
    return {SEEN: run.seen.as_data()} if isinstance(run, HostTrainer) and run.seen is not None else {}


def _go_on(
    folder: RunFolder,
    config: TrainConfig,
    run: Trainer | HostTrainer,
    log: MetricsLog,
    state: TrainState | None,
    done: int,
    tell: Callable[[Progress], None],
    stop: threading.Event,
    lines: Lines,
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
    lines: Lines,
) -> None:
    checkpoints, total = folder.checkpoints(), config.agent.updates
    every = config.checkpoint_every or (50 if config.env.game is None else total)
    patience = math.inf if config.checkpoint_every or config.env.game is None else PATIENCE
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
        if update % every == 0 or update == total or stopping or time.perf_counter() - saved > patience:
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
