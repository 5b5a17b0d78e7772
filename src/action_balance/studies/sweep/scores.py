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
from action_balance.studies.sweep.settings import parts

#: Scores after parts of a training: the number of the part, and the score.
Points = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Measured:
    """Where a training is."""

    score: float
    """Mean score over the seeds; nan while that of a seed is unknown."""
    updates: int
    """Updates so far."""
    steps: int
    """Environment steps of each seed so far."""
    seconds: float
    """Duration of all updates."""


class ScoreReader:
    """Reads the metrics of a run as they come in."""

    def __init__(self, folder: Path, config: TrainConfig, metric: str) -> None:
        """Nothing is read yet."""
        self._folder, self._config, self._metric = folder, config, metric
        self._values = np.full((config.seeds, config.agent.updates), math.nan)
        self._place, self._updates = BEGINNING, 0

    def read(self) -> None:
        """Read what is new; a `UserError` if the run does not have the metric."""
        file = self._folder / METRICS
        found, place = read_numbers(file, self._place, ("seed", "update", self._metric))
        if place.restarted(self._place):
            self._values[:], self._updates = math.nan, 0
        self._place = place
        seeds, updates = found[:, 0] - self._config.seed, found[:, 1] - 1
        fine = (seeds >= 0) & (seeds < len(self._values)) & (updates >= 0) & (updates < self._values.shape[1])
        self._values[seeds[fine].astype(int), updates[fine].astype(int)] = found[fine, 2]
        self._updates = max(self._updates, int(updates[fine].max(initial=-1)) + 1)
        if len(found) and not np.isfinite(found[:, 2]).any():
            self._check_metric(first_row(file))

    def _check_metric(self, row: dict[str, object]) -> None:
        check_name("metric", self._metric, [name for name in row if name not in KEYS])
        if isinstance(row[self._metric], list):
            raise UserError(f"metric '{self._metric}' has more than one value per update: choose another --metric")

    @property
    def updates(self) -> int:
        """Updates that were read."""
        return self._updates

    def seed_scores(self, updates: int | None = None) -> Float[np.ndarray, " S"]:
        """The score of each seed after so many updates; nan where it is unknown."""
        seen = self._values[:, : self._updates if updates is None else updates]
        if not seen.shape[1]:
            return np.full(len(seen), math.nan)
        return final_mean(carried_forward(seen))

    def measured(self) -> Measured:
        """Where the training is."""
        spent, _ = read_numbers(self._folder / TIMING, BEGINNING, ("steps_per_second",))
        agent = self._config.agent
        seconds = self._config.seeds * agent.steps_per_update * float(np.nansum(1 / spent[spent > 0]))
        score = float(self.seed_scores().mean())
        return Measured(score, self._updates, self._updates * agent.steps_per_update, seconds)

    def points(self) -> Points:
        """The scores after all parts so far."""
        ends = parts(self._config.agent.updates)
        return tuple(
            (part, float(self.seed_scores(update).mean())) for update, part in ends.items() if update <= self._updates
        )
