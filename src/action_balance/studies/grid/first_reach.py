"""Steps until a goal is first reached, as the studies ``goals`` and ``corridor`` and users' own maps share them."""

from dataclasses import dataclass

import numpy as np

from action_balance.envs.grid.world import GridWorld
from action_balance.studies import statistics
from action_balance.studies.grid.settings import RunSettings
from action_balance.studies.statistics import Estimate
from action_balance.tabular import simulate
from action_balance.tabular.simulate import Cohort, Progress, silent


@dataclass(frozen=True)
class FirstReachSteps:
    """The runs of one method to one goal."""

    steps: np.ndarray  # (R,) int64, the limit where it was never reached
    reached: np.ndarray  # (R,) bool

    @property
    def given_up(self) -> int:
        """Runs that hit the limit; with any, the mean is too small."""
        return int((~self.reached).sum())

    @property
    def mean(self) -> Estimate:
        """Mean steps."""
        return statistics.mean(self.steps)


def run(
    world: GridWorld, settings: RunSettings, stream: int, progress: Progress = silent
) -> dict[str, FirstReachSteps]:
    """Runs of each method until one of the world's goals is reached."""
    cohorts = [
        Cohort.create(method, settings.agent, (settings.seed, stream), world.goals) for method in settings.methods
    ]
    found = simulate.reach(world, cohorts, settings.runs, settings.agent, settings.max_steps, progress)
    return {
        method: FirstReachSteps(steps, reached)
        for method, steps, reached in zip(settings.methods, found.steps, found.reached, strict=True)
    }
