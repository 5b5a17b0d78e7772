"""Sweeps whose runs are written instead of trained."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from inline_cluster import InlineCluster

from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.callbacks import Listeners, Update
from action_balance.runs import MetricsLog, RunFolder, read_metrics
from action_balance.runs.folder import RunStatus
from action_balance.studies.run_job import is_finished
from action_balance.studies.sweep.settings import SearchConfig, SweepSettings
from action_balance.studies.sweep.space import Choice, Range, Space
from action_balance.studies.sweep.trials import Trial

#: 18 updates of 1,000 steps, two seeds.
BASE = TrainConfig(
    env_config("deep-sea", size=4),
    AgentConfig(
        method="rnd",
        steps=18_000,
        envs=10,
        algorithm=PPOConfig(rollout_steps=100, minibatches=5),
        exploration=ExplorationConfig(warmup_rollouts=0),
    ),
    seed=3,
    seeds=2,
)
RATE, EPOCHS = "algorithm.learning_rate", "algorithm.epochs"
SPACE = Space((Range(RATE, 1e-4, 1e-2, log=True), Choice(EPOCHS, (2, 4))))


def settings(space: Space = SPACE, base: TrainConfig = BASE, **search: Any) -> SweepSettings:
    """A sweep."""
    return SweepSettings(base, space, SearchConfig(**search))


def trial(number: int, score: float = math.nan, status: Any = "finished", part: int = 9, **more: Any) -> Trial:
    """A trial of BASE, after a part of its training."""
    values = more.pop("values", {RATE: 0.001 * (number + 1), EPOCHS: 2})
    done = 2 * part
    return Trial(number, values, status, score, part, updates=done, steps=1000 * done, seconds=2.0 * done, **more)


def write_run(
    path: Path, config: TrainConfig, returns: Sequence[Sequence[float]], status: RunStatus = "finished", **more: float
) -> Path:
    """A run in which each seed has these returns, one per update, and more metrics, at 500 steps per second."""
    folder = RunFolder.create(path, config.with_defaults().to_dict(), ["synthetic"])
    for update, of_seeds in enumerate(zip(*returns, strict=True), start=1):
        _append(folder.metrics(), config, update, of_seeds, **more)
    folder.finish(status)
    return path


def _append(log: MetricsLog, config: TrainConfig, update: int, of_seeds: Sequence[float], **more: float) -> None:
    steps = update * config.agent.steps_per_update
    rows = [
        {"update": update, "seed": config.seed + place, "steps": steps}
        | {"episode_return": value, "first_reward": -1, "occupied": [1.0, 2.0], **more}
        for place, value in enumerate(of_seeds)
    ]
    log.append(rows, {"steps_per_second": 500.0})


class Trainer:
    """Writes runs whose return is a function of their settings, in place of `run_job.train`."""

    def __init__(self, value: Callable[[TrainConfig], float]) -> None:
        self.value = value
        self.trained: list[tuple[str, int]] = []  # the names of runs, and the update after which they began
        self.cluster = InlineCluster()  # that it trains for

    def __call__(self, path: Path, config: TrainConfig, listeners: Listeners, trust: bool = False) -> bool:
        del trust
        if is_finished(path, config):
            return True
        is_new = not RunFolder.holds_run(path)
        folder = RunFolder.create(path, config.with_defaults().to_dict(), ["synthetic"]) if is_new else None
        run, total = folder or RunFolder.open(path), config.agent.updates
        begun = max((row["update"] for row in read_metrics(path)), default=0) if not is_new else 0
        self.trained.append((path.name, begun))
        for update in range(begun + 1, total + 1):
            try:
                value = self.value(config)
            except BaseException:
                run.finish("interrupted")
                raise
            _append(run.metrics(), config, update, [value] * config.seeds)
            if not all(
                call(Update(update, total, 0, {}, [], lambda: pytest.fail("it has no state")))
                for call in listeners.callbacks
            ):
                run.finish("interrupted")
                return False
        run.finish("finished")
        return True
