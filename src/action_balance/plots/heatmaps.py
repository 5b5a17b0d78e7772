"""Heat maps: how often each cell of a grid was visited, on one logarithmic colour scale. Axes: S cells."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, LogNorm, to_rgba
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import LogLocator

from action_balance.envs.grid.world import GridWorld
from action_balance.plots.drawing import INK, MUTED, PAPER, PLAIN, THOUSANDS

#: From few visits to many, perceptually uniform: darker on light paper, brighter on dark paper. The first colour has a
#: contrast of 3:1 to the paper, as WCAG 2 requires of graphics, so that one visit differs visibly from none.
HEAT_STOPS = {
    "light": ("#28a180", "#078a8a", "#067190", "#04569b", "#333592", "#421571", "#3f0243", "#2e011b"),
    "dark": ("#5d69ba", "#4d84d0", "#3e9fd5", "#49b8d1", "#62cfce", "#7de4ca", "#b2f4c2", "#f0fbd2"),
}

#: From as many runs fewer than with random, over no difference, to as many more: brown and teal, which every kind of
#: colour vision distinguishes. No difference has the colour of the paper, and a third of the scale a contrast of 3:1 to
#: it.
DIFFERENCE_STOPS = {
    "light": ("#5b3200", "#8a5410", "#b97f2e", "#fffffe", "#259b8c", "#05736a", "#004a46"),
    "dark": ("#ffe3ae", "#e2ab4f", "#a3702a", "#1b1e23", "#258c80", "#56c5b5", "#c2fff2"),
}

#: From no run to all runs, without a hue.
SHARE_STOPS = {
    "light": ("#fffffe", "#b9bec6", "#7d848e", "#3a414b"),
    "dark": ("#1b1e23", "#5a616c", "#949ca8", "#d5dae2"),
}

HEAT = LinearSegmentedColormap.from_list("visits", HEAT_STOPS["light"])
WALL = "#aab1ba"


def heatmaps(
    title: str,
    world: GridWorld,
    rows: Mapping[str, Sequence[np.ndarray]],
    columns: Sequence[str],
    scaled: np.ndarray | None = None,
) -> Figure:
    """Heat maps of visits in rows and columns. Cells never visited stay empty."""
    every = np.concatenate([visits if scaled is None else visits[scaled] for row in rows.values() for visits in row])
    low, high = np.quantile(every[every > 0], (0, 1)) if every.any() else (0.1, 1.0)
    scale = ScalarMappable(LogNorm(low, high if high > low else 10 * low, clip=True), HEAT)
    wide = len(rows) < 3
    panel = min((6.5 if wide else 5.75) / len(columns), 2)
    tall = min(max(panel * world.height / world.width, 0.3), 4) + (0.24 if wide else 0.12)
    size = (8 if wide else panel * len(columns) + 2.25, tall * len(rows) + (1.3 if wide else 0.9))
    figure = Figure(size, layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", **PLAIN)
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
            axes.set_title(columns[column], fontsize=9, color=INK, **PLAIN)
        if column == 0:
            axes.set_ylabel(list(rows)[row], color=INK, rotation=0, ha="right", va="center", **PLAIN)
    place: dict[str, Any] = {"location": "bottom", "aspect": 50} if wide else {"location": "right", "aspect": 45}
    bar = figure.colorbar(scale, ax=list(grid.flat), pad=0.04, shrink=0.6 if wide else 0.9, **place)
    bar.locator = LogLocator(subs=(1,) if high > 100 * low else (1, 2, 5))
    bar.formatter = THOUSANDS
    bar.minorticks_off()
    bar.outline.set_visible(False)
    bar.set_label("mean visits per run (logarithmic)")
    return figure


def mark_places(axes: Axes, world: GridWorld, goal_size: float = 9) -> None:
    """Mark the start of a world with a ring and its goals with stars, in place of ticks."""
    axes.set(xticks=[], yticks=[])
    ring: dict[str, Any] = {"marker": "o", "linestyle": "", "fillstyle": "none", "markersize": 6}
    ring |= {
        "markeredgecolor": INK,
        "markeredgewidth": 1.3,
        "path_effects": [withStroke(linewidth=3, foreground=PAPER)],
    }
    axes.plot(*world.coordinates(int(world.start)), **ring)
    for goal in np.flatnonzero(world.goals):
        looks: dict[str, Any] = {"markerfacecolor": INK, "markeredgecolor": PAPER, "markeredgewidth": 0.8}
        looks |= {"clip_on": False, "zorder": 3}  # whole in a corner, too
        axes.plot(*world.coordinates(goal), marker="*", linestyle="", markersize=goal_size + 1, **looks)


def one_row(title: str, world: GridWorld, panels: Mapping[str, np.ndarray], label: str, goal_size: float = 9) -> Figure:
    """Heat maps side by side, with the start and the goals marked."""
    figure = heatmaps(title, world, {"": list(panels.values())}, list(panels))
    *shown, bar = figure.axes
    for axes in shown:
        mark_places(axes, world, goal_size)
    bar.set_xlabel(label)
    return figure
