"""Figures of the exploration benchmark, from the numbers of its summary."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from action_balance.files import Data
from action_balance.plots import drawing
from action_balance.plots.drawing import COLOURS, MUTED, STYLED
from action_balance.studies.bonuses.figures import interval, interval_rows
from action_balance.studies.exploration.analysis import NEUTRAL
from action_balance.studies.exploration.settings import BALANCED, BASE, METHODS, label
from action_balance.web.format import as_float, capitalized, ends

#: The colour of each method, by the method of the package whose colour it has; different within a panel.
PALETTE = {
    **{"random": "random", "ppo": "ppo", "rnd": "rnd", "count": "count", "hash": "hash"},
    **{"coin-flip": "action-balance-rnd-channel", "icm": "epsilon-greedy", "ngu": "entropy", "e3b": "action-balance"},
    **{"elliptical": "elliptical", "rnd+elliptical": "action-balance-elliptical"},
    **{"rnd+distillation": "action-balance-rnd", "rnd+count": "count", "rnd+hash": "hash"},
    **{"rnd+coin-flip": "action-balance-rnd-channel", "rnd+ucb": "action-balance"},
    **{"rnd+epsilon-greedy": "epsilon-greedy", "rnd+entropy": "entropy"},
}

#: The methods of each panel of learning curves; RND is in both.
PANELS = {
    "Next-state bonuses": tuple(name for name in METHODS if "+" not in name),
    "On top of RND": (BASE, *(name for name in METHODS if "+" in name)),
}


def draw_all(ours: Data) -> dict[str, Figure]:
    """All figures by name: the leaderboard, if there is one, and the learning curves of each task."""
    found = {"leaderboard": leaderboard(ours["ranking"], len(ours["ranked_tasks"]))} if ours["ranking"] else {}
    return found | {f"curves_{name}": curves(task) for name, task in ours["tasks"].items()}


def _kind(method: str) -> str:
    """The colour of a row: action bonuses, other methods, and RND stand out from each other."""
    return COLOURS["action-balance-rnd" if method in BALANCED else "rnd" if method == BASE else "action-balance"]


@style.context(STYLED)
def leaderboard(rows: Sequence[Data], tasks: int) -> Figure:
    """Interquartile mean of every method and its probability of improvement over RND, the best method first."""
    compared = any(row["over_base"] for row in rows)
    parts = {"iqm": "interquartile mean of the scores"}
    parts |= {"over_base": "probability of a higher score than RND"} if compared else {}
    title = f"Scores over {tasks} {'task' if tasks == 1 else 'tasks'}, with 95 % intervals"
    figure, panels = drawing.new_panels(title, len(parts), (9.5 if compared else 6.5, 0.27 * len(rows) + 1.3))
    for axes, (key, text) in zip(panels, parts.items(), strict=True):
        if key == "over_base":
            axes.axvline(NEUTRAL, color=MUTED, linewidth=1)
        for place, row in enumerate(rows):
            interval(axes, place, ends(row[key]), _kind(row["method"]))
        interval_rows(axes, len(rows), [label(row["method"]) for row in rows] if key == "iqm" else [])
        axes.set_xlim(-0.03, 1.03)
        axes.set_xlabel(text)
    return figure


@style.context(STYLED)
def curves(task: Data) -> Figure:
    """Learning curves of all methods in a task: means over seeds with their 95 % intervals."""
    shown = {
        title: methods
        for title, names in PANELS.items()
        if (methods := {name: task["methods"][name] for name in names if name in task["methods"]}).keys() - {BASE}
    } or {"RND": task["methods"]}
    size = (8, 4.0) if len(shown) == 1 else (11.5, 4.0)
    figure, panels = drawing.new_panels(f"{capitalized(task['title'])}: score over training", len(shown), size)
    for axes, (title, methods) in zip(panels, shown.items(), strict=True):
        axes.set_title(title, loc="left", fontsize=9)
        _panel(axes, methods, np.array(task["points"]))
    return figure


def _panel(axes: Axes, methods: Mapping[str, Data], steps: np.ndarray) -> None:
    labels = []
    for name, one in methods.items():
        mean, low, high = (
            np.array([as_float(value) for value in one["curve"][key]]) for key in ("mean", "low", "high")
        )
        drawing.curve(axes, PALETTE[name], steps, mean, low, high, banded=bool(np.isfinite(low).all()))
        labels.append((float(mean[-1]), PALETTE[name], label(name).removeprefix("RND + ")))
    axes.set(xlim=(0, steps[-1]), ylim=(-0.03, 1.03), xlabel="environment steps per seed", ylabel="score")
    drawing.millions_axis(axes.xaxis)
    drawing.end_labels(axes, labels, gap=0.075)
