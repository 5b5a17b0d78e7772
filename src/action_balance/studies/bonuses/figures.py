"""Figures of the bonus study, from the numbers of its summary."""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from action_balance.config.methods import NONE
from action_balance.files import Data
from action_balance.plots import drawing
from action_balance.plots.drawing import COLOURS, INK, MUTED, PAPER, PERCENT, RULE, STYLED, THOUSANDS
from action_balance.studies.bonuses.analysis import (
    ACTIONS,
    COEFS,
    FACTOR,
    NEXT_STATE,
    PARTS,
    Q_LEARNING,
    RANK,
    SHOWN,
    is_compared,
)
from action_balance.studies.bonuses.records import PAIRS, STATES
from action_balance.studies.bonuses.settings import LABELS, RANDOM, WORLDS, Setup
from action_balance.web.format import ends

#: Colours of the bonuses, by the method whose colour they have.
PALETTE = {
    **{NONE: "ppo", "rnd": "rnd", "count": "count", "hash": "hash", "coin-flip": "action-balance-rnd-channel"},
    **{"elliptical": "action-balance", "icm": "action-balance-elliptical", "ngu": "entropy", "e3b": "epsilon-greedy"},
    **{"distillation": "action-balance-rnd", "ucb": "action-balance-hash", "epsilon-greedy": "epsilon-greedy"},
    RANDOM: "random",
}

#: Better and worse than what is compared with, and neither.
BETTER, WORSE, NEITHER = COLOURS["action-balance"], COLOURS["action-balance-rnd"], MUTED

#: Ticks of ratios to RND by the greatest factor that an axis with them spans.
RATIO_TICKS = {
    **{2.6: (0.5, 0.65, 0.8, 1, 1.25, 1.5, 2), 8: (0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4)},
    math.inf: (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100),
}

#: What is counted, in titles.
KINDS = {STATES: "states", PAIRS: "state-action pairs"}


def draw_all(ours: Data) -> dict[str, Figure]:
    found: dict[str, Figure] = {}
    if ours["counting"]:
        found |= {"ranks": ranks(ours["counting"]), "ratios": ratios(ours["counting"])}
    for part in PARTS:
        own = {
            world: {name: one for name, one in about["setups"].items() if one["part"] == part}
            for world, about in ours["worth"].items()
        }
        compared = {
            world: {name: one for name, one in setups.items() if is_compared(one)} for world, setups in own.items()
        }
        if any(compared.values()):
            found[part] = forest({world: one for world, one in compared.items() if one}, ours["worth"], part)
        if part == NEXT_STATE and (shown := {world: one for world, one in own.items() if _is_solved(one)}):
            found["curves"] = curves(shown, ours["worth"])
    return found


def _is_solved(setups: Data) -> bool:
    """Whether an agent with any of the setups has solved the world."""
    return any(one.get("solved") for one in setups.values())


def _colour(bonus: str) -> str:
    return COLOURS[PALETTE[bonus]]


def _panels(counting: Data) -> list[tuple[str, Data]]:
    """Title and bonuses of every panel: a world, and what is counted in it."""
    return [
        (f"{WORLDS[world].title}: {KINDS[kind]}", bonuses)
        for world, kinds in counting.items()
        for kind, bonuses in kinds.items()
    ]


