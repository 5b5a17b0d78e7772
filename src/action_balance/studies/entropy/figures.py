"""The figure of the entropy study."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from action_balance.plots.drawing import MUTED, STYLED, dot, legend, line
from action_balance.studies import statistics
from action_balance.studies.atari.figures import POINTS, amount_axis
from action_balance.studies.entropy.analysis import FLAT, VARIANTS, Variant, Which

PANELS: dict[Which, str] = {
    "added": "of softmax(Normalize(r))",
    "bonus": "of the shares r / Σ r",
}


def look(variant: str) -> dict[str, Any]:
    """The line of a variant: the colour of its method, dashed without normalisation."""
    method, normalize = VARIANTS[variant]
    return line(method) | ({} if normalize == "l2" else {"linestyle": (0, (4, 1.5)), "linewidth": 1.6})


def binned(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean updates, from 1, and mean values of at most `POINTS` equal stretches, (..., T) -> (P,), (..., P)."""
    edges = np.linspace(0, values.shape[-1], min(POINTS, values.shape[-1]) + 1).round().astype(int)
    starts, sizes = edges[:-1], np.diff(edges)
    updates = np.add.reduceat(np.arange(1, values.shape[-1] + 1), starts) / sizes
    return updates, np.add.reduceat(values, starts, axis=-1) / sizes


@style.context(STYLED)
def entropy(found: Sequence[Variant]) -> Figure:
    """Both entropies of the bonus vector over updates: mean over runs with its 95 % band."""
    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    figure.suptitle("Entropy of the action bonus: lower is less flat", x=0.01, ha="left")
    panels = figure.subplots(1, 2)
    for axes, (which, name) in zip(panels, PANELS.items(), strict=True):
        axes.set_title(name, loc="left", fontsize=9.5, color=MUTED)
        _panel(axes, found, which)
    panels[0].set_ylabel("entropy (nats)")
    handles = [Line2D([], [], label=variant.name, **look(variant.name)) for variant in found]
    flat = Line2D([], [], color=MUTED, linewidth=1, linestyle=(0, (1, 1.5)), label="a flat vector: ln 18")
    legend(figure, [*handles, flat])
    return figure


def _panel(axes: Axes, found: Sequence[Variant], which: Which) -> None:
    heights = [FLAT]
    last = max(len(variant.steps) for variant in found)
    for variant in found:
        updates, values = binned(variant.values(which))
        mean, half = values.mean(axis=0), statistics.half_width(values)
        looks = look(variant.name)
        axes.fill_between(updates, mean - half, mean + half, color=looks["color"], alpha=0.12, linewidth=0)
        axes.plot(updates, mean, **looks | (dot(VARIANTS[variant.name][0]) if len(updates) == 1 else {}))
        heights += mean[np.isfinite(mean)].tolist()
    axes.axhline(FLAT, color=MUTED, linewidth=1, linestyle=(0, (1, 1.5)))
    room = 0.06 * (max(heights) - min(heights)) or 0.01
    axes.set(xlim=(0, last), ylim=(min(heights) - room, max(heights) + room), xlabel="updates")
    amount_axis(axes.xaxis)
    axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.ticklabel_format(axis="y", useOffset=False)
