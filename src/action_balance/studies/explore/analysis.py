"""The four methods on a user's own map: coverage and, if it has goals, the steps until one is first reached."""

from dataclasses import dataclass

from action_balance.envs.grid.world import GridWorld
from action_balance.studies.grid import coverage, first_reach
from action_balance.studies.grid.coverage import Coverage
from action_balance.studies.grid.first_reach import FirstReachSteps
from action_balance.studies.grid.settings import RunSettings
from action_balance.tabular.simulate import Progress, silent

#: Names the random stream of the runs to a goal.
STREAM = 4


@dataclass(frozen=True)
class Exploration:
    """The result."""

    coverage: Coverage
    first_reach: dict[str, FirstReachSteps]  # empty for a map without goals


def run(world: GridWorld, settings: RunSettings, progress: Progress = silent) -> Exploration:
    """Walk without the goals for the coverage, then run until any goal is reached.

    Args:
        world: the world.
        settings: settings of the runs.
        progress: called as runs advance.

    Returns:
        Coverage and steps of each method.
    """
    covered = coverage.run(world, settings, progress)
    return Exploration(covered, first_reach.run(world, settings, STREAM, progress) if world.goals.any() else {})
