"""Part ``coverage``: how much of a world without rewards each method covers (Section IV-A, Figures 4 and 5).

Axes: R runs, K recorded steps, M moments of the heat maps, S cells, T steps of a run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure

from action_balance.envs.grid.world import GridWorld
from action_balance.files import Data
from action_balance.plots import drawing
from action_balance.plots.drawing import COLOURS, MUTED, NAMES, PAPER, PERCENT, POINTS, SIGNED_PERCENT, STYLED
from action_balance.plots.heatmaps import heatmaps
from action_balance.runs.results import ResultFolder
from action_balance.studies import statistics
from action_balance.studies.grid import film, first_reach, trace_file
from action_balance.studies.grid.film import Walks, as_maps, film_moments
from action_balance.studies.grid.settings import GridSettings, RunSettings
from action_balance.studies.statistics import Estimate
from action_balance.tabular.simulate import Progress, silent

#: Steps between two records of the coverage.
RECORD_EVERY = 10

#: Steps at which the paper shows heat maps (Figure 5); the last step is added.
MOMENTS = (1000, 2000, 3000, 4000)

#: Mean and both ends of its interval, (K,) each.
Band = tuple[np.ndarray, np.ndarray, np.ndarray]

#: Names the random stream of this part.
STREAM = 0

#: The most runs that are drawn as single points.
SHOWN_RUNS = 300


@dataclass(frozen=True)
class Coverage:
    """The result."""

    world: GridWorld
    steps: np.ndarray  # (K,) int, the recorded steps
    moments: tuple[int, ...]  # steps of the heat maps, including those of the paper
    reachable: int  # number of cells that can be covered
    methods: dict[str, Walks]

    def rate(self, method: str) -> Band:
        """Coverage rate, visited over reachable cells: mean and both ends of its interval, each (K,)."""
        return statistics.mean_band(self.methods[method].cells / self.reachable)

    def final_cells(self, method: str) -> np.ndarray:
        return self.methods[method].cells[:, -1]

    def increase(self, method: str) -> np.ndarray | None:
        """Relative increase of the mean coverage over that of random, (K,); None without random."""
        if "random" not in self.methods:
            return None
        random = self.methods["random"].cells.mean(axis=0)
        return (self.methods[method].cells.mean(axis=0) - random) / random

    def overtakes(self, method: str) -> int | None:
        """The recorded step from which on the mean coverage stays above that of random; None if it never does."""
        increase = self.increase(method)
        if increase is None:
            return None
        step = overtaking_steps(increase[None], self.steps)[0]
        return int(step) if np.isfinite(step) else None

    def times_sooner(self) -> Estimate | None:
        """How many times sooner than rnd action-balance-rnd overtakes random for good.

        The interval is a bootstrap over runs. None where a method is missing or never overtakes random.
        """
        names = ("rnd", "action-balance-rnd")
        if not {"random", *names} <= self.methods.keys():
            return None
        slow, fast = (self.overtakes(name) for name in names)
        if slow is None or fast is None:
            return None
        runs = len(self.final_cells("rnd"))
        if not statistics.has_interval(runs):
            return Estimate(slow / fast, np.nan, np.nan)
        random, *means = (
            statistics.resample_weights(runs, seed) @ self.methods[name].cells.astype(np.float32)
            for seed, name in enumerate(("random", *names))
        )
        slow_steps, fast_steps = (overtaking_steps(mean - random, self.steps) for mean in means)
        # The ratio of a resample is infinite if only rnd never overtakes, zero if only action balance never does, and
        # undefined if neither does.
        with np.errstate(invalid="ignore"):
            ratios = np.sort(slow_steps / fast_steps)
        ratios = ratios[~np.isnan(ratios)]
        low, high = (float(ratios[round(q * (len(ratios) - 1))]) for q in (0.025, 0.975))
        return Estimate(slow / fast, low, high)

    @property
    def numbers(self) -> Data:
        methods: dict[str, Data] = {}
        for name in self.methods:
            cells, increase = statistics.mean(self.final_cells(name)), self.increase(name)
            methods[name] = {
                "final_cells": statistics.to_data(cells),
                "final_rate": cells.value / self.reachable,
                "relative_increase": None if increase is None else float(increase[-1]),
                "stays_above_random_from": self.overtakes(name),
            }
        more_cells, more_increase = None, None
        if {"rnd", "action-balance-rnd"} <= self.methods.keys():
            more_cells = statistics.difference(self.final_cells("action-balance-rnd"), self.final_cells("rnd"))
            if "random" in methods:
                more_increase = methods["action-balance-rnd"]["relative_increase"] - methods["rnd"]["relative_increase"]
        return {
            "steps": int(self.steps[-1]),
            "reachable_cells": self.reachable,
            "methods": methods,
            "times_sooner": statistics.to_data(self.times_sooner()),
            "more_cells": statistics.to_data(more_cells),
            "more_increase": more_increase,
        }


def overtaking_steps(increase: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Step from which on values stay positive, (..., K) -> (...); infinite if the last value is not positive."""
    above_from_here = np.flip(np.logical_and.accumulate(np.flip(increase > 0, -1), axis=-1), -1)
    return np.where(above_from_here[..., -1], steps[above_from_here.argmax(axis=-1)], np.inf)


