"""The four methods on a user's own map: coverage and, if it has goals, the steps until one is first reached."""

from dataclasses import dataclass

from action_balance.envs.grid.world import GridWorld
from action_balance.studies import statistics
from action_balance.studies.grid import coverage, first_reach
from action_balance.studies.grid.coverage import Coverage
from action_balance.studies.grid.first_reach import FirstReachSteps
from action_balance.studies.grid.settings import RunSettings
from action_balance.studies.grid.verdict import BASE, HERO
from action_balance.studies.statistics import Estimate
from action_balance.tabular.simulate import Progress, silent

#: Names the random stream of the runs to a goal.
STREAM = 4


@dataclass(frozen=True)
class Exploration:
    """The result."""

    coverage: Coverage
    first_reach: dict[str, FirstReachSteps]  # empty for a map without goals

    @property
    def more_cells(self) -> Estimate | None:
        """How many more cells action-balance-rnd covers than rnd; None unless both ran."""
        if not {HERO, BASE} <= self.coverage.methods.keys():
            return None
        return statistics.difference(*(self.coverage.final_cells(name) for name in (HERO, BASE)))

    @property
    def ratio(self) -> Estimate | None:
        """Mean steps to a goal, rnd over action-balance-rnd; None unless both reached one in all runs."""
        base, hero = self.first_reach.get(BASE), self.first_reach.get(HERO)
        if base is None or hero is None or base.timed_out or hero.timed_out:
            return None
        return statistics.ratio_of_means(base.steps, hero.steps)


def run(world: GridWorld, settings: RunSettings, progress: Progress = silent) -> Exploration:
    """Walk without the goals for the coverage, then run until any goal is reached."""
    covered = coverage.run(world, settings, progress)
    return Exploration(covered, first_reach.run(world, settings, STREAM, progress) if world.goals.any() else {})
