"""The training loop: updates, metrics, checkpoints; interrupted at any moment, it goes on where it was.

Axes: S seeds, trained by one program.
"""

import json
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field, asdict, dataclass, field, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import jax
import numpy as np

from action_balance.agent import train
from action_balance.agent.config import Config
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
        """From plain data; a `UserError` where a setting is not known, missing or of another kind."""
        made: TrainConfig = _build(cls, data)
        return made


def _build(kind: type[Any], data: dict[str, Any]) -> Any:
    kinds = get_type_hints(kind)
    unknown = data.keys() - kinds.keys()
    if unknown:
        raise UserError(f"the config has settings that this version does not know: {', '.join(sorted(unknown))}")
    needed = {one.name for one in fields(kind) if is_dataclass(kinds[one.name]) or _has_no_default(one)}
    missing = needed - data.keys()
    if missing:
        raise UserError(f"the config is damaged: it lacks {', '.join(sorted(missing))}; put a copy of it back")
    for name, value in data.items():
        if not _fits(value, kinds[name]):
            said = json.dumps(value, ensure_ascii=False)
            raise UserError(f"the config says {name} = {said:.40}, which is not {_in_words(kinds[name])}")
    return kind(**{k: _build(kinds[k], v) if is_dataclass(kinds[k]) else v for k, v in data.items()})


def _has_no_default(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _fits(value: Any, kind: Any) -> bool:
    """Whether plain data is of the kind that a setting has."""
    if isinstance(kind, UnionType):
        return any(_fits(value, one) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if is_dataclass(kind):
        return isinstance(value, dict)
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def _in_words(kind: Any) -> str:
    if isinstance(kind, UnionType):
        return " or ".join(_in_words(one) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    if is_dataclass(kind):
        return "a group of settings"
    words = {int: "a whole number", float: "a number", str: "a word", bool: "true or false", NoneType: "null"}
    return words[kind]


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
    with _stop_between_updates() as stop:
        with _ending(folder, config):
            trainer = Trainer(config)
            _go_on(folder, trainer, folder.metrics(), trainer.begin(), 0, tell, stop)
        _pass_on(stop, folder)


def resume(folder: RunFolder, command: Sequence[str], tell: Callable[[Progress], None]) -> tuple[str, ...]:
    """Go on from the newest intact checkpoint; returns what the user should know."""
    config = TrainConfig.from_data(folder.config)
    with _stop_between_updates() as stop:
        trainer = Trainer(config)
        initial = trainer.shapes() if folder.checkpoints().updates() else trainer.begin()
        restored, log = folder.resume(initial, command)
        with _ending(folder, config):
            _go_on(folder, trainer, log, restored.state, restored.update, tell, stop)
        _pass_on(stop, folder)
    return restored.warnings


def _go_on(
    folder: RunFolder,
    trainer: Trainer,
    log: MetricsLog,
    state: TrainState,
    done: int,
    tell: Callable[[Progress], None],
    stop: threading.Event,
) -> None:
    """The updates that are missing."""
    config, checkpoints, seeds = trainer.config, folder.checkpoints(), trainer.seeds
    state = seeds.place(state)
    total = config.agent.updates
    if stop.is_set():
        raise KeyboardInterrupt
    for update in range(done + 1, total + 1):
        began = time.perf_counter()
        state, metrics = trainer.step(state)
        numbers = jax.tree.map(np.asarray, seeds.cut(metrics))
        _check_finite(numbers, update, checkpoints.updates(), config)
        seconds = time.perf_counter() - began
        steps = update * config.agent.steps_per_update
        rate = config.seeds * config.agent.steps_per_update / seconds
        log.append(_rows(numbers, update, steps, config), {"update": update, "steps": steps, "steps_per_second": rate})
        tell(_progress(numbers, update, steps, config))
        stopping = stop.is_set()
        if update % config.checkpoint_every == 0 or update == total or stopping:
            checkpoints.save(update, seeds.cut(state), _score(numbers))
        if stopping and update < total:
            raise KeyboardInterrupt


@contextmanager
def _ending(folder: RunFolder, config: TrainConfig) -> Iterator[None]:
    """Record how the run ended, and say how an interrupted one goes on."""
    status: Status = "failed"
    try:
        yield
        status = "finished"
    except KeyboardInterrupt:
        status = "interrupted"
        raise KeyboardInterrupt(_how_to_go_on(folder, config)) from None
    finally:
        folder.finish(status)


def _how_to_go_on(folder: RunFolder, config: TrainConfig) -> str:
    kept = folder.checkpoints().updates()
    done = f"update {kept[-1] if kept else 0} of {config.agent.updates} is kept"
    return f"{done}; go on with: action-balance resume {folder.path}"


def _pass_on(stop: threading.Event, folder: RunFolder) -> None:
    """Whoever asked for a stop in the last update wants no other run to begin."""
    if stop.is_set():
        raise KeyboardInterrupt(f"the run in {folder.path} had just finished")


@contextmanager
def _stop_between_updates() -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM ask for a stop after the update under way, or compiling; a second one does not wait for it."""
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
