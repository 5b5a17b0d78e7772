"""Sweeps whose runs are written instead of trained."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from action_balance.config.agent import AgentConfig, PPOConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.files import Data
from action_balance.runs import RunFolder
from action_balance.runs.folder import RunStatus
from action_balance.studies.sweep.ledger import Ledger, Trial
from action_balance.studies.sweep.settings import SearchConfig, SweepSettings
from action_balance.studies.sweep.space import Choice, Range, Space

#: 18 updates of 1,000 steps, two seeds.
BASE = TrainConfig(
    env_config("deep-sea", size=4),
    AgentConfig(method="rnd", steps=18_000, envs=10, ppo=PPOConfig(rollout_steps=100, minibatches=5)),
    seed=3,
    seeds=2,
)
RATE, EPOCHS = "ppo.learning_rate", "ppo.epochs"
SPACE = Space((Range(RATE, 1e-4, 1e-2, log=True), Choice(EPOCHS, (2, 4))))


def settings(space: Space = SPACE, base: TrainConfig = BASE, **search: Any) -> SweepSettings:
    """A sweep."""
    return SweepSettings(base, space, SearchConfig(**search))


def ledger(*trials: Trial) -> Ledger:
    """Trials that are not kept anywhere."""
    return Ledger(lambda: None, list(trials))


def trial(number: int, score: float = math.nan, status: Any = "finished", part: int = 18, **more: Any) -> Trial:
    """A trial with one score, after a part of its training."""
    values = more.pop("values", {RATE: 0.001 * (number + 1), EPOCHS: 2})
    points = () if math.isnan(score) else ((part, score),)
    return Trial(number, values, status, score, points, updates=part, steps=1000 * part, seconds=2.0 * part, **more)


def write_run(
    path: Path,
    config: TrainConfig,
    returns: Sequence[Sequence[float]],
    status: RunStatus = "finished",
    about: Data | None = None,
    **more: float,
) -> Path:
    """A run in which each seed has these returns, one per update, and more metrics, at 500 steps per second."""
    folder = RunFolder.create(path, config.with_defaults().to_dict(), ["synthetic"], about=about)
    log = folder.metrics()
    for update, of_seeds in enumerate(zip(*returns, strict=True), start=1):
        steps = update * config.agent.steps_per_update
        rows = [
            {"update": update, "seed": config.seed + place, "steps": steps}
            | {"episode_return": value, "first_reward": -1, "occupied": [1.0, 2.0], **more}
            for place, value in enumerate(of_seeds)
        ]
        log.append(rows, {"steps_per_second": 500.0})
    folder.finish(status)
    return path