def run(world: GridWorld, settings: RunSettings, progress: Progress = silent) -> Coverage:
    """Simulate runs of a fixed length; goals of the world are ignored."""
    steps, world = settings.coverage_steps, world.without_goals()
    recorded = np.unique([*range(RECORD_EVERY, steps, RECORD_EVERY), steps])
    moments = film_moments(steps, world.cells * len(settings.methods), MOMENTS)
    found = film.simulated(world, settings, STREAM, recorded, moments, progress)
    methods = {name: walks for name, walks, _, _ in found}
    return Coverage(world, recorded, moments, world.reachable_cells(), methods)


def write_curves(folder: ResultFolder, name: str, steps: np.ndarray, rates: Mapping[str, Band]) -> None:
    """Write a table of coverage rates: the mean over runs and both ends of its interval at each step."""
    folder.write_csv(
        name,
        ("method", "step", "mean", "low", "high"),
        (
            (method, step, *(round(float(part[i]), 6) for part in rate))
            for method, rate in rates.items()
            for i, step in enumerate(steps)
        ),
    )


def write(folder: ResultFolder, result: Coverage) -> None:
    """Write ``coverage.csv``, ``coverage_final.csv``, heat maps and figures."""
    write_curves(folder, "coverage.csv", result.steps, {method: result.rate(method) for method in result.methods})
    folder.write_csv(
        "coverage_final.csv",
        ("method", "run", "cells"),
        ((method, run, cells) for method in result.methods for run, cells in enumerate(result.final_cells(method))),
    )
    maps = {name: method.visits for name, method in result.methods.items()}
    maps |= {f"covered_{name}": method.covered for name, method in result.methods.items()}
    folder.add_arrays("heatmaps.npz", {"moments": np.array(result.moments), **as_maps(result.world, maps)})
    first_reach.save_figures(
        folder,
        coverage_rate=coverage_rate(result),
        relative_increase=relative_increase(result),
        heatmaps=visited(result),
        final_cells=final_cells(result),
    )


@style.context(STYLED)
def coverage_rate(result: Coverage) -> Figure:
    """Share of the reachable cells covered so far: mean over runs with its 95 % band."""
    figure, axes = drawing.new_figure("Share of the world covered so far")
    chosen = drawing.thinned(len(result.steps))
    ends = []
    for name in result.methods:
        mean, low, high = (part[chosen] for part in result.rate(name))
        drawing.curve(axes, name, result.steps[chosen], mean, low, high)
        ends.append((float(mean[-1]), name, NAMES[name]))
    axes.set(xlim=(0, result.steps[-1]), xlabel="step", ylabel="coverage rate")
    axes.set_ylim(0, min(axes.get_ylim()[1], 1))
    axes.yaxis.set_major_formatter(PERCENT)
    drawing.count_axis(axes.xaxis)
    drawing.end_labels(axes, ends)
    return figure


