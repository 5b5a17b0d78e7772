"""Figures of the grid study, drawn from its results."""

from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, LogNorm, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from action_balance.envs.grid.world import GridWorld
from action_balance.plots.drawing import (
    COLOURS,
    HERO,
    INK,
    MUTED,
    NAMES,
    PAPER,
    PERCENT,
    SIGNED_PERCENT,
    STYLED,
    THOUSANDS,
    count_axis,
    curve,
    dot,
    end_labels,
    legend,
    line,
    log_axis,
    marker,
    new_figure,
)
from action_balance.studies import paper, statistics
from action_balance.studies.grid.corridor import LEFT, RIGHT, Corridor, sides
from action_balance.studies.grid.coverage import Coverage
from action_balance.studies.grid.first_reach import FirstReachSteps
from action_balance.studies.grid.goals import Goals

#: From few visits to many, perceptually even: on light paper ever darker, on dark paper ever brighter. The first has a
#: contrast of 3:1 to the paper, which WCAG 2 asks of graphics, so that one visit is told from none.
HEAT_STOPS = {
    "light": ("#28a180", "#078a8a", "#067190", "#04569b", "#333592", "#421571", "#3f0243", "#2e011b"),
    "dark": ("#5d69ba", "#4d84d0", "#3e9fd5", "#49b8d1", "#62cfce", "#7de4ca", "#b2f4c2", "#f0fbd2"),
}
HEAT = LinearSegmentedColormap.from_list("visits", HEAT_STOPS["light"])
WALL = "#aab1ba"

#: Curves are thinned out to about so many points, and single runs drawn up to so many.
CURVE_POINTS, SHOWN_RUNS = 400, 300


@style.context(STYLED)
def coverage_rate(result: Coverage) -> Figure:
    """Share of the reachable cells covered after each step: mean over runs with its 95 % band."""
    figure, axes = new_figure("Share of the world covered so far")
    chosen = np.unique(np.linspace(0, len(result.steps) - 1, CURVE_POINTS).round().astype(int))
    ends = []
    for name in result.methods:
        mean, low, high = (curve[chosen] for curve in result.rate(name))
        curve(axes, name, result.steps[chosen], mean, low, high)
        ends.append((float(mean[-1]), name, NAMES[name]))
    axes.set(xlim=(0, result.steps[-1]), xlabel="step", ylabel="coverage rate")
    axes.set_ylim(0, min(axes.get_ylim()[1], 1))
    axes.yaxis.set_major_formatter(PERCENT)
    count_axis(axes.xaxis)
    end_labels(axes, ends)
    return figure


