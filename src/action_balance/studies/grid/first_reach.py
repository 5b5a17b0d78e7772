"""Steps until a goal is first reached, with their figures, for several parts and ``explore``. Axes: R runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from action_balance.envs.grid.world import GridWorld
from action_balance.files import Data
from action_balance.plots import drawing
from action_balance.plots.drawing import COLOURS, MUTED, NAMES, PERCENT, STYLED
from action_balance.runs.results import ResultFolder
from action_balance.studies import statistics
from action_balance.studies.grid.settings import RunSettings
from action_balance.studies.statistics import Estimate
from action_balance.tabular import simulate
from action_balance.tabular.simulate import Cohort, Progress, silent
from action_balance.web.format import count


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
        mean, median = statistics.to_data(self.mean), float(np.median(self.steps))
        return {"mean": mean, "median": median, "given_up": self.timed_out}

    @property
    def rows(self) -> list[tuple[int, float]]:
        """Number and steps of each run for a table; nan, an empty field, for a run that timed out."""
        known = zip(self.steps.tolist(), self.reached, strict=True)
        return [(run, steps if reached else np.nan) for run, (steps, reached) in enumerate(known)]


def reach(
    world: GridWorld, settings: RunSettings, cohorts: Sequence[Cohort], progress: Progress
) -> list[FirstReachSteps]:
    """Run cohorts until they reach one of their goals."""
    found = simulate.reach(world, cohorts, settings.runs, settings.agent, settings.max_steps, progress)
    return [FirstReachSteps(*one) for one in zip(found.steps, found.reached, strict=True)]


def run(
    world: GridWorld, settings: RunSettings, stream: int, progress: Progress = silent
) -> dict[str, FirstReachSteps]:
    """Run each method until it reaches one of the world's goals."""
    agent, methods, streams = settings.agent, settings.methods, (settings.seed, stream)
    cohorts = [Cohort.create(method, agent, streams, world.goals) for method in methods]
    return dict(zip(methods, reach(world, settings, cohorts, progress), strict=True))


def write(folder: ResultFolder, name: str, result: Mapping[str, FirstReachSteps]) -> None:
    rows = ((method, *row) for method, found in result.items() for row in found.rows)
    folder.write_csv(name, ("method", "run", "steps"), rows)


@style.context(STYLED)
def first_reach_steps(found: Mapping[str, FirstReachSteps], title: str = "Share of runs that reached a goal") -> Figure:
    """Share of runs that have reached the goal after each step, with the mean steps as a dot on each curve."""
    figure, axes = drawing.new_figure(title)
    least = min(int(one.steps.min()) for one in found.values())
    most = max(int(one.steps.max()) for one in found.values())
    begin, end, keys = 0.8 * least, 1.25 * most, []
    for name, one in found.items():
        reached, mean = np.sort(one.steps[one.reached]), one.mean
        x = np.concatenate([[begin], reached, [most if one.timed_out else end]])
        share = np.concatenate([[0], np.arange(1, len(reached) + 1), [len(reached)]]) / len(one.steps)
        axes.plot(x, share, drawstyle="steps-post", **drawing.line(name))
        label, key = f"{NAMES[name]}: {mean.value:,.0f}", drawing.line(name) | drawing.dot(name, 7)
        if one.timed_out:
            label, key = f"{NAMES[name]}: unknown, {count(one.timed_out, 'run')} timed out", drawing.line(name)
        else:
            axes.plot(
                mean.value, np.searchsorted(reached, mean.value, side="right") / len(reached), **drawing.dot(name)
            )
            label += "" if np.isnan(mean.low) else f" [{mean.low:,.0f}, {mean.high:,.0f}]"
        keys.append(Line2D([], [], label=label, **key))
    axes.set(xscale="log", xlim=(begin, end), ylim=(0, 1.02), xlabel="steps (logarithmic)", ylabel="share of runs")
    axes.yaxis.set_major_formatter(PERCENT)
    drawing.log_axis(axes.xaxis)
    axes.legend(handles=keys, loc="upper left", title="dots: mean steps [95 % interval]", alignment="left")
    return figure


def box(axes: Axes, x: float, width: float, samples: np.ndarray, name: str) -> None:
    """Draw the quartiles as a box, the middle 90 % as whiskers, and the mean as a dot."""
    colour = COLOURS[name]
    looks: dict[str, Any] = {f"{part}props": {"color": colour} for part in ("whisker", "median")}
    looks["boxprops"] = {"facecolor": to_rgba(colour, 0.28), "edgecolor": colour}
    looks["medianprops"] |= {"linewidth": 2}
    looks |= {"whis": (5, 95), "showfliers": False, "showcaps": False, "patch_artist": True, "manage_ticks": False}
    axes.boxplot([samples], positions=[x], widths=width, **looks)
    axes.plot(x, samples.mean(), **drawing.dot(name, 6))


def box_legend() -> list[Line2D]:
    return [
        Line2D([], [], color=MUTED, linewidth=2, label="median"),
        Line2D([], [], color=MUTED, linewidth=6, alpha=0.4, label="middle half"),
        Line2D([], [], color=MUTED, linewidth=1, label="middle 90 %"),
        drawing.marker(MUTED, "o", "mean"),
    ]


def save_figures(folder: ResultFolder, **figures: Figure | None) -> None:
    """Write figures by name; those that are None are left out."""
    for name, figure in figures.items():
        if figure is not None:
            drawing.save(figure, folder.write, f"figures/{name}")