def _grid(title: str, count: int, columns: int) -> tuple[Figure, list[Axes]]:
    size = (8, 3.6) if count == 1 else (min(11.0, 4.6 * columns + 1), 3.0 * -(-count // columns) + 0.7)
    return drawing.new_panels(title, count, size, columns)


@style.context(STYLED)
def ranks(counting: Data) -> Figure:
    """Rank correlation of bonus and rarity over training, over all states or pairs of a world and within states."""
    shown = [(title, bonuses, "rank") for title, bonuses in _panels(counting)]
    for place, (title, bonuses, _) in reversed(list(enumerate(shown))):
        if all(one["within"] for one in bonuses.values()):
            shown.insert(place + 1, (f"{title.partition(':')[0]}: within one state", bonuses, "within"))
    figure, panels = _grid("Rank correlation of the bonus with minus the true count", len(shown), min(3, len(shown)))
    for axes, (title, bonuses, key) in zip(panels, shown, strict=True):
        labels = []
        for bonus, one in bonuses.items():
            middle, low, high = zip(*map(ends, one[key]), strict=True)
            axes.fill_between(one["steps"], low, high, color=_colour(bonus), alpha=0.12, linewidth=0)
            dots: dict[str, Any] = {"marker": "o", "markersize": 3.5, "markeredgecolor": PAPER}
            axes.plot(one["steps"], middle, color=_colour(bonus), linewidth=1.6, **dots)
            labels.append((0.0 if math.isnan(middle[-1]) else middle[-1], PALETTE[bonus], LABELS[bonus]))
        axes.set_title(title, loc="left", fontsize=9)
        axes.set(xscale="log", xlabel="environment steps of an agent", ylim=(min(-0.05, axes.get_ylim()[0]), 1.03))
        axes.axhline(RANK, color=MUTED, linewidth=0.9, linestyle=(0, (3, 2)))
        axes.xaxis.set_major_locator(FixedLocator(next(iter(bonuses.values()))["steps"][-1::-2]))
        axes.xaxis.set_major_formatter(THOUSANDS)
        axes.xaxis.set_minor_locator(NullLocator())
        drawing.end_labels(axes, labels, gap=0.1)
    return figure


@style.context(STYLED)
def ratios(counting: Data) -> Figure:
    """Estimated over true count by number of visits at the end of training, a panel for every world and kind."""
    shown = _panels(counting)
    figure, panels = _grid("Ratio of estimated to true count, by true count", len(shown), min(2, len(shown)))
    for axes, (title, bonuses) in zip(panels, shown, strict=True):
        labels = []
        for bonus, one in bonuses.items():
            if not one["ratio"]:
                continue
            visits = [row["visits"] for row in one["ratio"]]
            middle, low, high = zip(*(ends(row["ratio"]) for row in one["ratio"]), strict=True)
            dashes: Any = "solid" if one["calibrated"] else (0, (4, 1.5))
            axes.fill_between(visits, low, high, color=_colour(bonus), alpha=0.12, linewidth=0)
            axes.plot(visits, middle, color=_colour(bonus), linewidth=1.6, linestyle=dashes)
            labels.append((math.log(middle[-1]), PALETTE[bonus], LABELS[bonus]))
        axes.set_title(title, loc="left", fontsize=9)
        axes.set(xscale="log", yscale="log", xlabel="true count", ylim=(1 / SHOWN, SHOWN))
        axes.axhspan(1 / FACTOR, FACTOR, color=RULE, alpha=0.6, linewidth=0)
        axes.axhline(1, color=MUTED, linewidth=0.9)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(numticks=8))
            axis.set_major_formatter(THOUSANDS)
            axis.set_minor_locator(NullLocator())
        _end_labels(axes, labels)
    return figure


def _end_labels(axes: Axes, labels: Sequence[tuple[float, str, str]]) -> None:
    low, high = axes.get_ylim()
    twin = axes.twinx()
    twin.set_ylim(math.log(low), math.log(high))
    twin.set_axis_off()
    drawing.end_labels(twin, labels, gap=0.1)


@style.context(STYLED)
def curves(shown: Data, worth: Data) -> Figure:
    """Share of the agents that have solved a world by each step, a panel for every world."""
    figure, panels = _grid("Share of the agents that have solved the world", len(shown), min(3, len(shown)))
    for axes, (world, setups) in zip(panels, shown.items(), strict=True):
        labels = []
        for one in setups.values():
            key = RANDOM if one["action"] == RANDOM else one["intrinsic"]
            if not one["solved"]:
                continue
            axes.plot([0, *one["steps"]], [0, *one["curve"]], color=_colour(key), linewidth=1.6, drawstyle="steps-post")
            labels.append((one["curve"][-1], PALETTE[key], "PPO" if key == NONE else LABELS[key]))
        axes.set_title(worth[world]["title"], loc="left", fontsize=9)
        axes.set(xlabel="environment steps of an agent", ylim=(-0.02, 1.03), xlim=(0, worth[world]["steps"]))
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(THOUSANDS)
        axes.yaxis.set_major_formatter(PERCENT)
        drawing.end_labels(axes, labels, gap=0.085)
    return figure


#: Titles of the comparisons.
TITLES = {
    NEXT_STATE: "Next-state bonuses: how many times as fast as RND",
    ACTIONS: "Action bonuses: how many times as fast as the next-state bonus alone",
    COEFS: "Coefficients: how many times as fast as the next-state bonus alone",
    Q_LEARNING: "PQN: how many times as fast as PPO with the same bonus; with an action bonus, as PQN without it",
}


@style.context(STYLED)
def forest(shown: Data, worth: Data, part: str) -> Figure:
    """How many times as fast each setup solves a world as its base, a panel for every world."""
    # Every panel has the same rows, so that only the first of a line needs their names.
    rows = sorted({name for setups in shown.values() for name in setups}, key=lambda name: Setup.of(name).order)
    columns = len(shown) if len(shown) < 4 else -(-len(shown) // 2)
    size = (max(8, 2.5 * columns + 1.5), (0.25 * len(rows) + 1.1) * -(-len(shown) // columns) + 0.5)
    figure, panels = drawing.new_panels(TITLES[part], len(shown), size, columns)
    for number, (axes, (world, setups)) in enumerate(zip(panels, shown.items(), strict=True)):
        is_timed = worth[world]["threshold"] is not None
        neutral = 1.0 if is_timed else 0.0
        axes.axvline(neutral, color=MUTED, linewidth=1)
        for place, name in enumerate(rows):
            one = setups.get(name, {"faster": None, "more_states": None})
            value, low, high = ends(one["faster"] if is_timed else one["more_states"])
            colour = BETTER if low > neutral else WORSE if high < neutral else NEITHER
            interval(axes, place, (value, low, high), colour)
        interval_rows(axes, len(rows), [_row(name, part) for name in rows] if number % columns == 0 else [])
        axes.set_title(worth[world]["title"], loc="left", fontsize=9)
        axes.set_xlabel("times as fast" if is_timed else "more states")
        if is_timed:
            axes.set_xscale("log")
            low, high = axes.get_xlim()
            low, high = min(low, 0.75), max(high, 1.35)
            axes.xaxis.set_major_locator(
                FixedLocator(next(ticks for span, ticks in RATIO_TICKS.items() if high / low <= span))
            )
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.set_xlim(low, high)
        else:
            axes.xaxis.set_major_locator(MaxNLocator(4))
    return figure


def interval(axes: Axes, place: int, estimate: tuple[float, float, float], colour: str) -> None:
    """Draw a value as a dot, and its interval, if it has one, as a line, in a row of a figure."""
    value, low, high = estimate
    if not math.isnan(low + high):
        axes.plot([low, high], [place, place], color=colour, linewidth=2, solid_capstyle="butt")
    axes.plot(value, place, "o", color=colour, markersize=5.5, markeredgecolor=PAPER)


def interval_rows(axes: Axes, count: int, labels: Sequence[str]) -> None:
    """Set the axis of rows with intervals, the first at the top."""
    axes.set_yticks(range(count), labels)
    axes.set_ylim(count - 0.4, -0.6)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.grid(visible=False, axis="y")


def _row(name: str, part: str) -> str:
    setup = Setup.of(name)
    return LABELS[setup.action] if part == COEFS else setup.label
