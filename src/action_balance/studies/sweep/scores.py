"""Scores of a training that may still be under way, from its metrics. Axes: S seeds, U updates.

The score of a seed is the mean over the last tenth of its updates, as in `compare`.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from action_balance.config.train import TrainConfig
from action_balance.errors import UserError, check_name
from action_balance.runs.learning_curve import carried_forward, final_mean
from action_balance.runs.metrics import KEYS
from action_balance.runs.rows import BEGINNING, METRICS, TIMING, first_row, read_numbers


@dataclass(frozen=True)
class Measured:
    """Where a training is."""

    score: float  # mean over the seeds; nan while that of a seed is unknown
    updates: int
    seconds: float  # of all updates


def seed_scores(folder: Path, config: TrainConfig, metric: str) -> tuple[Float[np.ndarray, " S"], int]:
    """The score of each seed, nan where it is unknown, and the updates so far; a `UserError` for another metric."""
    found, _ = read_numbers(folder / METRICS, BEGINNING, ("seed", "update", metric))
    seeds, updates = found[:, 0] - config.seed, found[:, 1]
    fine = (seeds >= 0) & (seeds < config.seeds) & (updates >= 1) & (updates <= config.agent.updates)
    done = int(updates[fine].max(initial=0))
    if not done:
        return np.full(config.seeds, math.nan), 0
    if not np.isfinite(found[:, 2]).any():
        _check_metric(first_row(folder / METRICS), metric)
    values = np.full((config.seeds, done), math.nan)
    values[seeds[fine].astype(int), updates[fine].astype(int) - 1] = found[fine, 2]
    return final_mean(carried_forward(values)), done


def _check_metric(row: dict[str, object], metric: str) -> None:
    check_name("metric", metric, [name for name in row if name not in KEYS])
    if isinstance(row[metric], list):
        raise UserError(f"metric '{metric}' has more than one value per update: choose another --metric")


def measure(folder: Path, config: TrainConfig, metric: str) -> Measured:
    scores, updates = seed_scores(folder, config, metric)
    rates, _ = read_numbers(folder / TIMING, BEGINNING, ("steps_per_second",))
    seconds = config.seeds * config.agent.steps_per_update * float(np.nansum(1 / rates[rates > 0]))
    return Measured(float(scores.mean()), updates, seconds)