@style.context(STYLED)
def relative_increase(result: Coverage) -> Figure | None:
    """Mean coverage relative to that of random, and from where each method stays above it; None without random.

    The step axis is logarithmic: how many times sooner one method overtakes than another is a distance.
    """
    others = [name for name in result.methods if name != "random"]
    if "random" not in result.methods or not others:
        return None
    figure, axes = new_figure("Coverage relative to random, and the step from which it stays above")
    last = int(result.steps[-1])
    begin = max(int(result.steps[0]), min(100, last // 20))
    chosen = np.unique(np.geomspace(1, len(result.steps), CURVE_POINTS).round().astype(int)) - 1
    chosen = chosen[result.steps[chosen] >= begin]
    curves = {name: [part[chosen] for part in _increase(result, name)] for name in others}
    axes.axhline(0, **line("random"))
    for name, (increase, half) in curves.items():
        curve(axes, name, result.steps[chosen], increase, increase - half, increase + half)
    overtaking = sorted((step, name) for name in others if (step := result.overtakes(name)) is not None)
    for place, (step, name) in enumerate(overtaking):
        at, above = (max(step, begin), 0), place % 2 == 0
        looks: dict[str, Any] = {"color": COLOURS[name], "bbox": {"fc": PAPER, "ec": "none", "pad": 0.6}}
        looks |= {"ha": "right" if 1.3 * step > last else "center", "weight": "bold", "zorder": 4}
        axes.annotate(f"{step:,}", at, (0, 9 if above else -16), textcoords="offset points", **looks)
        axes.plot(*at, **dot(name))
    low, high = (limit([limit(increase) for increase, _ in curves.values()]) for limit in (min, max))
    room = 0.25 * max(high - low, 0.02)
    axes.set(xscale="log", xlabel="step (logarithmic)", ylabel="relative increase over random")
    axes.set(xlim=(begin, last) if begin < last else None, ylim=(min(low, 0) - room, max(high, 0) + room))
    axes.yaxis.set_major_formatter(SIGNED_PERCENT)
    log_axis(axes.xaxis)
    last_values = {"random": 0.0} | {name: float(increase[-1]) for name, (increase, _) in curves.items()}
    end_labels(axes, [(value, name, NAMES[name]) for name, value in last_values.items()])
    return figure


def _increase(result: Coverage, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Relative increase over random, and half its 95 % interval by propagation of both means' errors; each (K,)."""
    ours, random = result.methods[name].cells, result.methods["random"].cells
    mean, base = ours.mean(axis=0), random.mean(axis=0)
    half = np.hypot(statistics.half_width(ours) / base, mean * statistics.half_width(random) / base**2)
    return mean / base - 1, half


@style.context(STYLED)
def heatmaps(result: Coverage) -> Figure:
    """Mean visits of each cell until some moments (rows) by each method (columns), all on one colour scale."""
    rows = {
        f"{moment:,}\nsteps": [method.visits[result.moments.index(moment)] for method in result.methods.values()]
        for moment in result.shown_moments
    }
    names = [NAMES[name] for name in result.methods]
    return maps("Where the visits went", result.world, rows, names, np.ones(result.world.cells, bool))


@style.context(STYLED)
def final_cells(result: Coverage) -> Figure:
    """Cells covered in the end: every run as a point, the box of its method, and the mean."""
    figure, axes = new_figure("Cells covered in the end, run by run")
    for place, name in enumerate(result.methods):
        cells = result.final_cells(name)
        if len(cells) <= SHOWN_RUNS:
            spread = place - 0.3 + 0.2 * (np.arange(len(cells)) * 0.618034 % 1 - 0.5)
            axes.plot(spread, cells, "o", color=COLOURS[name], alpha=0.45, markersize=3.2, markeredgewidth=0)
        _box(axes, place, 0.24, cells, name)
    axes.set(xlim=(-0.6, len(result.methods) - 0.4), ylabel=f"cells covered, of {result.reachable:,}")
    axes.set_xticks(range(len(result.methods)), [NAMES[name] for name in result.methods])
    for label, name in zip(axes.get_xticklabels(), result.methods, strict=True):
        label.set_color(COLOURS[name])
    axes.tick_params(axis="x", length=0, labelsize=9.5)
    axes.grid(visible=False, axis="x")
    count_axis(axes.yaxis)
    single = [] if len(cells) > SHOWN_RUNS else [marker(MUTED, "o", "one run", size=3.5)]
    legend(figure, [*_box_legend(), *single])
    return figure


@style.context(STYLED)
def goal_boxes(result: Goals, as_in_paper: bool = False) -> Figure:
    """Steps until each goal is first reached, one box per method; optionally with the paper's means."""
    boxes = len(result.goals) * (len(result.methods) + 1)
    figure, axes = new_figure("Steps until the goal is first reached", width=8 * min(max(1, boxes / 30), 3))
    width = 0.8 / len(result.methods)
    compared = False
    for group, goal in enumerate(result.goals):
        for place, (name, by_goal) in enumerate(result.methods.items()):
            x = group + (place - (len(result.methods) - 1) / 2) * width
            _box(axes, x, 0.72 * width, by_goal[goal].steps, name)
            published = paper.TABLE_1.get(name, {}).get(goal) if as_in_paper else None
            if published is not None:
                compared = True
                axes.plot(x + 0.3 * width, published, "D", color=PAPER, markeredgecolor=INK, markersize=5.5, zorder=5)
    axes.set(yscale="log", xlim=(-0.55, len(result.goals) - 0.45), ylabel="steps (logarithmic)")
    axes.set_xticks(range(len(result.goals)), [f"goal ({x}, {y})" for x, y in result.goals])
    axes.tick_params(axis="x", length=0, labelsize=9.5, labelcolor=INK)
    axes.grid(visible=False, axis="x")
    log_axis(axes.yaxis)
    given_up = sum(one.given_up for by_goal in result.methods.values() for one in by_goal.values())
    if given_up:
        axes.set_xlabel(f"{_counted(given_up, 'run')} given up, counted with the steps made until then")
    keys = [Line2D([], [], color=COLOURS[name], linewidth=6, alpha=0.7, label=NAMES[name]) for name in result.methods]
    axes.legend(handles=keys, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, ncols=len(keys))
    legend(figure, [*_box_legend(), *([marker(PAPER, "D", "mean in the paper", INK, 5.5)] if compared else [])])
    return figure


@style.context(STYLED)
def corridor_visits(result: Corridor) -> Figure:
    """Mean visits of the runs that entered the left room first, after more and more episodes (columns)."""
    methods = [name for name in result.digging if name in ("rnd", "action-balance-rnd")] or list(result.digging)
    episode = int(result.world.episode_steps)
    moments = [_counted(moment // episode, "episode") for moment in result.moments]
    digging = [(NAMES[name].replace(" ", "\n", 1), result.digging[name]) for name in methods]
    rows = {f"{name}\n{_counted(one.left_first, 'run')}": list(one.visits) for name, one in digging}
    side = sides(result.world)
    figure = maps("Where runs went that entered the left room first", result.world, rows, moments, side != 0)
    for axes, visits in zip(figure.axes, (visits for row in rows.values() for visits in row), strict=False):
        left, right = (float(visits[side == room].sum()) for room in (LEFT, RIGHT))
        if left + right:
            share = 100 * left / (left + right)
            axes.set_xlabel(f"left {share:.0f} %, right {100 - share:.0f} %", fontsize=8)
        axes.set(xticks=[], yticks=[])
        axes.plot(*result.world.coordinates(int(result.world.start)), **dot(HERO, 5))
        for treasure in np.flatnonzero(result.world.goals):
            axes.plot(*result.world.coordinates(treasure), **dot(HERO, 9) | {"marker": "*"})
    return figure


def treasure_steps(result: Corridor) -> Figure:
    """Share of runs that have found the treasure after each step, with the mean steps of each method."""
    return first_reach_steps(result.treasure, "Share of runs that have found the treasure")


@style.context(STYLED)
def first_reach_steps(steps: dict[str, FirstReachSteps], title: str = "Share of runs that reached a goal") -> Figure:
    """Share of runs that have reached the goal after each step, and the mean steps as a dot on each curve."""
    figure, axes = new_figure(title)
    least = min(int(one.steps.min()) for one in steps.values())
    most = max(int(one.steps.max()) for one in steps.values())
    begin, end, keys = 0.8 * least, 1.25 * most, []
    for name, one in steps.items():
        reached, mean = np.sort(one.steps[one.reached]), one.mean
        x = np.concatenate([[begin], reached, [most if one.given_up else end]])
        share = np.concatenate([[0], np.arange(1, len(reached) + 1), [len(reached)]]) / len(one.steps)
        axes.plot(x, share, drawstyle="steps-post", **line(name))
        said, key = f"{NAMES[name]}: {mean.value:,.0f}", line(name) | dot(name, 7)
        if one.given_up:
            said, key = f"{NAMES[name]}: unknown, {_counted(one.given_up, 'run')} given up", line(name)
        else:
            axes.plot(mean.value, np.searchsorted(reached, mean.value, side="right") / len(reached), **dot(name))
            said += "" if np.isnan(mean.low) else f" [{mean.low:,.0f}, {mean.high:,.0f}]"
        keys.append(Line2D([], [], label=said, **key))
    axes.set(xscale="log", xlim=(begin, end), ylim=(0, 1.02), xlabel="steps (logarithmic)", ylabel="share of runs")
    axes.yaxis.set_major_formatter(PERCENT)
    log_axis(axes.xaxis)
    axes.legend(handles=keys, loc="upper left", title="dots: mean steps [95 % interval]", alignment="left")
    return figure


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _box(axes: Axes, x: float, width: float, samples: np.ndarray, name: str) -> None:
    """Quartiles as a box, the middle 90 % as whiskers, and a dot for the mean."""
    colour = COLOURS[name]
    looks: dict[str, Any] = {f"{part}props": {"color": colour} for part in ("whisker", "median")}
    looks["boxprops"] = {"facecolor": to_rgba(colour, 0.28), "edgecolor": colour}
    looks["medianprops"] |= {"linewidth": 2}
    looks |= {"whis": (5, 95), "showfliers": False, "showcaps": False, "patch_artist": True, "manage_ticks": False}
    axes.boxplot([samples], positions=[x], widths=width, **looks)
    axes.plot(x, samples.mean(), **dot(name, 6))


def _box_legend() -> list[Line2D]:
    return [
        Line2D([], [], color=MUTED, linewidth=2, label="median"),
        Line2D([], [], color=MUTED, linewidth=6, alpha=0.4, label="middle half"),
        Line2D([], [], color=MUTED, linewidth=1, label="middle 90 %"),
        marker(MUTED, "o", "mean"),
    ]


def maps(
    title: str, world: GridWorld, rows: dict[str, list[np.ndarray]], columns: list[str], scaled: np.ndarray
) -> Figure:
    """Heat maps of visits, (S,) each, in rows by label; cells never visited stay empty.

    All share one scale: that of the cells ``scaled``, (S,) bool. Others may lie beyond its ends.
    """
    every = np.concatenate([visits[scaled] for row in rows.values() for visits in row])
    low, high = np.quantile(every[every > 0], (0, 1)) if every.any() else (0.1, 1.0)
    scale = ScalarMappable(LogNorm(low, high if high > low else 10 * low, clip=True), HEAT)
    wide = len(rows) < 3
    panel = min((6.5 if wide else 5.75) / len(columns), 2)
    tall = min(max(panel * world.height / world.width, 0.3), 4) + (0.24 if wide else 0.12)
    size = (8 if wide else panel * len(columns) + 2.25, tall * len(rows) + (1.3 if wide else 0.9))
    figure = Figure(size, layout="constrained")
    figure.suptitle(title, x=0.01, ha="left")
    grid = figure.subplots(len(rows), len(columns), squeeze=False)
    for (row, column), axes in np.ndenumerate(grid):
        visits = list(rows.values())[row][column]
        colours = scale.to_rgba(visits)
        colours[visits <= 0] = 0
        colours[np.asarray(world.walls)] = to_rgba(WALL)
        axes.imshow(colours.reshape(world.height, world.width, 4), origin="lower", interpolation="none")
        axes.spines[:].set(visible=True, color=MUTED)
        axes.grid(visible=False)
        axes.set_xticks([0, world.width - 1] if row == len(rows) - 1 else [])
        axes.set_yticks([0, world.height - 1] if column == 0 else [])
        axes.tick_params(length=2, labelsize=7.5)
        if row == 0:
            axes.set_title(columns[column], fontsize=9, color=INK)
        if column == 0:
            axes.set_ylabel(list(rows)[row], color=INK, rotation=0, ha="right", va="center")
    place: dict[str, Any] = {"location": "bottom", "aspect": 50} if wide else {"location": "right", "aspect": 45}
    bar = figure.colorbar(scale, ax=list(grid.flat), pad=0.04, shrink=0.6 if wide else 0.9, **place)
    bar.locator = LogLocator(subs=(1,) if high > 100 * low else (1, 2, 5))
    bar.formatter = THOUSANDS
    bar.minorticks_off()
    bar.outline.set_visible(False)
    bar.set_label("mean visits per run (logarithmic)")
    return figure
