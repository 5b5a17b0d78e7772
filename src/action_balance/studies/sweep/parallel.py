"""Parallel coordinates: an axis for each setting and one for the score, and a line across them for each trial.

Places are in units of the drawing, from its upper left corner.
"""

import bisect
import math
from collections.abc import Sequence
from typing import Any

from action_balance.files import Data
from action_balance.studies.sweep.space import Axis, Choice, Range, Space, shown
from action_balance.studies.sweep.trials import Trial, ranked
from action_balance.studies.sweep.verdict import short_names, values_text
from action_balance.web.format import MINUS

#: Least distance of two axes, and least width of the drawing.
SPACING, LEAST_WIDTH = 150.0, 760.0
#: Where axes begin and end, and the space beside the first and the last.
TOP, BOTTOM, SIDE = 46.0, 330.0, 84.0
#: What the template places: the ends of the axes, and the height of all, with a line of text below the axes.
SIZES: Data = {"bottom": BOTTOM, "top": TOP, "height": 384.0}
#: Part of an axis of words that is free beyond its first and last value.
FREE = 0.08
#: Height over which lines are spread that cross an axis of words at the same value.
SPREAD = 18.0
#: Ticks of an axis of numbers, about.
TICKS = 4
#: Trials that the keyboard reaches; a table has all.
REACHED = 10


def draw(trials: Sequence[Trial], space: Space, metric: str) -> Data | None:
    """The axes and the lines of trials, of which the last is on top; None without a trial that has a score."""
    order = ranked(trials)
    if not order:
        return None
    width = max(LEAST_WIDTH, SPACING * len(space.axes) + 2 * SIDE)
    xs = [SIDE + (width - 2 * SIDE) * place / len(space.axes) for place in range(len(space.axes) + 1)]
    known = sorted(one.score for one in order)
    low, high = known[0], known[-1]
    axes = [*space.axes, Range("score", *((low, high) if high > low else (low - 0.5, high + 0.5)))]
    titles = [*short_names(space).values(), metric]
    drawn = [{"x": x, "title": title, "ticks": _ticks(axis)} for x, axis, title in zip(xs, axes, titles, strict=True)]
    lines = []
    for place, trial in enumerate(order):
        values = [*(trial.values[name] for name in space.names), trial.score]
        ys = [_y(axis, value) + _aside(axis, trial.number) for axis, value in zip(axes, values, strict=True)]
        stopped = trial.status == "stopped early"
        early = f", stopped early after {trial.updates:,} updates" if stopped else ""
        others = bisect.bisect(known, trial.score) - 1  # whose score is not higher
        lines.append(
            {
                "number": trial.number,
                "path": "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True)),
                "level": round(100 * others / max(1, len(known) - 1)),
                "stopped": stopped,
                "best": place == 0,
                "reached": place < REACHED,
                "text": f"Trial {trial.number}: {number(trial.score)} with {values_text(trial.values, space)}{early}",
            }
        )
    return {"width": width, "axes": drawn, "trials": lines[::-1]}


def number(value: float) -> str:
    """A score with few digits, and a real minus sign."""
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", MINUS)


def _y(axis: Axis, value: Any) -> float:
    return BOTTOM - (BOTTOM - TOP) * _share(axis, value)


def _aside(axis: Axis, trial: int) -> float:
    """How far the line of a trial passes beside a word: multiples of the golden ratio are spread evenly."""
    return SPREAD * (trial * (5**0.5 - 1) / 2 % 1 - 0.5) if isinstance(axis, Choice) else 0.0


def _share(axis: Axis, value: Any) -> float:
    """Where a value lies on its axis, from 0 at the bottom to 1 at the top."""
    if isinstance(axis, Choice):  # numbers by size, words from top to bottom as they were given
        numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in axis.values)
        ordered = sorted(axis.values) if numbers else axis.values[::-1]
        return FREE + (1 - 2 * FREE) * ordered.index(value) / max(1, len(ordered) - 1)
    low, high, at = (math.log(one) if axis.log else one for one in (axis.low, axis.high, value))
    return min(max((at - low) / (high - low), 0.0), 1.0)


def _ticks(axis: Axis) -> list[Data]:
    if isinstance(axis, Choice):
        return [{"y": _y(axis, value), "label": shown(value)} for value in axis.values]
    found = _powers(axis.low, axis.high) if axis.log else _even(axis.low, axis.high, axis.whole)
    return [{"y": _y(axis, value), "label": number(value)} for value in found]


def _even(low: float, high: float, whole: bool) -> list[float]:
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))
    step = max(1.0, round(step)) if whole else step
    first = math.ceil(low / step - 1e-9)
    return [round(step * place, 12) for place in range(first, math.floor(high / step + 1e-9) + 1)]


def _powers(low: float, high: float) -> list[float]:
    """Powers of ten within a range; of a range with fewer than two, also their multiples."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 3), (1, 2, 5), tuple(range(1, 10))):
        found = [factor * 10.0**decade for decade in decades for factor in factors]
        found = [one for one in found if low * (1 - 1e-9) <= one <= high * (1 + 1e-9)]
        if len(found) > 2:
            return found
    return [low, *found, high] if len(found) < 2 else found
