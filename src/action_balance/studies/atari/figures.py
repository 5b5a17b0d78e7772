"""Figures of the Atari study."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from action_balance.envs.atari.games import SKIP, title
from action_balance.plots.drawing import COLOURS, INK, NAMES, PAPER, STYLED, dot, legend, line, marker
from action_balance.studies.atari.analysis import TABLE_2, Cell, as_in_paper
from action_balance.studies.statistics import FEWEST

#: Panels in a row, and points that a curve is thinned out to.
COLUMNS, POINTS = 2, 400

#: 2,500 as it is, 2,500,000 as 2.5 M.
AMOUNT = FuncFormatter(lambda value, _: f"{value / 1e6:.10g} M" if abs(value) >= 1e6 else f"{value:,.10g}")
SCORE = FuncFormatter(lambda value, _: f"{value:,.10g}".replace("-", "\u2212"))


def thinned(count: int) -> np.ndarray:
    """Places of at most `POINTS` of so many points, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, POINTS).round().astype(int)) if count else np.empty(0, int)


def amount_axis(axis: Axis, parts: int = 5) -> None:
    """Few ticks, with millions as M."""
    axis.set_major_locator(MaxNLocator(parts, steps=(1, 2, 2.5, 5, 10), integer=True, min_n_ticks=1))
    axis.set_major_formatter(AMOUNT)


def _to_frames(steps: Any) -> Any:
    return SKIP * np.asarray(steps)


def _to_steps(frames: Any) -> Any:
    return np.asarray(frames) / SKIP


def frames_axis(axes: Axes) -> None:
    """Emulator frames along the top, for an axis of environment steps."""
    top = axes.secondary_xaxis("top", functions=(_to_frames, _to_steps))
    amount_axis(top.xaxis)
    top.set_xlabel("emulator frames")
    top.spines["top"].set_visible(False)
    top.tick_params(length=0)


@style.context(STYLED)
def learning_curves(found: Sequence[Cell]) -> Figure:
    """Return of the last 100 episodes over training, a panel for each game: mean over runs, band, single runs."""
    games = list(dict.fromkeys(cell.game for cell in found))
    columns = min(len(games), COLUMNS)
    rows = -(-len(games) // columns)
    figure = Figure(figsize=(8, 4.6) if len(games) == 1 else (9.6, 3.1 * rows + 0.9), layout="constrained")
    figure.suptitle("Return of the last 100 episodes", x=0.01, ha="left")
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    last = max(run.steps_done for cell in found for run in cell.runs)
    for place, (axes, game) in enumerate(zip(panels, games, strict=False)):
        _panel(axes, [cell for cell in found if cell.game == game], last)
        axes.set_title(title(game), loc="left", fontsize=9.5, weight="bold", color=INK)
        if place < columns:
            frames_axis(axes)
        if place + columns >= len(games):
            axes.set_xlabel("environment steps")
        if place % columns == 0:
            axes.set_ylabel("return")
    for axes in panels[len(games) :]:
        axes.set_visible(False)
    _legend(figure, found)
    return figure


def _panel(axes: Axes, found: Sequence[Cell], last: int) -> None:
    """One game. Of a few runs each is shown: their interval can be many times as wide as they are apart."""
    heights: list[float] = []
    for cell in found:
        banded = len(cell.finished or cell.runs) >= FEWEST
        single = line(cell.method) | {"linewidth": 0.8, "alpha": 0.4, "zorder": 2}
        for run in cell.runs:
            places = thinned(len(run.steps))
            values = run.curve[places]
            heights += values[np.isfinite(values)].tolist()
            if not (banded and run.finished):
                axes.plot(run.steps[places], values, **single)
            if not run.finished and np.isfinite(run.final_return):
                axes.plot(run.steps[-1], run.final_return, **dot(cell.method, 6) | {"marker": ">"})
        curve = cell.curve
        places = thinned(len(curve.steps))
        if len(places):
            if banded:
                band = (part[places] for part in (curve.steps, curve.low, curve.high))
                axes.fill_between(*band, color=COLOURS[cell.method], alpha=0.12, linewidth=0)
            shown = line(cell.method) | (dot(cell.method) if len(places) == 1 else {})
            axes.plot(curve.steps[places], curve.mean[places], **shown)
        published = _published(cell)
        if published is not None:
            heights.append(published)
            looks = dot(cell.method, 6.5) | {"color": PAPER, "markeredgecolor": COLOURS[cell.method], "marker": "D"}
            axes.plot(last, published, **looks | {"markeredgewidth": 1.3, "zorder": 5})
    low, high = (min(heights), max(heights)) if heights else (0.0, 1.0)
    room = 0.06 * (high - low) or 1.0
    axes.set(xlim=(0, last), ylim=(low - room, high + room))
    amount_axis(axes.xaxis)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(SCORE)


def _published(cell: Cell) -> float | None:
    """The paper's number, where it is of runs as long as these: one that has just begun has no place beside it."""
    comparable = cell.finished and as_in_paper(cell.runs[0].config.agent)
    return TABLE_2.get(cell.game, {}).get(cell.method) if comparable else None


def _legend(figure: Figure, found: Sequence[Cell]) -> None:
    methods = dict.fromkeys(cell.method for cell in found)
    handles = [Line2D([], [], label=NAMES[method], **line(method)) for method in methods]
    if any(_published(cell) is not None for cell in found):
        handles.append(marker(PAPER, "D", "paper, Table II", edge=INK))
    if any(not run.finished for cell in found for run in cell.runs):
        handles.append(marker(INK, ">", "not finished"))
    legend(figure, handles)
