"""What is kept of a group of agents. Values are those of the task's metric, in its own units.

Axes: R agents, U updates, P points of the curves.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int, Shaped

from action_balance.config.train import TrainConfig
from action_balance.runs.learning_curve import LAST, carried_forward
from action_balance.runs.owned import LOCK
from action_balance.studies.exploration.settings import TASKS, Condition
from action_balance.studies.records import Arrays, RunRecord, metric_columns, typical_seconds

#: Points of the curves of a record.
POINTS = 40


@dataclass(frozen=True)
class TaskRecord(RunRecord):
    """The agents with one method in one task."""

    steps: Int[np.ndarray, " P"]  # environment steps of each agent at the end of every part of the training
    values: Float[np.ndarray, "R P"]  # mean over the episodes that ended in every part of the training
    final: Float[np.ndarray, " R"]  # mean over the episodes that ended in the last tenth of the updates
    seconds: float  # duration of all updates but the first, which is compiled
    processes: int  # processes that trained runs of this study at the same time, with this one

    @property
    def task(self) -> str:
        return Condition.of(self.name).task

    @property
    def method(self) -> str:
        return Condition.of(self.name).method

    @property
    def scores(self) -> np.ndarray:
        """The score of each agent at the end, (R,), from 0 to 1."""
        return self._scaled(self.final)

    @property
    def efficiency(self) -> np.ndarray:
        """The mean score of each agent over the whole training, (R,): high if it learns early."""
        return self.curve.mean(axis=1)

    @cached_property
    def curve(self) -> np.ndarray:
        """The scores of each agent over the training, (R, P)."""
        return self._scaled(self.values)

    @property
    def steps_per_second(self) -> float:
        updates = self.config.agent.updates - 1
        return updates * self.config.agent.steps_per_update * len(self.final) / self.seconds if updates else np.nan

    def _scaled(self, values: np.ndarray) -> np.ndarray:
        return np.clip(values.astype(float) / TASKS[self.task].best, 0, 1)

    @classmethod
    def extract(cls, path: Path, config: TrainConfig) -> Arrays:
        """Means over the episodes of each part of a finished run."""
        metric, updates = TASKS[Condition.of(path.name).task].metric, config.agent.updates
        columns = metric_columns(path, config, (metric, "episodes"))
        values, episodes = (np.ascontiguousarray(columns[name], np.float32) for name in (metric, "episodes"))
        parts = parts_of(updates)
        last = slice(updates - max(1, int(LAST * updates)), updates)
        return {
            "final": known(means(values, episodes, [slice(0, last.start), last]))[:, -1],
            "steps": np.array([part.stop * config.agent.steps_per_update for part in parts], np.int64),
            "values": known(means(values, episodes, parts)),
            "seconds": typical_seconds(path, config),
            # This run is finished, so that its own lock may be free again.
            "processes": np.array(len({path / LOCK, *path.parent.glob(f"*/{LOCK}")})),
        }


def parts_of(updates: int) -> list[slice]:
    """The parts of a training that are the points of its curve, at most `POINTS`."""
    ends = np.unique(np.ceil(np.linspace(updates / POINTS, updates, POINTS)).astype(int)).tolist()
    return [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def means(
    values: Float[np.ndarray, "R U"], episodes: Shaped[np.ndarray, "R U"], parts: list[slice]
) -> Float[np.ndarray, "R P"]:
    """Means over the episodes that ended in each part of a training.

    All environments begin an episode at the same time, so that those that reach the time limit end in the same updates,
    and only successful ones end in the others: a mean over updates would be far too high.
    """
    found = []
    for part in parts:
        number = episodes[:, part].sum(axis=1)
        total = np.where(episodes[:, part] > 0, values[:, part], 0) * episodes[:, part]
        found.append(np.where(number > 0, total.sum(axis=1) / np.maximum(number, 1), np.nan))
    return np.stack(found, axis=1).astype(np.float32)


def known(means: Float[np.ndarray, "R P"]) -> Float[np.ndarray, "R P"]:
    """Means over time without gaps: the one before where no episode ended, 0 before the first has ended."""
    return np.nan_to_num(carried_forward(means)).astype(np.float32)
