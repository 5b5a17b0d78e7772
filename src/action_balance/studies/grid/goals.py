"""Part ``goals``: steps until a goal is first reached (Section IV-B, Table I, Figure 6). Axes: R runs."""

from dataclasses import dataclass

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from action_balance.envs.grid.maps import goal_world
from action_balance.files import Data
from action_balance.plots.drawing import COLOURS, INK, NAMES, PAPER, STYLED, legend, log_axis, marker, new_figure
from action_balance.runs.results import ResultFolder
from action_balance.studies import paper, statistics
from action_balance.studies.grid import first_reach
from action_balance.studies.grid.first_reach import FirstReachSteps
from action_balance.studies.grid.settings import Cell, GridSettings
from action_balance.studies.statistics import Agreement, Estimate
from action_balance.tabular.simulate import Cohort, Progress, silent
from action_balance.web.format import count

#: Names the random stream of this part.
STREAM = 1


@dataclass(frozen=True)
class Goals:
    """The result."""

    goals: tuple[Cell, ...]
    methods: dict[str, dict[Cell, FirstReachSteps]]
    as_in_paper: bool = False  # whether Table I is comparable

    def average(self, method: str) -> Estimate:
        """Mean over all goals; the variances of the goals add up in its interval."""
        means = [self.methods[method][goal].mean for goal in self.goals]
        value = float(np.mean([mean.value for mean in means]))
        half = float(np.sqrt(sum((mean.high - mean.value) ** 2 for mean in means)) / len(means))
        return Estimate(value, value - half, value + half)

    def all_steps(self, method: str) -> np.ndarray:
        return np.stack([self.methods[method][goal].steps for goal in self.goals])

    def agreement(self, method: str, goal: Cell) -> Agreement | None:
        """Our mean compared with Table I; None where the table has no number."""
        published = paper.TABLE_1.get(method, {}).get(goal)
        if published is None:
            return None
        return statistics.agreement(self.methods[method][goal].steps, published, paper.TABLE_1_RUNS)

    def ratio(self) -> Estimate | None:
        if not {"rnd", "action-balance-rnd"} <= self.methods.keys():
            return None
        return statistics.ratio_of_means(self.all_steps("rnd"), self.all_steps("action-balance-rnd"))

    @property
    def numbers(self) -> Data:
        """The numbers for the summary: mean steps by method and goal, beside Table I where it is comparable."""
        methods: dict[str, Data] = {}
        for name, by_goal in self.methods.items():
            published = paper.TABLE_1.get(name, {}) if self.as_in_paper else {}
            complete = bool(published) and set(by_goal) == set(published)
            methods[name] = {
                "goals": [self._goal(name, goal, published.get(goal)) for goal in by_goal],
                "average": statistics.to_data(self.average(name)),
                "paper_average": sum(published.values()) / len(published) if complete else None,
            }
        every = [goal["agrees"] for method in methods.values() for goal in method["goals"]]
        verdicts = [agrees for agrees in every if agrees is not None]
        return {
            "methods": methods,
            "ratio": statistics.to_data(self.ratio()),
            "compared": len(verdicts),
            "agreeing": sum(verdicts),
        }

    def _goal(self, method: str, goal: Cell, published: float | None) -> Data:
        found = self.methods[method][goal]
        # A mean that cuts some runs short is not comparable.
        verdict = None if published is None or found.timed_out else self.agreement(method, goal)
        return {
            "goal": list(goal),
            **found.numbers,
            "paper": published,
            "z": None if verdict is None else statistics.number(verdict.z),
            "agrees": None if verdict is None else verdict.agrees,
        }


def run(settings: GridSettings, progress: Progress = silent) -> Goals:
    kinds = [(method, goal) for method in settings.methods for goal in settings.goals]
    ends = {goal: goal_world(goal, settings.size, settings.episode_steps).goals for goal in settings.goals}
    seed, agent = settings.seed, settings.agent
    cohorts = [Cohort.create(method, agent, (seed, STREAM, *goal), ends[goal]) for method, goal in kinds]
    found = first_reach.reach(settings.world, settings, cohorts, progress)
    results: dict[str, dict[Cell, FirstReachSteps]] = {method: {} for method in settings.methods}
    for (method, goal), one in zip(kinds, found, strict=True):
        results[method][goal] = one
    return Goals(settings.goals, results, settings.as_in_paper)


@style.context(STYLED)
def goal_boxes(result: Goals) -> Figure:
    """Steps until each goal is first reached, one box per method, with the paper's means where comparable."""
    boxes = len(result.goals) * (len(result.methods) + 1)
    figure, axes = new_figure("Steps until the goal is first reached", width=8 * min(max(1, boxes / 30), 3))
    width = 0.8 / len(result.methods)
    compared = False
    for group, goal in enumerate(result.goals):
        for place, (name, by_goal) in enumerate(result.methods.items()):
            x = group + (place - (len(result.methods) - 1) / 2) * width
            first_reach.box(axes, x, 0.72 * width, by_goal[goal].steps, name)
            published = paper.TABLE_1.get(name, {}).get(goal) if result.as_in_paper else None
            if published is not None:
                compared = True
                axes.plot(x + 0.3 * width, published, "D", color=PAPER, markeredgecolor=INK, markersize=5.5, zorder=5)
    axes.set(yscale="log", xlim=(-0.55, len(result.goals) - 0.45), ylabel="steps (logarithmic)")
    axes.set_xticks(range(len(result.goals)), [f"goal ({x}, {y})" for x, y in result.goals])
    axes.tick_params(axis="x", length=0, labelsize=9.5, labelcolor=INK)
    axes.grid(visible=False, axis="x")
    log_axis(axes.yaxis)
    timed_out = sum(one.timed_out for by_goal in result.methods.values() for one in by_goal.values())
    if timed_out:
        axes.set_xlabel(f"{count(timed_out, 'run')} timed out, counted with their steps so far")
    keys = [Line2D([], [], color=COLOURS[name], linewidth=6, alpha=0.7, label=NAMES[name]) for name in result.methods]
    axes.legend(handles=keys, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, ncols=len(keys))
    legend(
        figure, [*first_reach.box_legend(), *([marker(PAPER, "D", "mean in the paper", INK, 5.5)] if compared else [])]
    )
    return figure


def reproduce(settings: GridSettings, folder: ResultFolder, progress: Progress) -> tuple[Data, int]:
    result = run(settings, progress)
    every = [(name, goal, one) for name, by_goal in result.methods.items() for goal, one in by_goal.items()]
    rows = ((method, *goal, *row) for method, goal, found in every for row in found.rows)
    folder.write_csv("goals.csv", ("method", "goal_x", "goal_y", "run", "steps"), rows)
    first_reach.save_figures(folder, goal_boxes=goal_boxes(result))
    return result.numbers, sum(int(found.steps.sum()) for *_, found in every)
