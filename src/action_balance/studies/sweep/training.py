"""The training of a trial: an ordinary run that tells the journal its scores, and may be stopped early.

The score of a seed is the mean over the last tenth of its updates, as in `compare`. Axes: S seeds, U updates.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from action_balance.cluster.worker import outcome_of
from action_balance.config.train import TrainConfig
from action_balance.engines.callbacks import Listeners, Update
from action_balance.engines.metrics_rows import Progress
from action_balance.errors import UserError, WriteError, check_name
from action_balance.runs.learning_curve import carried_forward, final_mean
from action_balance.runs.metrics import KEYS
from action_balance.runs.rows import BEGINNING, METRICS, TIMING, first_row, read_numbers
from action_balance.studies import run_job
from action_balance.studies.run_job import RunJob
from action_balance.studies.sweep.settings import rungs


def seed_scores(folder: Path, config: TrainConfig, metric: str) -> tuple[Float[np.ndarray, " S"], int]:
    """The score of each seed, nan where it is unknown, and the updates so far; a `UserError` for another metric."""
    found, _ = read_numbers(folder / METRICS, BEGINNING, ("seed", "update", metric))
    seeds, updates = found[:, 0] - config.seed, found[:, 1]
    fine = (seeds >= 0) & (seeds < config.seeds) & (updates >= 1) & (updates <= config.agent.updates)
    done = int(updates[fine].max(initial=0))
    if not done:
        return np.full(config.seeds, math.nan), 0
    if not np.isfinite(found[:, 2]).any():
        row = first_row(folder / METRICS)
        check_name("metric", metric, [name for name in row if name not in KEYS])
        if isinstance(row[metric], list):
            raise UserError(f"metric '{metric}' has more than one value per update: choose another --metric")
    values = np.full((config.seeds, done), math.nan)
    values[seeds[fine].astype(int), updates[fine].astype(int) - 1] = found[fine, 2]
    return final_mean(carried_forward(values)), done


def measure(folder: Path, config: TrainConfig, metric: str) -> tuple[float, int, float]:
    """The mean score of the seeds, nan while that of one is unknown, the updates so far, and their seconds."""
    scores, updates = seed_scores(folder, config, metric)
    rates, _ = read_numbers(folder / TIMING, BEGINNING, ("steps_per_second",))
    seconds = config.seeds * config.agent.steps_per_update * float(np.nansum(1 / rates[rates > 0]))
    return float(scores.mean()), updates, seconds


@dataclass(frozen=True)
class TrialJob:
    """A trial that a cluster trains."""

    number: int
    run: RunJob
    journal: Path
    metric: str
    early_stopping: bool

    @property
    def name(self) -> str:
        return f"trial {self.number}"

    @property
    def folder(self) -> Path:
        return self.run.folder

    @property
    def updates(self) -> int:
        return self.run.updates

    @property
    def seeds(self) -> int:
        return self.run.seeds

    def saved(self) -> int:
        return self.run.saved()

    def claim(self) -> AbstractContextManager[None]:
        return self.run.claim()

    def train(self, report: Callable[[Progress], None], on_message: Callable[[str], None]) -> None:
        """Train what is missing, unless the trial has ended; what a run says is left out, as there are many."""
        del on_message
        from action_balance.studies.sweep.journal import Journal

        journal, run = Journal(self.journal, self.early_stopping), self.run
        if journal.has_ended(self.number):
            return
        parts = rungs(run.updates)

        def after_update(made: Update) -> bool:
            if made.update not in parts:
                return True
            measured = measure(run.folder, run.config, self.metric)
            known = math.isfinite(measured[0])  # not before the first episode has ended
            return not (known and journal.stops_early(self.number, parts[made.update], *measured))

        try:
            listeners = Listeners(run.command, report, callbacks=[after_update])
            if not run_job.train(run.folder, run.config, listeners, run.trust):
                return
            measured = measure(run.folder, run.config, self.metric)
            if not math.isfinite(measured[0]):
                raise UserError(f"{self.metric} has no value for all seeds in the end")
            journal.finish(self.number, *measured)
        except UserError as error:
            if outcome_of(error).status == "failed" and not isinstance(error, WriteError):
                journal.fail(self.number, str(error))
            raise
