"""Study ``goals``: steps until a goal is first reached (Section IV-B, Table I, Figure 6)."""

from dataclasses import dataclass

import numpy as np

from action_balance.envs.grid.maps import goal_world
from action_balance.envs.grid.world import Cell, GridWorld
from action_balance.studies import paper, statistics
from action_balance.studies.grid.first_reach import FirstReachSteps
from action_balance.studies.grid.settings import GridSettings
from action_balance.studies.statistics import Agreement, Estimate
from action_balance.tabular import simulate
from action_balance.tabular.simulate import Cohort, Progress, silent

#: Names this study's stream of randomness.
STREAM = 1


@dataclass(frozen=True)
class Goals:
    """The result of the study."""

    world: GridWorld
    goals: tuple[Cell, ...]
    methods: dict[str, dict[Cell, FirstReachSteps]]
    simulated_steps: int

    def average(self, method: str) -> Estimate:
        """Mean over all goals; its interval adds up the variances of the goals."""
        means = [self.methods[method][goal].mean for goal in self.goals]
        value = float(np.mean([mean.value for mean in means]))
        half = float(np.sqrt(sum((mean.high - mean.value) ** 2 for mean in means)) / len(means))
        return Estimate(value, value - half, value + half)

    def all_steps(self, method: str) -> np.ndarray:
        """Steps of all runs, (goals, R)."""
        return np.stack([self.methods[method][goal].steps for goal in self.goals])

    def agreement(self, method: str, goal: Cell) -> Agreement | None:
        """Our mean against Table I; None where the paper has no number."""
        published = paper.TABLE_1.get(method, {}).get(goal)
        if published is None:
            return None
        return statistics.agreement(self.methods[method][goal].steps, published, paper.TABLE_1_RUNS)

    def ratio(self) -> Estimate | None:
        """Mean steps of rnd over those of action-balance-rnd, with a bootstrap interval."""
        if not {"rnd", "action-balance-rnd"} <= self.methods.keys():
            return None
        return statistics.ratio_of_means(self.all_steps("rnd"), self.all_steps("action-balance-rnd"))


def run(settings: GridSettings, progress: Progress = silent) -> Goals:
    """All runs of all methods to all goals, in one queue."""
    kinds = [(method, goal) for method in settings.methods for goal in settings.goals]
    cohorts = [
        Cohort.create(
            method,
            settings.agent,
            (settings.seed, STREAM, *goal),
            goal_world(goal, settings.size, settings.episode_steps).goals,
        )
        for method, goal in kinds
    ]
    found = simulate.reach(settings.world, cohorts, settings.runs, settings.agent, settings.max_steps, progress)
    results: dict[str, dict[Cell, FirstReachSteps]] = {method: {} for method in settings.methods}
    for (method, goal), steps, reached in zip(kinds, found.steps, found.reached, strict=True):
        results[method][goal] = FirstReachSteps(steps, reached)
    return Goals(settings.world, settings.goals, results, int(found.steps.sum()))
