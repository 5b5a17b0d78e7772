"""Steps until a goal is first reached: shared by the parts ``goals`` and ``corridor`` and by ``explore``.

Axes: R runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from action_balance.envs.grid.world import GridWorld
from action_balance.files import Data
from action_balance.runs.results import ResultFolder
from action_balance.studies import statistics
from action_balance.studies.grid.settings import RunSettings
from action_balance.studies.statistics import Estimate
from action_balance.tabular import simulate
from action_balance.tabular.simulate import Cohort, Progress, silent


@dataclass(frozen=True)
class FirstReachSteps:
    """The runs of one method to one goal."""

    steps: np.ndarray  # (R,) int64, the limit where the goal was not reached
    reached: np.ndarray  # (R,) bool

    @property
    def timed_out(self) -> int:
        """Number of runs that hit the limit; if there are any, the mean is too small."""
        return int((~self.reached).sum())

    @property
    def mean(self) -> Estimate:
        return statistics.mean(self.steps)

    @property
    def numbers(self) -> Data:
        return {
            "mean": statistics.to_data(self.mean),
            "median": float(np.median(self.steps)),
            "given_up": self.timed_out,
        }

    @property
    def rows(self) -> list[tuple[int, float]]:
        """Number and steps of each run for a table; nan, an empty field, for a run that timed out."""
        known = zip(self.steps.tolist(), self.reached, strict=True)
        return [(run, steps if reached else np.nan) for run, (steps, reached) in enumerate(known)]


def run(
    world: GridWorld, settings: RunSettings, stream: int, progress: Progress = silent
) -> dict[str, FirstReachSteps]:
    """Run each method until it reaches one of the world's goals."""
    cohorts = [
        Cohort.create(method, settings.agent, (settings.seed, stream), world.goals) for method in settings.methods
    ]
    found = simulate.reach(world, cohorts, settings.runs, settings.agent, settings.max_steps, progress)
    return {
        method: FirstReachSteps(steps, reached)
        for method, steps, reached in zip(settings.methods, found.steps, found.reached, strict=True)
    }


def write(folder: ResultFolder, name: str, result: Mapping[str, FirstReachSteps]) -> None:
    rows = ((method, *row) for method, found in result.items() for row in found.rows)
    folder.write_csv(name, ("method", "run", "steps"), rows)
