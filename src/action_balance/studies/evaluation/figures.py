"""The figure of an evaluation: where the agents were, in training and when they were evaluated."""

from collections.abc import Mapping

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure

from action_balance.envs.scene import Scene
from action_balance.plots.drawing import STYLED
from action_balance.plots.heatmaps import one_row


@style.context(STYLED)
def visits(scene: Scene, panels: Mapping[str, np.ndarray], title: str) -> Figure:
    """Heat maps of the share that each state has of all visits."""
    percent = {name: 100 * scene.as_drawn(count) / max(count.sum(), 1) for name, count in panels.items()}
    label = "share of all visits in % (logarithmic); dot: start, star: goal"
    return one_row(title, scene.world, percent, label)
