"""Learning curves of training runs, a panel for each environment."""

from typing import Any

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from action_balance.plots import drawing
from action_balance.plots.drawing import HERO, STYLED, THOUSANDS
from action_balance.studies.compare.analysis import Comparison, LearningCurve
from action_balance.studies.statistics import MIN
from action_balance.web.format import capitalized

#: Dashes of curves with the same method and other settings, in their order; the first has the line of the method.
DASHES = ("", (0, (5, 1.4)), (0, (1.4, 1.2)), (0, (7, 1.5, 1.5, 1.5)), (0, (3, 1.2, 1.2, 1.2, 1.2, 1.2)))

#: Panels in a row.
COLUMNS = 2


@style.context(STYLED)
def learning_curves(result: Comparison) -> Figure:
    """Interquartile mean over seeds against environment steps, with a band that the caption names."""
    count = len(result.environments)
    columns = min(count, COLUMNS)
    size = (8, 4.2) if count == 1 else (6.2 * columns, 3.5 * -(-count // columns) + 0.4)
    metric = capitalized(_words(result.metric))
    figure, panels = drawing.new_panels(metric, count, size, COLUMNS)
    figure.supxlabel(caption(result), x=0.01, ha="left", fontsize=8.5, color=drawing.MUTED)
    looks = _looks(result)
    for axes, (name, curves) in zip(panels, result.environments.items(), strict=True):
        axes.set_title(result.title(name), loc="left", **drawing.PLAIN)
        axes.set_xlabel("environment steps per seed")
        axes.set_ylabel(_words(result.metric), **drawing.PLAIN)
        _panel(axes, [curve for curve in curves if len(curve.steps)], looks)
    return figure


def caption(result: Comparison) -> str:
    """What lines and bands are, and over how many seeds."""
    curves = [curve for of_environment in result.environments.values() for curve in of_environment]
    counts = sorted({len(curve.seeds) for curve in curves})
    if counts == [1]:
        return "Line: the only seed of each curve. No band."
    seeds = " to ".join(f"{one}" for one in dict.fromkeys((counts[0], counts[-1])))
    line = f"Line: interquartile mean over {seeds} seeds."
    bands = {curve.band for curve in curves}
    if {"interval", "range"} <= bands:
        return f"{line} Band: 95 % interval; range of the seeds where there are fewer than {MIN}."
    return f"{line} Band: {'95 % interval' if 'interval' in bands else 'range of the seeds, not an interval'}."


def _words(metric: str) -> str:
    return metric.replace("_", " ")


def _looks(result: Comparison) -> dict[str, dict[str, Any]]:
    """Lines by label: the colour of the method, with dashes for further curves of the same method."""
    looks: dict[str, dict[str, Any]] = {}
    methods = {curve.label: curve.method for curves in result.environments.values() for curve in curves}
    earlier: list[str] = []
    for label, method in methods.items():
        dashes = DASHES[earlier.count(method) % len(DASHES)]
        looks[label] = drawing.line(method) | ({"linestyle": dashes} if dashes else {})
        earlier.append(method)
    return looks


def _panel(axes: Axes, curves: list[LearningCurve], looks: dict[str, dict[str, Any]]) -> None:
    if not curves:
        axes.text(0.5, 0.5, "no values yet", ha="center", transform=axes.transAxes)
        return
    for one in curves:
        parts = (part[drawing.thinned(len(one.steps))] for part in (one.steps, one.iqm, one.low, one.high))
        drawing.curve(axes, one.method, *parts, look=looks[one.label], banded=one.band is not None)
    last = max(int(one.steps[-1]) for one in curves)
    axes.set_xlim(0, last)
    for one in curves:
        if one.steps[-1] < last:  # its end is hard to see among others
            axes.plot(one.steps[-1], one.iqm[-1], **drawing.dot(one.method, 6))
    drawing.count_axis(axes.xaxis)
    axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.yaxis.set_major_formatter(THOUSANDS)
    _labels(axes, curves, looks)


def _labels(axes: Axes, curves: list[LearningCurve], looks: dict[str, dict[str, Any]]) -> None:
    """Label the ends of curves, with a piece of the line where a method has several."""
    ordered = sorted(curves, key=lambda one: one.iqm[-1])
    texts = {one.label: one.label.replace(one.method, drawing.method_name(one.method), 1) for one in curves}
    texts = {label: text.replace(", ", ",\n", 1) for label, text in texts.items()}
    lines = max(text.count("\n") + 1 for text in texts.values())
    sampled = len({one.method for one in curves}) < len(curves)
    places = drawing.spread(axes, [float(one.iqm[-1]) for one in ordered], gap=0.02 + 0.055 * lines)
    for place, one in zip(places, ordered, strict=True):
        if sampled:
            piece: dict[str, Any] = looks[one.label] | {"transform": axes.transAxes, "clip_on": False}
            axes.plot([1.015, 1.075], [place, place], scalex=False, scaley=False, **piece)
        look: dict[str, Any] = {"color": drawing.method_colour(one.method), "va": "center", "transform": axes.transAxes}
        look |= drawing.PLAIN
        weight = "bold" if one.method == HERO else "normal"
        axes.text(1.09 if sampled else 1.012, place, texts[one.label], weight=weight, linespacing=1.1, **look)
