"""Learning curves of training runs side by side, a panel for each environment."""

from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from action_balance.plots.drawing import COLOURS, HERO, NAMES, STYLED, THOUSANDS, count_axis, dot, line, spread
from action_balance.studies.compare.analysis import Comparison, Curve

#: Of curves with the same method and other settings, in their order; the first is that of the method.
DASHES = ("", (0, (5, 1.4)), (0, (1.4, 1.2)), (0, (7, 1.5, 1.5, 1.5)), (0, (3, 1.2, 1.2, 1.2, 1.2, 1.2)))

#: Panels in a row, and points that a curve is thinned out to.
COLUMNS, CURVE_POINTS = 2, 400


@style.context(STYLED)
def learning_curves(result: Comparison) -> Figure:
    """Interquartile mean over seeds with its 95 % band against environment steps."""
    count = len(result.environments)
    columns = min(count, COLUMNS)
    rows = -(-count // columns)
    size = (8, 4.2) if count == 1 else (6.2 * columns, 3.5 * rows + 0.4)
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(f"{_words(result.metric)}: interquartile mean over seeds, with its 95 % band", x=0.01, ha="left")
    looks = _looks(result)
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes, (name, curves) in zip(panels, result.environments.items(), strict=False):
        axes.set_title(name, loc="left")
        axes.set(xlabel="environment steps", ylabel=_words(result.metric))
        _panel(axes, [curve for curve in curves if len(curve.steps)], looks)
    for axes in panels[count:]:
        axes.set_visible(False)
    return figure


def _words(metric: str) -> str:
    return metric.replace("_", " ")


def _looks(result: Comparison) -> dict[str, dict[str, Any]]:
    """Lines by label: the colour of the method, and dashes for others of the same method."""
    looks: dict[str, dict[str, Any]] = {}
    methods = {curve.label: curve.method for curves in result.environments.values() for curve in curves}
    earlier: list[str] = []
    for label, method in methods.items():
        dashes = DASHES[earlier.count(method) % len(DASHES)]
        looks[label] = line(method) | ({"linestyle": dashes} if dashes else {})
        earlier.append(method)
    return looks


def _panel(axes: Axes, curves: list[Curve], looks: dict[str, dict[str, Any]]) -> None:
    if not curves:
        axes.text(0.5, 0.5, "no values yet", ha="center", transform=axes.transAxes)
        return
    for curve in curves:
        chosen = np.unique(np.linspace(0, len(curve.steps) - 1, CURVE_POINTS).round().astype(int))
        steps, look = curve.steps[chosen], looks[curve.label]
        axes.fill_between(steps, curve.low[chosen], curve.high[chosen], color=look["color"], alpha=0.12, linewidth=0)
        axes.plot(steps, curve.iqm[chosen], **look | (dot(curve.method) if len(steps) == 1 else {}))
    last = max(int(curve.steps[-1]) for curve in curves)
    axes.set_xlim(0, last)
    for curve in curves:
        if curve.steps[-1] < last:  # where it ends is hard to see among others
            axes.plot(curve.steps[-1], curve.iqm[-1], **dot(curve.method, 6))
    count_axis(axes.xaxis)
    axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.yaxis.set_major_formatter(THOUSANDS)
    _labels(axes, curves, looks)


def _labels(axes: Axes, curves: list[Curve], looks: dict[str, dict[str, Any]]) -> None:
    """Labels at the ends; with a piece of the line where a method has several."""
    ordered = sorted(curves, key=lambda curve: curve.iqm[-1])
    texts = {curve.label: curve.label.replace(curve.method, NAMES[curve.method], 1) for curve in curves}
    texts = {label: text.replace(", ", ",\n", 1) for label, text in texts.items()}
    lines = max(text.count("\n") + 1 for text in texts.values())
    sampled = len({curve.method for curve in curves}) < len(curves)
    places = spread(axes, [float(curve.iqm[-1]) for curve in ordered], gap=0.02 + 0.055 * lines)
    for place, curve in zip(places, ordered, strict=True):
        if sampled:
            piece: dict[str, Any] = looks[curve.label] | {"transform": axes.transAxes, "clip_on": False}
            axes.plot([1.015, 1.075], [place, place], scalex=False, scaley=False, **piece)
        look: dict[str, Any] = {"color": COLOURS[curve.method], "va": "center", "transform": axes.transAxes}
        weight = "bold" if curve.method == HERO else "normal"
        axes.text(1.09 if sampled else 1.012, place, texts[curve.label], weight=weight, linespacing=1.1, **look)
