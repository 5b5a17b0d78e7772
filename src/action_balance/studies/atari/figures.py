"""The figure of the Atari study."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from action_balance.envs.atari.games import SKIP, title
from action_balance.plots import drawing
from action_balance.plots.drawing import INK, PAPER, STYLED
from action_balance.studies.atari.analysis import Condition, as_in_paper
from action_balance.studies.paper import TABLE_2
from action_balance.studies.statistics import MIN

#: Panels in a row.
COLUMNS = 2

SCORE = FuncFormatter(lambda value, _: f"{value:,.10g}".replace("-", "\u2212"))


def _to_frames(steps: Any) -> Any:
    return SKIP * np.asarray(steps)


def _to_steps(frames: Any) -> Any:
    return np.asarray(frames) / SKIP


def _frames_axis(axes: Axes) -> None:
    """Emulator frames along the top of a panel over environment steps."""
    top = axes.secondary_xaxis("top", functions=(_to_frames, _to_steps))
    drawing.millions_axis(top.xaxis)
    top.set_xlabel("emulator frames")
    top.spines["top"].set_visible(False)
    top.tick_params(length=0)


@style.context(STYLED)
def learning_curves(found: Sequence[Condition]) -> Figure:
    """Return of the last 100 episodes over training, a panel per game: mean over runs, band, single runs."""
    games = list(dict.fromkeys(one.game for one in found))
    rows = -(-len(games) // min(len(games), COLUMNS))
    size = (8, 4.6) if len(games) == 1 else (9.6, 3.1 * rows + 0.9)
    figure, panels = drawing.new_panels("Return of the last 100 episodes", len(games), size, COLUMNS)
    last = max(run.steps_done for one in found for run in one.runs)
    for place, (axes, game) in enumerate(zip(panels, games, strict=True)):
        _panel(axes, [one for one in found if one.game == game], last)
        axes.set_title(title(game), loc="left", fontsize=9.5, weight="bold", color=INK)
        if place < COLUMNS:
            _frames_axis(axes)
        if place + COLUMNS >= len(games):
            axes.set_xlabel("environment steps")
        if place % COLUMNS == 0:
            axes.set_ylabel("return")
    handles = list(drawing.method_handles(dict.fromkeys(one.method for one in found)))
    if any(_published(one) is not None for one in found):
        handles.append(drawing.marker(PAPER, "D", "paper, Table II", edge=INK))
    if any(not run.finished for one in found for run in one.runs):
        handles.append(drawing.marker(INK, ">", "not finished"))
    drawing.legend(figure, handles)
    return figure


def _panel(axes: Axes, found: Sequence[Condition], last: int) -> None:
    """One game. If there are few runs, each is shown: their interval can be many times as wide as their range."""
    heights: list[float] = []
    for one in found:
        banded = len(one.finished or one.runs) >= MIN
        single = drawing.line(one.method) | {"linewidth": 0.8, "alpha": 0.4, "zorder": 2}
        for run in one.runs:
            places = drawing.thinned(len(run.steps))
            values = run.curve[places]
            heights += values[np.isfinite(values)].tolist()
            if not (banded and run.finished):
                axes.plot(run.steps[places], values, **single)
            if not run.finished and np.isfinite(run.final_return):
                axes.plot(run.steps[-1], run.final_return, **drawing.dot(one.method, 6) | {"marker": ">"})
        places = drawing.thinned(len(one.curve.steps))
        if len(places):
            parts = (one.curve.steps, one.curve.mean, one.curve.low, one.curve.high)
            drawing.curve(axes, one.method, *(part[places] for part in parts), banded=banded)
        published = _published(one)
        if published is not None:
            heights.append(published)
            looks = drawing.dot(one.method, 6.5) | {
                "color": PAPER,
                "markeredgecolor": drawing.method_colour(one.method),
            }
            axes.plot(last, published, **looks | {"marker": "D", "markeredgewidth": 1.3, "zorder": 5})
    axes.set_xlim(0, last)
    drawing.fit_heights(axes, heights)
    drawing.millions_axis(axes.xaxis)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(SCORE)


def _published(one: Condition) -> float | None:
    """The paper's number, if a run as long as the paper's is finished."""
    comparable = one.finished and as_in_paper(one.runs[0].config.agent)
    return TABLE_2.get(one.game, {}).get(one.method) if comparable else None
