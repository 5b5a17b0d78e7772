"""Figures of the neural study."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from action_balance.plots import drawing
from action_balance.plots.drawing import COLOURS, HERO, INK, MUTED, PAPER, PERCENT, STYLED, THOUSANDS
from action_balance.plots.heatmaps import one_row
from action_balance.runs import learning_curve
from action_balance.studies import statistics
from action_balance.studies.neural.analysis import Counting, NeuralWorld
from action_balance.studies.neural.settings import WORLDS

#: Last value, method and label of a curve.
End = tuple[float, str, str]
#: The middle of a curve, and both ends of its interval.
Band = tuple[np.ndarray, np.ndarray, np.ndarray]


@style.context(STYLED)
def coverage(world: NeuralWorld) -> Figure:
    """Share of the reachable states reached so far: mean over seeds with the band of its 95 % interval, if any."""
    bands = {name: statistics.mean_band(one.states / world.reachable) for name, one in world.records.items()}
    figure, axes = _curves("Share of the states reached so far", world, "states reached", bands, (0, 1.02))
    axes.yaxis.set_major_formatter(PERCENT)
    return figure


@style.context(STYLED)
def visits(world: NeuralWorld) -> Figure | None:
    """Mean visits of each state in the whole training, a panel per method; None without a map."""
    scene = WORLDS[world.name].scene(world.environment)
    if scene is None:
        return None
    panels = {
        drawing.method_name(name).replace("action balance", "action\nbalance"): scene.as_drawn(trained.visits)
        for name, trained in world.records.items()
    }
    star = ", star: treasure" if scene.world.goals.any() else ""
    label = f"mean visits per agent (logarithmic); dot: start{star}"
    return one_row("Visits per cell", scene.world, panels, label, goal_size=8)


@style.context(STYLED)
def found(world: NeuralWorld) -> Figure:
    """Share of seeds that have found the treasure after each step."""
    figure, axes = drawing.new_figure("Share of agents that have found the treasure")
    ends = []
    for name, trained in world.records.items():
        reached = np.sort(trained.found_steps[trained.found])
        count = len(trained.found)
        x = np.concatenate([[0], reached, [int(trained.steps[-1])]])
        share = np.concatenate([np.arange(len(reached) + 1), [len(reached)]]) / count
        axes.plot(x, share, drawstyle="steps-post", **drawing.line(name))
        ends.append((float(share[-1]), name, f"{drawing.method_name(name)}: {len(reached)} of {count}"))
    axes.set_ylim(-0.01, 1.02)
    axes.yaxis.set_major_formatter(PERCENT)
    _finish(axes, world, "agents", ends)
    return figure


@style.context(STYLED)
def returns(world: NeuralWorld) -> Figure:
    """Return over training: interquartile mean over seeds with the band of its 95 % interval, if any."""
    # 0 before the first episode has ended
    values = {name: np.nan_to_num(learning_curve.carried_forward(one.returns)) for name, one in world.records.items()}
    banded = statistics.has_interval(min(map(len, values.values())))
    title = f"Return: interquartile mean over agents{', with its 95 % interval' * banded}"
    bands = {name: statistics.iqm_band([one]) for name, one in values.items()}
    return _curves(title, world, "return", bands, (-0.05, 1.05))[0]


def _curves(
    title: str, world: NeuralWorld, ylabel: str, bands: Mapping[str, Band], ylim: tuple[float, float]
) -> tuple[Figure, Axes]:
    figure, axes = drawing.new_figure(title)
    ends = []
    for name, (middle, low, high) in bands.items():
        drawing.curve(axes, name, world.records[name].steps, middle, low, high)
        ends.append((float(middle[-1]), name, drawing.method_name(name)))
    axes.set_ylim(ylim)
    _finish(axes, world, ylabel, ends)
    return figure, axes


def _finish(axes: Axes, world: NeuralWorld, ylabel: str, ends: Sequence[End]) -> None:
    last = int(next(iter(world.records.values())).steps[-1])
    axes.set(xlim=(0, last), xlabel="environment steps per seed", ylabel=ylabel)
    drawing.count_axis(axes.xaxis)
    drawing.end_labels(axes, ends)


@style.context(STYLED)
def counting(result: Counting) -> Figure:
    """The learned error of each pair over its true count, and the least-tried action under pi and beta."""
    figure = Figure(figsize=(8, 4.2), layout="constrained")
    figure.suptitle("The learned action bonus falls with the true count", x=0.01, ha="left")
    pairs, policies = figure.subplots(1, 2, width_ratios=(1.7, 1))
    known = result.acted_from[0]
    counts, errors = result.counts[0][known].ravel(), result.errors[0][known].ravel()
    pairs.plot(counts + 1, errors, "o", color=COLOURS[HERO], alpha=0.55, markersize=4, markeredgewidth=0)
    edges = np.geomspace(1, counts.max() + 1.001, 9)
    bins = [(low, high, errors[(counts + 1 >= low) & (counts + 1 < high)]) for low, high in pairwise(edges)]
    middle = [(math.sqrt(low * high), np.median(inside)) for low, high, inside in bins if len(inside)]
    pairs.plot(*zip(*middle, strict=True), color=INK, linewidth=1.6, marker="o", markersize=4, markeredgecolor=PAPER)
    pairs.set(
        xscale="log",
        yscale="log",
        xlabel="1 + number of times the action was taken in the state",
        ylabel="prediction error",
    )
    pairs.xaxis.set_major_locator(LogLocator())
    pairs.xaxis.set_major_formatter(THOUSANDS)
    pairs.xaxis.set_minor_locator(NullLocator())
    correlation = result.rank_correlations
    text = f"first of {len(correlation)} agents: rank correlation {-correlation[0]:.2f}\nblack: medians"
    pairs.text(0.03, 0.04, text, transform=pairs.transAxes, color=MUTED)
    pi, beta = result.least_tried(result.pi), result.least_tried(result.beta)
    for one, other in zip(pi, beta, strict=True):
        policies.plot([0, 1], [one, other], color=MUTED, alpha=0.35, linewidth=1)
    for x, name, values in ((0, "rnd", pi), (1, HERO, beta)):
        policies.plot(
            np.full(len(values), x), values, "o", color=COLOURS[name], alpha=0.5, markersize=5, markeredgewidth=0
        )
        policies.plot(x, values.mean(), **drawing.dot(name, 10))
    policies.set(xlim=(-0.4, 1.4), ylabel="probability of the least-tried action")
    policies.set_xticks([0, 1], ["π", "β, balanced"])
    policies.tick_params(axis="x", length=0, labelsize=11, labelcolor=INK)
    policies.grid(visible=False, axis="x")
    return figure
