"""What is kept of the agents of a cell, in one small file. Axes: R agents, P points of the curves."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from action_balance.config.train import TrainConfig
from action_balance.files import Data
from action_balance.studies.cells import device_config, reading_record, record_paths, save_record
from action_balance.studies.exploration.settings import METHODS, TASKS


@dataclass(frozen=True)
class Record:
    """The agents of a cell. Values are those of the task's metric, in its own units."""

    task: str
    method: str
    config: TrainConfig
    made_by: Data  # versions and hardware
    seconds: float  # duration of all updates but the first, which is compiled
    processes: int  # processes that trained cells of this study at the same time, with this one
    final: np.ndarray  # (R,) float32, mean over the episodes that ended in the last tenth of the updates
    finite: np.ndarray  # (R,) bool, whether all parameters were finite numbers at the end
    steps: np.ndarray  # (P,) int64, environment steps of each agent at the end of every part of the training
    values: np.ndarray  # (R, P) float32, mean over the episodes that ended in every part of the training

    @property
    def name(self) -> str:
        """As that of its cell."""
        return f"{self.task}--{self.method}"

    @property
    def limit(self) -> int:
        """Environment steps of the whole training of each agent."""
        return self.config.agent.updates * self.config.agent.steps_per_update

    @property
    def scores(self) -> np.ndarray:
        """The score of each agent at the end, (R,), from 0 to 1."""
        return self._scaled(self.final)

    @property
    def efficiency(self) -> np.ndarray:
        """The mean score of each agent over the whole training, (R,): high if it learns early."""
        return self.curve.mean(axis=1)

    @property
    def curve(self) -> np.ndarray:
        """The scores of each agent over the training, (R, P)."""
        return self._scaled(self.values)

    @property
    def steps_per_second(self) -> float:
        """Environment steps of all agents together per second of training, without the first update."""
        updates = self.config.agent.updates - 1
        return updates * self.config.agent.steps_per_update * len(self.final) / self.seconds if updates else np.nan

    def _scaled(self, values: np.ndarray) -> np.ndarray:
        return np.clip(values.astype(float) / TASKS[self.task].best, 0, 1)

    def save(self, path: Path) -> None:
        """Write it, whole or not at all."""
        about = {
            **{"task": self.task, "method": self.method, "config": self.config.to_dict(), "made_by": self.made_by},
            **{"seconds": round(self.seconds, 3), "processes": self.processes},
        }
        save_record(path, about, {name: getattr(self, name) for name in ARRAYS})

    @classmethod
    def load(cls, path: Path) -> "Record":
        """Read one; a `UserError` if the file is something else."""
        with reading_record(path) as (about, arrays):
            found = cls(
                task=about["task"],
                method=about["method"],
                config=device_config(about),
                made_by=dict(about["made_by"]),
                seconds=float(about["seconds"]),
                processes=int(about["processes"]),
                **{name: arrays[name] for name in ARRAYS},
            )
            found._check()
        return found

    def _check(self) -> None:
        """Raise a ``ValueError`` if the arrays do not belong together."""
        agents, points = len(self.final), len(self.steps)
        shapes = {"final": (agents,), "finite": (agents,), "steps": (points,), "values": (agents, points)}
        fine = self.task in TASKS and self.method in METHODS and agents > 0 and points > 0
        fine = fine and all(getattr(self, name).shape == shape for name, shape in shapes.items())
        if not fine or any(getattr(self, name).dtype.kind not in "biuf" for name in ARRAYS):
            raise ValueError("arrays that do not belong together")


#: The arrays of a record by name.
ARRAYS = ("final", "finite", "steps", "values")


def read_records(out: Path) -> list[Record]:
    """All records of a study, in the order of its tables."""
    tasks, methods = list(TASKS), list(METHODS)
    return sorted(
        map(Record.load, record_paths(out)), key=lambda one: (tasks.index(one.task), methods.index(one.method))
    )
