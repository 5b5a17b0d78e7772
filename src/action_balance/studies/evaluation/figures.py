"""The figure of an evaluation: where the agents were, in training and when they were evaluated."""

import io
from collections.abc import Mapping

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure

from action_balance.envs.scene import Scene
from action_balance.plots.drawing import HERO, STYLED, dot
from action_balance.studies.grid.figures import maps


@style.context(STYLED)
def visits(scene: Scene, panels: Mapping[str, np.ndarray], title: str) -> Figure:
    """Heat maps of the share that each state has of all visits.

    Args:
        scene: how states are drawn.
        panels: visits by name, (S,) each.
        title: of the figure.
    """
    percent = [100 * scene.as_drawn(count) / max(count.sum(), 1) for count in panels.values()]
    figure = maps(title, scene.world, {"": percent}, list(panels), np.ones(scene.world.cells, bool))
    *shown, bar = figure.axes
    for axes in shown:
        axes.set(xticks=[], yticks=[])
        axes.plot(*scene.world.coordinates(int(scene.world.start)), **dot(HERO, 5))
        for goal in np.flatnonzero(scene.world.goals):
            axes.plot(*scene.world.coordinates(goal), **dot(HERO, 9) | {"marker": "*"})
    bar.set_xlabel("share of all visits in % (logarithmic); dot: start, star: goal")
    return figure


def as_png(figure: Figure) -> bytes:
    """The same figure gives the same bytes."""
    content = io.BytesIO()
    with style.context(STYLED):
        figure.savefig(content, format="png", dpi=150, facecolor="white", metadata={"Software": None})
    return content.getvalue()
