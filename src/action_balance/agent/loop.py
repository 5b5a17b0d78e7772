"""The training loop: updates, metrics, checkpoints; interrupted at any moment, it goes on where it was.

Axes: S seeds, trained by one program.
"""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import jax
import numpy as np

from action_balance.agent import train
from action_balance.agent.config import BonusConfig, Config, NetConfig, PPOConfig
from action_balance.agent.seeds import Seeds
from action_balance.agent.state import TrainState
from action_balance.agent.train import Metrics
from action_balance.envs.base import Environment
from action_balance.envs.ready import EnvConfig, make
from action_balance.errors import UserError
from action_balance.runs import MetricsLog, RunFolder
from action_balance.runs.folder import Status


@dataclass(frozen=True)
class TrainConfig:
    """One training run: what is stored as ``config.json``."""

    env: EnvConfig
    agent: Config = field(default_factory=Config)
    seed: int = 0
    """Seed of the first agent; the others follow."""
    seeds: int = 1
    """Agents that are trained together, each as it would be alone."""
    checkpoint_every: int = 50
    """Updates between two checkpoints."""

    def __post_init__(self) -> None:
        for name in ("seeds", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise UserError(f"--{name.replace('_', '-')} must be 1 or more, not {getattr(self, name)}")
        if not 0 <= self.seed < 2**31 - self.seeds:
            raise UserError(f"--seed must be 0 or more and below {2**31 - self.seeds}, not {self.seed}")

    def environment(self, key: jax.Array) -> Environment:
        """The environment of the seed with this key."""
        return make(self.env, jax.random.fold_in(key, 1))

    def as_data(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "TrainConfig":
        """From plain data, of which every field must be known."""
        agent = {**data["agent"]}
        for name, part in (("ppo", PPOConfig), ("bonus", BonusConfig), ("net", NetConfig)):
            agent[name] = _build(part, agent[name])
        parts = {"env": _build(EnvConfig, data["env"]), "agent": _build(Config, agent)}
        return _build(cls, {**data, **parts})


def _build(kind: type[Any], data: dict[str, Any]) -> Any:
    unknown = data.keys() - {one.name for one in fields(kind)}
    if unknown:
        raise UserError(f"the config has settings that this version does not know: {', '.join(sorted(unknown))}")
    return kind(**data)


@dataclass(frozen=True)
class Progress:
    """What the screen shows after an update; means over seeds."""

    update: int
    steps: int  # of all seeds
    episode_return: float  # nan before any episode ended
    states: float
    bonus: float


class Trainer:
    """The compiled functions of a run."""

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

    def begin(self) -> TrainState:
        """Fresh states of the seeds, (S, ...)."""
        return self.seeds.cut(self._begin())

    def shapes(self) -> TrainState:
        """What `begin` would give, but for the numbers: what a checkpoint is read into."""
        return jax.eval_shape(jax.vmap(self._begin_one), self.seeds.cut(self.seeds.keys))


def begin(folder: RunFolder, config: TrainConfig, tell: Callable[[Progress], None]) -> None:
    """Train from the beginning."""
    trainer = Trainer(config)
    _go_on(folder, trainer, folder.metrics(), trainer.begin(), 0, tell)


def resume(folder: RunFolder, command: Sequence[str], tell: Callable[[Progress], None]) -> tuple[str, ...]:
    """Go on from the newest intact checkpoint; returns what the user should know."""
    config = TrainConfig.from_data(folder.config)
    trainer = Trainer(config)
    restored, log = folder.resume(trainer.begin(), command)
    _go_on(folder, trainer, log, restored.state, restored.update, tell)
    return restored.warnings


def _go_on(
    folder: RunFolder,
    trainer: Trainer,
    log: MetricsLog,
    state: TrainState,
    done: int,
    tell: Callable[[Progress], None],
) -> None:
    config, checkpoints, seeds = trainer.config, folder.checkpoints(), trainer.seeds
    state = seeds.place(state)
    update, total = done, config.agent.updates
    status: Status = "failed"
    try:
        with _stop_between_updates() as stop:
            while update < total:
                began = time.perf_counter()
                following, metrics = trainer.step(state)
                numbers = jax.tree.map(np.asarray, seeds.cut(metrics))
                _check_finite(numbers, update + 1, checkpoints.updates(), config)
                state, update = following, update + 1
                seconds = time.perf_counter() - began
                steps = update * config.agent.steps_per_update
                rate = config.seeds * config.agent.steps_per_update / seconds
                log.append(
                    _rows(numbers, update, steps, config), {"update": update, "steps": steps, "steps_per_second": rate}
                )
                if update % config.checkpoint_every == 0 or update == total:
                    checkpoints.save(update, seeds.cut(state), _score(numbers))
                tell(_progress(numbers, update, steps, config))
                if stop.is_set() and update < total:
                    checkpoints.save(update, seeds.cut(state), _score(numbers))
                    raise KeyboardInterrupt
        status = "finished"
    except KeyboardInterrupt:
        status = "interrupted"
        kept = checkpoints.updates()
        raise KeyboardInterrupt(
            f"update {kept[-1] if kept else 0} of {total} is kept; go on with: action-balance resume {folder.path}"
        ) from None
    finally:
        folder.finish(status)


@contextmanager
def _stop_between_updates() -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM ask for a stop after the update under way; a second one does not wait for it."""
    stop = threading.Event()

    def ask(*_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _rows(metrics: Metrics, update: int, steps: int, config: TrainConfig) -> list[dict[str, Any]]:
    names = [one.name for one in fields(Metrics)]
    return [
        {"update": update, "seed": config.seed + i, "steps": steps}
        | {name: getattr(metrics, name)[i].tolist() for name in names}
        for i in range(config.seeds)
    ]


def _score(metrics: Metrics) -> float | None:
    """What the best checkpoint has most of: return, mean over the seeds that ended an episode."""
    known = metrics.episode_return[np.isfinite(metrics.episode_return)]
    return float(known.mean()) if len(known) else None


def _progress(metrics: Metrics, update: int, steps: int, config: TrainConfig) -> Progress:
    score = _score(metrics)
    return Progress(
        update=update,
        steps=steps * config.seeds,
        episode_return=math.nan if score is None else score,
        states=float(metrics.states.mean()),
        bonus=float(metrics.bonus_mean.mean()),
    )


def _check_finite(metrics: Metrics, update: int, saved: Sequence[int], config: TrainConfig) -> None:
    """Stop before a broken update is kept."""
    names = [one.name for one in fields(Metrics) if one.name.startswith("loss_")]
    bad = [name for name in names if not np.isfinite(getattr(metrics, name)).all()]
    if not metrics.parameters_finite.all():
        bad.append("parameters")
    if bad:
        good = f"the last good checkpoint is update {saved[-1]}" if saved else "there is no checkpoint yet"
        raise UserError(
            f"update {update}: {', '.join(bad)} not finite; {good}. A smaller --learning-rate than "
            f"{config.agent.ppo.learning_rate:g} may help"
        )
