"""The figure of the entropy study."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from action_balance.plots import drawing
from action_balance.plots.drawing import MUTED, POINTS, STYLED
from action_balance.studies import statistics
from action_balance.studies.entropy.analysis import Variant, Which
from action_balance.studies.entropy.settings import FLAT, VARIANTS

PANELS: dict[Which, str] = {"added": "of softmax(Normalize(r))", "bonus": "of the shares r / Σ r"}
#: The line at the entropy of a flat vector.
FLAT_LINE: dict[str, Any] = {"color": MUTED, "linewidth": 1, "linestyle": (0, (1, 1.5))}


def _look(variant: str) -> dict[str, Any]:
    """The line of a variant: the colour of its method, dashed without normalisation."""
    method, normalize = VARIANTS[variant]
    return drawing.line(method) | ({} if normalize == "l2" else {"linestyle": (0, (4, 1.5)), "linewidth": 1.6})


def binned(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Average a curve over at most `POINTS` equal stretches."""
    edges = np.linspace(0, values.shape[-1], min(POINTS, values.shape[-1]) + 1).round().astype(int)
    starts, sizes = edges[:-1], np.diff(edges)
    updates = np.add.reduceat(np.arange(1, values.shape[-1] + 1), starts) / sizes
    return updates, np.add.reduceat(values, starts, axis=-1) / sizes


@style.context(STYLED)
def entropy(found: Sequence[Variant]) -> Figure:
    """Both entropies of the bonus vector over updates: mean over runs with its 95 % band."""
    figure, panels = drawing.new_panels("Entropy of the action bonus (lower: less flat)", len(PANELS), (9.6, 4.2))
    for axes, (which, name) in zip(panels, PANELS.items(), strict=True):
        axes.set_title(name, loc="left", fontsize=9.5, color=MUTED)
        _panel(axes, found, which)
    panels[0].set_ylabel("entropy (nats)")
    handles = [Line2D([], [], label=variant.name, **_look(variant.name)) for variant in found]
    drawing.legend(figure, [*handles, Line2D([], [], label="a flat vector: ln 18", **FLAT_LINE)])
    return figure


def _panel(axes: Axes, found: Sequence[Variant], which: Which) -> None:
    heights = [FLAT]
    for variant in found:
        updates, values = binned(variant.values(which))
        mean, low, high = statistics.mean_band(values)
        drawing.curve(axes, VARIANTS[variant.name][0], updates, mean, low, high, look=_look(variant.name))
        heights += mean[np.isfinite(mean)].tolist()
    axes.axhline(FLAT, **FLAT_LINE)
    axes.set(xlim=(0, max(len(variant.steps) for variant in found)), xlabel="updates")
    drawing.fit_heights(axes, heights, default=0.01)
    drawing.millions_axis(axes.xaxis)
    axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.ticklabel_format(axis="y", useOffset=False)