@style.context(STYLED)
def relative_increase(result: Coverage) -> Figure | None:
    """Mean coverage relative to that of random, and the step from which on it stays above; None without random.

    The step axis is logarithmic, so that a distance shows how many times sooner one method overtakes than another.
    """
    others = [name for name in result.methods if name != "random"]
    if "random" not in result.methods or not others:
        return None
    figure, axes = drawing.new_figure("Coverage relative to random, and the step from which it stays above")
    last = int(result.steps[-1])
    begin = max(int(result.steps[0]), min(100, last // 20))
    chosen = np.unique(np.geomspace(1, len(result.steps), POINTS).round().astype(int)) - 1
    chosen = chosen[result.steps[chosen] >= begin]
    curves = {name: [part[chosen] for part in _increase(result, name)] for name in others}
    axes.axhline(0, **drawing.line("random"))
    for name, (increase, half) in curves.items():
        drawing.curve(axes, name, result.steps[chosen], increase, increase - half, increase + half)
    overtaking = sorted((step, name) for name in others if (step := result.overtakes(name)) is not None)
    for place, (step, name) in enumerate(overtaking):
        at, above = (max(step, begin), 0), place % 2 == 0
        looks: dict[str, Any] = {"color": COLOURS[name], "bbox": {"fc": PAPER, "ec": "none", "pad": 0.6}}
        looks |= {"ha": "right" if 1.3 * step > last else "center", "weight": "bold", "zorder": 4}
        axes.annotate(f"{step:,}", at, (0, 9 if above else -16), textcoords="offset points", **looks)
        axes.plot(*at, **drawing.dot(name))
    low, high = (limit([limit(increase) for increase, _ in curves.values()]) for limit in (min, max))
    room = 0.25 * max(high - low, 0.02)
    axes.set(xscale="log", xlabel="step (logarithmic)", ylabel="relative increase over random")
    axes.set(xlim=(begin, last) if begin < last else None, ylim=(min(low, 0) - room, max(high, 0) + room))
    axes.yaxis.set_major_formatter(SIGNED_PERCENT)
    drawing.log_axis(axes.xaxis)
    last_values = {"random": 0.0} | {name: float(increase[-1]) for name, (increase, _) in curves.items()}
    drawing.end_labels(axes, [(value, name, NAMES[name]) for name, value in last_values.items()])
    return figure


def _increase(result: Coverage, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Relative increase over random, and half its 95 % interval by propagation of error; each (K,)."""
    ours, random = result.methods[name].cells, result.methods["random"].cells
    mean, base = ours.mean(axis=0), random.mean(axis=0)
    half = np.hypot(statistics.half_width(ours) / base, mean * statistics.half_width(random) / base**2)
    return mean / base - 1, half


@style.context(STYLED)
def visited(result: Coverage) -> Figure:
    """Mean visits of each cell until some moments (rows) by each method (columns)."""
    visits = [method.visits for method in result.methods.values()]
    rows = {
        f"{moment:,}\nsteps": [one[place] for one in visits]
        for place, moment in enumerate(result.moments)
        if moment in (*MOMENTS, result.moments[-1])
    }
    return heatmaps("Visits per cell", result.world, rows, [NAMES[name] for name in result.methods])


@style.context(STYLED)
def final_cells(result: Coverage) -> Figure:
    """Cells covered in the end: every run as a point, and a box per method."""
    figure, axes = drawing.new_figure("Cells covered at the end of each run")
    for place, name in enumerate(result.methods):
        cells = result.final_cells(name)
        if len(cells) <= SHOWN_RUNS:
            spread = place - 0.3 + 0.2 * (np.arange(len(cells)) * 0.618034 % 1 - 0.5)
            axes.plot(spread, cells, "o", color=COLOURS[name], alpha=0.45, markersize=3.2, markeredgewidth=0)
        first_reach.box(axes, place, 0.24, cells, name)
    axes.set(xlim=(-0.6, len(result.methods) - 0.4), ylabel=f"cells covered, of {result.reachable:,}")
    axes.set_xticks(range(len(result.methods)), [NAMES[name] for name in result.methods])
    for label, name in zip(axes.get_xticklabels(), result.methods, strict=True):
        label.set_color(COLOURS[name])
    axes.tick_params(axis="x", length=0, labelsize=9.5)
    axes.grid(visible=False, axis="x")
    drawing.count_axis(axes.yaxis)
    single = [] if len(cells) > SHOWN_RUNS else [drawing.marker(MUTED, "o", "one run", size=3.5)]
    drawing.legend(figure, [*first_reach.box_legend(), *single])
    return figure


def reproduce(settings: GridSettings, folder: ResultFolder, progress: Progress) -> tuple[Data, int]:
    result = run(settings.world, settings, progress)
    write(folder, result)
    # The goals that lie in the world; others are an error only in the part that runs to them.
    inside = [(x, y) for x, y in settings.goals if 0 <= x < settings.size and 0 <= y < settings.size and x + y]
    marked = GridWorld.create(settings.size, settings.size, goals=inside, episode_steps=settings.episode_steps)
    trace_file.write(folder, "open", marked, result.methods)
    return result.numbers, settings.runs * settings.coverage_steps * len(settings.methods)
