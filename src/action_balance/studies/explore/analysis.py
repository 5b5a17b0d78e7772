"""The four methods on a user's own map: coverage and, if it has goals, the steps until one is first reached."""

from dataclasses import dataclass

from action_balance.envs.grid.world import GridWorld
from action_balance.studies.grid import coverage, first_reach
from action_balance.studies.grid.coverage import Coverage
from action_balance.studies.grid.first_reach import FirstReachSteps
from action_balance.studies.grid.settings import RunSettings
from action_balance.tabular.simulate import Progress, silent

#: Names this study's stream of randomness.
STREAM = 4


@dataclass(frozen=True)
class Exploration:
    """The result."""

    coverage: Coverage
    first_reach: dict[str, FirstReachSteps]  # empty for a map without goals


def run(world: GridWorld, settings: RunSettings, progress: Progress = silent) -> Exploration:
    """Walks that ignore the goals for the coverage, then runs until any of the goals is reached."""
    covered = coverage.run(
        world, settings.methods, settings.runs, settings.coverage_steps, settings.agent, settings.seed, progress
    )
    return Exploration(covered, first_reach.run(world, settings, STREAM, progress) if world.goals.any() else {})
